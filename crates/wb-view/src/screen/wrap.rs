//! Text within a width.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Breaks the lines of a text at blanks where they have some.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<String> {
    text.lines().flat_map(|line| pieces(line, columns.max(1))).map(str::to_owned).collect()
}

fn pieces(line: &str, columns: usize) -> Vec<&str> {
    let (mut out, mut rest) = (Vec::new(), line);
    while rest.width() > columns {
        let end = fitting(rest, columns);
        let end = match rest[..end].rfind(' ') {
            Some(blank) if blank >= end / 2 => blank + 1,
            _ => end,
        };
        out.push(rest[..end].trim_end());
        rest = &rest[end..];
    }
    out.push(rest);
    out
}

/// Returns the end of what fits; at least one character does.
fn fitting(text: &str, columns: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > columns && at > 0 {
            return at;
        }
    }
    text.len()
}

/// Returns as much of a text as fits, and marks a cut.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    if columns == 0 {
        return String::new();
    }
    let mut out = text[..fitting(text, columns.saturating_sub(1).max(1))].to_owned();
    out.push('…');
    out
}

/// Returns as much of the end of a text as fits, and marks a cut.
pub(super) fn cut_start(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let starts = text.char_indices().map(|(at, _)| &text[at..]);
    format!("…{}", starts.into_iter().find(|rest| rest.width() < columns).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks_or_where_they_must() {
        assert_eq!(wrapped("one two three\n\nabcdefghij", 8), ["one two", "three", "", "abcdefgh", "ij"]);
        assert_eq!(wrapped("世界世界", 3), ["世", "界", "世", "界"]);
        assert_eq!(
            (cut("abcdef", 4), cut_start("abcdef", 4), cut("ab", 4)),
            ("abc…".into(), "…def".into(), "ab".into())
        );
    }
}
