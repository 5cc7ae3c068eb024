//! Which format a file has, recognized by its content.

use std::io::BufRead;

use memchr::memchr;
use wb_message::text;

use crate::error::FormatError;
use crate::format::Format;
use crate::formats::{claude_code::ClaudeCode, native::Native, pi::Pi};
use crate::probe::Peeked;
use crate::transcript::{Segments, Transcript};

/// The formats that are read, the most particular first.
pub const FORMATS: [&dyn Format; 3] = [&Pi, &ClaudeCode, &Native];

/// Returns the format of a file that begins with these bytes.
///
/// Some 64 kB are enough; with fewer, a file whose first line is longer may not be known.
pub fn detect(head: &[u8]) -> Option<&'static dyn Format> {
    FORMATS.into_iter().find(|format| format.sniff(head))
}

/// Reads a transcript of any known format, recognized by its content.
///
/// ```
/// let mut file = r#"{"role":"user","content":"hello"}
/// {"role":"assistant","content":"hi"}"#.as_bytes();
/// let opened = wb_formats::read(&mut file)?;
/// assert_eq!((opened.format, opened.messages.len()), ("native", 2));
/// # Ok::<(), wb_formats::FormatError>(())
/// ```
pub fn read(input: &mut dyn BufRead) -> Result<Transcript, FormatError> {
    let peeked = Peeked::new(input)?;
    let format = known(peeked.head())?;
    format.read(&mut peeked.whole())
}

/// Reads every segment of a session of any known format: what was really sent, with what it was counted at.
///
/// A new segment begins where the agent compacted the conversation or cleared tool results. Together they hold
/// every request of the conversation that goes on once, those before its last compaction too. Subagents and, in
/// logs of pi, abandoned branches are left apart.
pub fn segments(input: &mut dyn BufRead) -> Result<Segments, FormatError> {
    let peeked = Peeked::new(input)?;
    let format = known(peeked.head())?;
    format.segments(&mut peeked.whole())
}

fn known(head: &[u8]) -> Result<&'static dyn Format, FormatError> {
    let visible = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    if visible.is_empty() {
        return Err(FormatError::Empty);
    }
    detect(head).ok_or_else(|| {
        let line = &visible[..memchr(b'\n', visible).unwrap_or(visible.len()).min(400)];
        FormatError::Unknown { begins: text::one_line(&String::from_utf8_lossy(line), 60) }
    })
}
