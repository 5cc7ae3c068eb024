//! JSON lines, one at a time.

use std::borrow::Cow;
use std::io::{self, BufRead};
use std::ops::Range;

use memchr::memchr;
use serde::de::{DeserializeOwned, IgnoredAny};

/// Reads lines, skipping blank ones and a byte order mark. A line that its input holds as a whole
/// is not copied.
#[derive(Debug)]
pub struct Lines<R> {
    input: R,
    /// The length in bytes of the last line read, if it is in the buffer of the input; otherwise 0.
    n_in_place: usize,
    /// That line if the input buffered only parts of it.
    buffer: Vec<u8>,
    number: usize,
    /// The start of that line.
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
    /// True if a line feed ended the line; only the last line of an input can lack it.
    pub is_ended: bool,
}

impl<R: BufRead> Lines<R> {
    /// Starts at the beginning of an input.
    pub fn new(input: R) -> Self {
        Self { input, n_in_place: 0, buffer: Vec::new(), number: 0, start: 0 }
    }

    /// Returns the number of the line that was read last; 0 before the first.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Reads on to the next line that is not blank; nothing at the end of the input.
    pub fn next_line(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            let number = self.number + 1;
            match self.next_raw()? {
                None => return Ok(None),
                Some((_, line)) if trimmed(line, number).is_empty() => {}
                Some(_) => break,
            }
        }
        let (number, start) = (self.number, self.start);
        let line = self.whole_line()?;
        let bytes = trimmed(line, number);
        let at = start + (bytes.as_ptr().addr() - line.as_ptr().addr()) as u64;
        Ok(Some(Line { number, at, bytes, is_ended: line.ends_with(b"\n") }))
    }

    /// Reads on to the next line, a blank one too, and returns where it begins and all of it, with
    /// its line feed.
    pub fn next_raw(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.start += (self.n_in_place + self.buffer.len()) as u64;
        self.input.consume(std::mem::take(&mut self.n_in_place));
        self.buffer.clear();
        self.n_in_place = self.n_in_next_line()?;
        if self.n_in_place == 0 && self.input.read_until(b'\n', &mut self.buffer)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        let start = self.start;
        Ok(Some((start, self.whole_line()?)))
    }

    /// Returns the bytes up to the next line feed, with it, if the input holds it already; 0 if it
    /// does not.
    fn n_in_next_line(&mut self) -> io::Result<usize> {
        match self.input.fill_buf() {
            Ok(held) => Ok(memchr(b'\n', held).map_or(0, |at| at + 1)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Returns the line that was read last, with its line feed.
    fn whole_line(&mut self) -> io::Result<&[u8]> {
        if self.n_in_place == 0 {
            return Ok(&self.buffer);
        }
        // What the input held stays until it is consumed.
        Ok(self.input.fill_buf()?.get(..self.n_in_place).unwrap_or_default())
    }
}

/// Returns the places of the lines of a text, blank ones too, without their line feeds.
pub fn places(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let end = memchr(b'\n', rest).map_or(text.len(), |at| start + at);
        Some(std::mem::replace(&mut start, end + 1)..end)
    })
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

    /// Parses the line; half of a surrogate pair becomes U+FFFD, since JavaScript writes such
    /// halves.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(self.bytes).or_else(|error| match repair_surrogates(self.bytes) {
            Cow::Owned(bytes) => serde_json::from_slice(&bytes),
            Cow::Borrowed(_) => Err(error),
        })
    }

    /// Returns whether the line was cut off while it was written: nothing ended it and it is not
    /// JSON.
    pub fn is_truncated(&self) -> bool {
        !self.is_ended && serde_json::from_slice::<IgnoredAny>(self.bytes).is_err()
    }
}

/// Returns bytes as text; nothing if they are not UTF-8.
pub fn utf8(bytes: &[u8]) -> Option<&str> {
    simdutf8::basic::from_utf8(bytes).ok()
}

/// Returns the message of a JSON error, without the position.
pub fn fault(error: &serde_json::Error) -> String {
    let mut text = error.to_string();
    if let Some(at) = text.rfind(" at line ") {
        text.truncate(at);
    }
    text
}

/// Returns the JSON with each lone `\uD800`–`\uDFFF` written as `\uFFFD`; borrowed if there is
/// none.
pub fn repair_surrogates(bytes: &[u8]) -> Cow<'_, [u8]> {
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
    Some(from + memchr(b'\\', bytes.get(from..)?)?)
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
    fn a_line_is_the_same_whether_its_input_holds_all_of_it_or_a_part() {
        let text = b"{\"a\":1}\n\n  [2]\r\n3";
        for n_held in 1..=text.len() {
            let mut lines = Lines::new(io::BufReader::with_capacity(n_held, &text[..]));
            let mut all = Vec::new();
            while let Some(line) = lines.next_line().unwrap() {
                all.push((line.number, line.at, line.bytes.to_vec(), line.is_ended));
            }
            let expected = [(1, 0, &b"{\"a\":1}"[..], true), (3, 11, b"[2]", true), (4, 16, b"3", false)];
            assert_eq!(all, expected.map(|(n, at, bytes, is_ended)| (n, at, bytes.to_vec(), is_ended)));
        }
    }

    #[test]
    fn halves_of_surrogate_pairs_are_replaced_and_pairs_stay() {
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
