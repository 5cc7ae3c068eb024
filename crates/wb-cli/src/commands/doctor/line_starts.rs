//! Finds where the lines of a file begin, in one pass.

use std::io::Read;

use serde::de::IgnoredAny;
use wb_record::{Lines, PartReader, Parts};

/// The most unreadable lines to name.
const MOST_NAMED: usize = 5;

/// The offsets at which the lines of a single-file session begin.
#[derive(Debug)]
pub(crate) struct LineStarts(Vec<u64>);

impl LineStarts {
    /// Reads the file once; none if the session is not a single file.
    pub(crate) fn new(parts: &dyn Parts) -> Option<Self> {
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

    /// Returns the number of the line that contains a byte, counted from 1.
    pub(crate) fn line_of(&self, at: u64) -> usize {
        self.0.partition_point(|start| *start <= at)
    }
}

/// Returns the first lines of a file that are not JSON, but for one that was cut off.
pub(crate) fn unreadable_lines(parts: &dyn Parts) -> Vec<usize> {
    let mut found = Vec::new();
    let Ok(reader) = PartReader::new(parts, "", 0) else { return found };
    let mut lines = Lines::new(reader);
    while let Ok(Some(line)) = lines.next_line() {
        if !line.is_truncated() && serde_json::from_slice::<IgnoredAny>(line.bytes).is_err() {
            found.push(line.number);
        }
        if found.len() == MOST_NAMED {
            break;
        }
    }
    found
}
