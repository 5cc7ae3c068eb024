//! The seam of a format: what it takes to read the files of one agent.

use std::io::BufRead;

use crate::error::FormatError;
use crate::transcript::{Segment, Segments, Transcript};

/// A way in which an agent writes its transcripts.
pub trait Format: Send + Sync {
    /// Returns the name of the format, in kebab-case.
    fn name(&self) -> &'static str;

    /// Returns whether a file that begins with these bytes has this format; the last line may be cut off.
    fn sniff(&self, head: &[u8]) -> bool;

    /// Reads the conversation as it would go on.
    fn read(&self, input: &mut dyn BufRead) -> Result<Transcript, FormatError>;

    /// Reads every segment of the session; a format without compactions has one.
    fn segments(&self, input: &mut dyn BufRead) -> Result<Segments, FormatError> {
        let Transcript { messages, usage, .. } = self.read(input)?;
        Ok(Segments::new([Segment { messages, usage }].into_iter()))
    }
}

const _: fn(&dyn Format) = |_| ();
