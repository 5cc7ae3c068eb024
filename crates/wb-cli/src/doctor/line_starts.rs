//! Where the lines of a file begin, found in one pass.

use std::io::Read;

use wb_record::{PartReader, Parts};

/// Where the lines of a session of one file begin.
#[derive(Debug)]
pub(super) struct LineStarts(Vec<u64>);

impl LineStarts {
    /// Reads the file once; nothing where the session is none of one file.
    pub(super) fn of(parts: &dyn Parts) -> Option<Self> {
        if parts.list("").ok()?.len() != 1 {
            return None;
        }
        let mut reader = PartReader::new(parts, "", 0).ok()?;
        let (mut starts, mut at, mut chunk) = (vec![0], 0, vec![0; 64 * 1024]);
        loop {
            let n = reader.read(&mut chunk).ok()?;
            if n == 0 {
                return Some(Self(starts));
            }
            let ends = (at..).zip(&chunk[..n]).filter(|(_, byte)| **byte == b'\n');
            starts.extend(ends.map(|(at, _)| at + 1));
            at += n as u64;
        }
    }

    /// Returns the number of the line that a byte stands in, counted from 1.
    pub(super) fn line_of(&self, at: u64) -> usize {
        self.0.partition_point(|start| *start <= at)
    }
}
