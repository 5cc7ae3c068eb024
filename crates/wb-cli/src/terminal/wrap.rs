//! Lines of a known width: prose that is wrapped, lines that are cut.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr;

use crate::terminal::escape::escaped;
use crate::terminal::style::{DIM, HEAD};

/// The fewest columns that are written for.
const LEAST_COLUMNS: usize = 40;

/// An output with the width of its lines.
pub(crate) struct Page<'a> {
    out: &'a mut dyn Write,
    pub(crate) columns: usize,
}

impl<'a> Page<'a> {
    pub(crate) fn new(out: &'a mut dyn Write, columns: usize) -> Self {
        Self { out, columns: columns.max(LEAST_COLUMNS) }
    }

    /// Writes a text after a lead; wrapped lines are indented by `indent` columns.
    pub(crate) fn prose(&mut self, lead: &str, indent: usize, text: &str) -> io::Result<()> {
        writeln!(self.out, "{}", wrapped(lead, indent, text, self.columns))
    }

    /// Writes a text after a lead, truncated if it does not fit, and a tail that is never
    /// truncated.
    pub(crate) fn cut(&mut self, lead: &str, text: &str, tail: &str) -> io::Result<()> {
        let room = self.columns.saturating_sub(width(lead) + width(tail));
        writeln!(self.out, "{lead}{}{tail}", head(text, room))
    }

    /// Writes a line that begins with the name of a fact.
    pub(crate) fn fact(&mut self, name: &str, what: &str) -> io::Result<()> {
        self.prose(&format!("  {DIM}{name:<14}{DIM:#} "), 17, &escaped(what))
    }

    /// Writes the heading of a page: a name, and details on the same line if they fit.
    pub(crate) fn heading(&mut self, name: &str, details: &str) -> io::Result<()> {
        let (name, details) = (format!("{HEAD}{name}{HEAD:#}"), format!("{DIM}{details}{DIM:#}"));
        if width(&name) + 2 + width(&details) <= self.columns {
            return writeln!(self.out, "{name}  {details}");
        }
        writeln!(self.out, "{name}")?;
        self.prose("  ", 2, &details)
    }
}

impl Write for Page<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the number of columns that a text takes; color codes take none.
pub(crate) fn width(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(UnicodeWidthStr::width).sum()
}

/// Returns a text after a lead, wrapped at blanks to `columns`. Longer words stay whole.
pub(crate) fn wrapped(lead: &str, indent: usize, text: &str, columns: usize) -> String {
    let mut out = lead.to_owned();
    let mut used = width(lead);
    let mut is_first = true;
    for word in text.split(' ') {
        let taken = width(word);
        if !is_first && used + 1 + taken > columns {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            used = indent;
        } else if !is_first {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += taken;
        is_first = false;
    }
    out
}

/// Returns as much of the start of a text as fits; a mark stands for what does not.
pub(crate) fn head(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    for c in text.chars() {
        out.push(c);
        if out.width() + 1 > columns {
            out.pop();
            break;
        }
    }
    out.push('…');
    out
}

/// Returns as much of the end of a text as fits; a mark stands for what does not.
pub(crate) fn tail(text: &str, columns: usize) -> String {
    let starts = text.char_indices().map(|(at, _)| &text[at..]);
    let fits = |rest: &&str| rest.width() < columns;
    if text.width() <= columns {
        return text.to_owned();
    }
    format!("…{}", starts.into_iter().find(fits).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_broken_at_blanks_and_goes_on_below_its_start() {
        let text = "one two three four";
        assert_eq!(wrapped("  a ", 4, text, 12), "  a one two\n    three\n    four");
        assert_eq!(wrapped("", 2, "averyverylongword x", 8), "averyverylongword\n  x");
        assert_eq!(wrapped("- ", 2, "", 8), "- ");
    }

    #[test]
    fn colours_take_no_columns_and_wide_characters_take_two() {
        assert_eq!(width(&format!("{DIM}dim{DIM:#}")), 3);
        assert_eq!(wrapped("", 0, &format!("{DIM}one{DIM:#} two"), 7).lines().count(), 1);
        assert_eq!(width("世界"), 4);
        assert_eq!(head("世界世界", 5), "世界…");
    }

    #[test]
    fn what_does_not_fit_is_cut_and_marked() {
        for (text, columns, start, end) in [
            ("abcdef", 6, "abcdef", "abcdef"),
            ("abcdef", 5, "abcd…", "…cdef"),
            ("aé世b", 4, "aé…", "…世b"),
            ("abc", 0, "…", "…"),
        ] {
            assert_eq!(
                (head(text, columns).as_str(), tail(text, columns).as_str()),
                (start, end),
                "{columns}"
            );
        }
    }

    #[test]
    fn a_heading_that_does_not_fit_takes_two_lines() {
        let heading = |columns| {
            let mut out = anstream::StripStream::new(Vec::new());
            Page::new(&mut out, columns)
                .heading("a/session.jsonl", "pi · 12 messages · a model of some name")
                .unwrap();
            String::from_utf8(out.into_inner()).unwrap()
        };
        assert_eq!(heading(80), "a/session.jsonl  pi · 12 messages · a model of some name\n");
        assert_eq!(heading(44), "a/session.jsonl\n  pi · 12 messages · a model of some name\n");
    }
}
