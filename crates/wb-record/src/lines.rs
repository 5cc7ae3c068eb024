//! JSON lines, one at a time.

use std::borrow::Cow;
use std::io::{self, BufRead};

use serde::de::{DeserializeOwned, IgnoredAny};

/// Reads lines into one buffer that is used again, skipping blank ones and a byte order mark.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    number: usize,
    /// Where the line in the buffer begins.
    start: u64,
}

/// A line that is not blank.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    /// The line's number in the input, counted from 1, blank lines included.
    pub number: usize,
    /// The place of its first byte in the input.
    pub at: u64,
    /// The line without white space at its ends.
    pub bytes: &'a [u8],
    /// Whether a line feed ended the line; only the last line of an input can be without.
    pub is_ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// Starts at the beginning of an input.
    pub fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), number: 0, start: 0 }
    }

    /// Returns the number of the line that was read last; 0 before the first.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Reads on to the next line that is not blank; nothing at the end of the input.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.start += self.buffer.len() as u64;
            self.buffer.clear();
            if self.input.read_until(b'\n', &mut self.buffer)? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if !trimmed(&self.buffer, self.number).is_empty() {
                break;
            }
        }
        let bytes = trimmed(&self.buffer, self.number);
        let at = self.start + (bytes.as_ptr().addr() - self.buffer.as_ptr().addr()) as u64;
        Ok(Some(Line { number: self.number, at, bytes, is_ended: self.buffer.ends_with(b"\n") }))
    }
}

/// Returns a line without white space at its ends, and the first one without a byte order mark.
pub fn trimmed(bytes: &[u8], number: usize) -> &[u8] {
    let bytes = if number == 1 { bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes) } else { bytes };
    bytes.trim_ascii()
}

impl<'a> Line<'a> {
    /// Builds a line that was read by itself.
    pub fn alone(number: usize, bytes: &'a [u8]) -> Self {
        Self { number, at: 0, bytes, is_ended: true }
    }

    /// Parses the line; half of a surrogate pair becomes U+FFFD, since JavaScript writes such halves.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.bytes).or_else(|error| match mended(self.bytes) {
            Cow::Owned(bytes) => serde_json::from_slice(&bytes),
            Cow::Borrowed(_) => Err(error),
        })
    }

    /// Returns whether the line was cut off while it was written: nothing ended it and it is not JSON.
    pub fn is_truncated(&self) -> bool {
        !self.is_ended && serde_json::from_slice::<IgnoredAny>(self.bytes).is_err()
    }
}

/// Returns what a JSON error says, without the position.
pub fn fault(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if let Some(at) = text.rfind(" at line ") {
        text.truncate(at);
    }
    text
}

/// Returns the JSON with each lone `\uD800`–`\uDFFF` written as `\uFFFD`; borrowed if there is none.
pub fn mended(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Cow::Borrowed(bytes);
    let mut at = 0;
    while let Some(found) = next_backslash(bytes, at) {
        match (escape(bytes, found), escape(bytes, found + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => at = found + 12,
            (Some(0xD800..=0xDFFF), _) => {
                out.to_mut()[found + 2..found + 6].copy_from_slice(b"fffd");
                at = found + 6;
            }
            // Two bytes, so that an escaped backslash does not start an escape.
            _ => at = found + 2,
        }
    }
    out
}

fn next_backslash(bytes: &[u8], from: usize) -> Option<usize> {
    Some(from + bytes.get(from..)?.iter().position(|byte| *byte == b'\\')?)
}

/// Returns the code unit of the `\uXXXX` at this place.
fn escape(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers_and_texts(input: &[u8]) -> Vec<(usize, String, bool)> {
        let mut lines = Lines::new(input);
        while let Some(line) = lines.next_line().unwrap() {
            let start = usize::try_from(line.at).unwrap();
            assert_eq!(&input[start..start + line.bytes.len()], line.bytes);
        }
        let mut lines = Lines::new(input);
        let mut all = Vec::new();
        while let Some(line) = lines.next_line().unwrap() {
            all.push((line.number, String::from_utf8_lossy(line.bytes).into_owned(), line.is_ended));
        }
        all
    }

    #[test]
    fn blank_lines_and_a_byte_order_mark_are_skipped_but_counted() {
        let seen = numbers_and_texts(b"\xEF\xBB\xBF\n  \r\n{}\r\n\n 1");
        assert_eq!(seen, [(3, "{}".to_owned(), true), (5, "1".to_owned(), false)]);
    }

    #[test]
    fn halves_of_surrogate_pairs_are_mended_and_pairs_are_kept() {
        let parse =
            |text: &str| Line { number: 1, at: 0, bytes: text.as_bytes(), is_ended: true }.parse::<String>();
        assert_eq!(parse(r#""a\ud83d""#).unwrap(), "a\u{FFFD}");
        assert_eq!(parse(r#""\ude00\ud83d\ude00\uD83D\u0041""#).unwrap(), "\u{FFFD}😀\u{FFFD}A");
        assert_eq!(parse(r#""\\ud83d \ud83d""#).unwrap(), "\\ud83d \u{FFFD}");
        assert!(parse(r#""\ud83"#).is_err());
    }

    #[test]
    fn a_line_is_truncated_only_where_nothing_ended_it() {
        let truncated = |bytes, is_ended| Line { number: 1, at: 0, bytes, is_ended }.is_truncated();
        assert!(truncated(b"{\"a\":", false));
        assert!(!truncated(b"{\"a\":", true));
        assert!(!truncated(b"{\"a\":1}", false));
    }
}
