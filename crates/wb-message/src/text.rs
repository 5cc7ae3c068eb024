//! Cutting and tidying text on character boundaries.

use std::borrow::Cow;
use std::ops::Range;

use memchr::{memchr, memchr_iter, memrchr};

use crate::markers::CLIP_MARK;

pub use crate::controls::{escape_controls, escape_controls_in_lines, is_control, without_styles};
pub use crate::json::json_into;
pub use crate::xml::escape_xml;

/// Returns at most the first `max_bytes` bytes of the text, cut back to a character boundary.
pub fn head(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

/// Returns at most the last `max_bytes` bytes of the text, cut forward to a character boundary.
pub fn tail(text: &str, max_bytes: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max_bytes))..]
}

/// Returns the range of the whole lines around a range of the text, without the last line end.
///
/// ```
/// let text = "one\ntwo 2\nthree";
/// assert_eq!(&text[wb_message::text::line_of(text, 5..6)], "two 2");
/// ```
pub fn line_of(text: &str, range: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let start = memrchr(b'\n', &bytes[..range.start]).map_or(0, |end| end + 1);
    start..memchr(b'\n', &bytes[range.end..]).map_or(bytes.len(), |at| range.end + at)
}

/// Visits the lines of a text like [`str::lines`], but faster.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut start = 0;
    let last = !text.is_empty() && !text.ends_with('\n');
    memchr_iter(b'\n', text.as_bytes()).chain(last.then_some(text.len())).map(move |end| {
        let line = &text[start..end];
        start = end + 1;
        if end < text.len() { line.strip_suffix('\r').unwrap_or(line) } else { line }
    })
}

/// Keeps the head (two thirds) and the tail (one third) of a text with [`CLIP_MARK`] between them,
/// at most `max_bytes` bytes in all; a text that fits is unchanged.
///
/// Clipping a clipped text to the same size changes nothing. Below the size of the mark, only the
/// head is left.
pub fn clip(text: &str, max_bytes: usize) -> Cow<'_, str> {
    if text.len() <= max_bytes {
        return Cow::Borrowed(text);
    }
    let Some((head, tail)) = ends(text, max_bytes) else { return Cow::Borrowed(head(text, max_bytes)) };
    Cow::Owned([head, CLIP_MARK, tail].concat())
}

/// Returns what [`clip`] keeps of a text that does not fit, if there is room for the mark.
fn ends(text: &str, max_bytes: usize) -> Option<(&str, &str)> {
    let room = max_bytes.checked_sub(CLIP_MARK.len())?;
    Some((head(text, room - room / 3), tail(text, room / 3)))
}

/// The longest part of a word that [`clip_words`] leaves out at a cut: longer ones are text without
/// blanks.
const WORD_BYTES: usize = 32;

/// Clips like [`clip`], but leaves out what a cut would keep of a word.
///
/// ```
/// let text = "check the edge cases of the parser and of the writer";
/// assert_eq!(wb_message::text::clip_words(text, 47), "check the edge\n[… clipped …]\nwriter");
/// ```
pub fn clip_words(text: &str, max_bytes: usize) -> Cow<'_, str> {
    let Some((mut head, mut tail)) = ends(text, max_bytes).filter(|_| text.len() > max_bytes) else {
        return clip(text, max_bytes);
    };
    let blank = char::is_whitespace;
    if !text[head.len()..].starts_with(blank) {
        let end = head.rfind(blank).filter(|end| head.len() - end <= WORD_BYTES);
        head = end.map_or(head, |end| head[..end].trim_end());
    }
    if !text[..text.len() - tail.len()].ends_with(blank) {
        let start = tail.find(blank).filter(|start| *start <= WORD_BYTES);
        tail = start.map_or(tail, |start| tail[start..].trim_start());
    }
    Cow::Owned([head, CLIP_MARK, tail].concat())
}

