//! Cutting and tidying text on character boundaries.

use std::borrow::Cow;

use memchr::memchr_iter;

use crate::marks::CLIP_MARK;

/// Returns at most the first `max_bytes` bytes of the text, cut back to a character boundary.
pub fn head(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// Returns at most the last `max_bytes` bytes of the text, cut forward to a character boundary.
pub fn tail(text: &str, max_bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max_bytes))..]
}

/// Keeps the head (two thirds) and the tail (one third) of a text with [`CLIP_MARK`] between them, at most
/// `max_bytes` bytes in all; a text that fits comes back as it is.
///
/// Clipping a clipped text to the same size changes nothing. Below the mark's own size only the head is left.
pub fn clip(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let Some(room) = max_bytes.checked_sub(CLIP_MARK.len()) else {
        return Cow::Borrowed(head(text, max_bytes));
    };
    let end = room / 3;
    Cow::Owned([head(text, room - end), CLIP_MARK, tail(text, end)].concat())
}

/// Returns the text on one line of at most `max_chars` characters, with runs of blanks folded and `…` where it
/// was cut.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::new();
    let mut n_chars = 0;
    for word in text.split_whitespace() {
        let gap = usize::from(!line.is_empty());
        let n_word = word.chars().count();
        if n_chars + gap + n_word > max_chars {
            let left = max_chars.saturating_sub(n_chars + gap + 1);
            if gap == 1 && max_chars > n_chars + 1 {
                line.push(' ');
            }
            line.extend(word.chars().take(left));
            line.push('…');
            return line;
        }
        if gap == 1 {
            line.push(' ');
        }
        line.push_str(word);
        n_chars += gap + n_word;
    }
    line
}

/// Appends the text with CRLF turned into LF, blanks and tabs before a line end removed and white space
/// trimmed at both ends.
///
/// The rules are those of the recorded flattener: a lone CR stays, runs of empty lines stay.
pub fn tidy_into(out: &mut String, text: &str) {
    let text = text.trim();
    let bytes = text.as_bytes();
    let mut copied = 0;
    for at in memchr_iter(b'\n', bytes) {
        if at > 0 && !matches!(bytes[at - 1], b'\r' | b' ' | b'\t') {
            continue;
        }
        let line = &text[copied..at];
        let line = line.strip_suffix('\r').unwrap_or(line).trim_end_matches([' ', '\t']);
        out.push_str(line);
        copied = at;
    }
    out.push_str(&text[copied..]);
}

/// Returns what [`tidy_into`] appends.
pub fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    tidy_into(&mut out, text);
    out
}

/// Writes JSON into a string.
///
/// The writer receives whole characters only, since JSON text is split at ASCII escapes.
#[derive(Debug)]
pub struct JsonInto<'a>(pub &'a mut String);

impl std::io::Write for JsonInto<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let text = std::str::from_utf8(bytes).map_err(std::io::Error::other)?;
        self.0.push_str(text);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Appends a value as compact JSON, keys in their own order.
pub fn json_into(out: &mut String, value: &serde_json::Value) {
    // A `Value` has string keys only, so serializing it into memory cannot fail.
    let _ = serde_json::to_writer(JsonInto(out), value);
}