/// Keeps whole lines of the head and the tail, where [`clip`] keeps characters: the rest of a cut
/// line could look like a line of another kind. Below the size of the mark, nothing is left.
pub fn clip_lines(text: String, max_bytes: usize) -> String {
    if text.len() <= max_bytes {
        return text;
    }
    let Some((head, tail)) = ends(&text, max_bytes) else { return String::new() };
    let head = head.rfind('\n').map_or(head, |end| &head[..end]);
    let tail = tail.find('\n').map_or("", |end| &tail[end + 1..]);
    [head, CLIP_MARK, tail].concat()
}

/// Returns the text on one line of at most `max_chars` characters, with runs of blanks folded and
/// `…` at a cut.
pub fn one_line(text: &str, max_chars: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max_chars.saturating_add('…'.len_utf8())));
    one_line_into(&mut line, text, max_chars);
    line
}

/// Appends what [`one_line`] returns.
pub fn one_line_into(out: &mut String, text: &str, max_chars: usize) {
    let mut n_chars = 0;
    for word in text.split_whitespace() {
        let gap = usize::from(n_chars > 0);
        let n_word = word.chars().count();
        if n_chars + gap + n_word > max_chars {
            cut_off(out, n_chars, word, max_chars);
            return;
        }
        if gap == 1 {
            out.push(' ');
        }
        out.push_str(word);
        n_chars += gap + n_word;
    }
}

/// Ends a line with the part of its next word that fits.
fn cut_off(line: &mut String, n_chars: usize, word: &str, max_chars: usize) {
    let gap = usize::from(n_chars > 0);
    if max_chars == 0 {
        return;
    }
    if n_chars == max_chars {
        // The mark takes the place of the last character.
        line.pop();
    } else if max_chars > n_chars + gap {
        line.extend([' '].iter().take(gap));
        line.extend(word.chars().take(max_chars - n_chars - gap - 1));
    }
    line.push('…');
}

/// Appends the text with CRLF turned into LF, blanks and tabs removed before line ends, and white
/// space trimmed at both ends.
///
/// The rules are those of the recorded flattener: a lone CR stays, runs of empty lines stay.
pub fn tidy_into(out: &mut String, text: &str) {
    let text = text.trim();
    let mut copied = 0;
    while let Some(at) = blank_line_end(text.as_bytes(), copied) {
        let line = &text[copied..at];
        let line = line.strip_suffix('\r').unwrap_or(line).trim_end_matches([' ', '\t']);
        out.push_str(line);
        copied = at;
    }
    out.push_str(&text[copied..]);
}

/// Bytes checked at once.
const STEP: usize = 128;

/// Returns the first line end at or after `from` that follows a blank, a tab or a CR.
fn blank_line_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(step) = bytes.get(at..).and_then(<[u8]>::first_chunk)
        && let Some(next) = bytes.get(at + 1..).and_then(<[u8]>::first_chunk)
        && !any_blank_line_end(step, next)
    {
        at += STEP;
    }
    let rest = bytes.get(at..)?;
    let is_one = |end: &usize| *end > 0 && matches!(rest[end - 1], b' ' | b'\t' | b'\r');
    Some(at + memchr_iter(b'\n', rest).find(is_one)?)
}

/// Checks one step without branches, so that the compiler can use vector instructions.
fn any_blank_line_end(step: &[u8; STEP], next: &[u8; STEP]) -> bool {
    // Tab and CR differ in one bit.
    let is_blank = |byte: u8| u8::from(byte == b' ') | u8::from(byte & !(b'\t' ^ b'\r') == b'\t');
    let pairs = step.iter().zip(next).map(|(&byte, &next)| is_blank(byte) & u8::from(next == b'\n'));
    pairs.fold(0, |found, pair| found | pair) != 0
}

/// Returns what [`tidy_into`] appends.
pub fn tidy(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    tidy_into(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_standard_library() {
        for text in ["", "\n", "a", "a\n", "a\nb", "\n\na\r\n\rb\r", "\r\n", "é\n\nü\r\r\n"] {
            assert_eq!(lines(text).collect::<Vec<_>>(), text.lines().collect::<Vec<_>>(), "{text:?}");
        }
    }
}
