//! Wraps a text that arrives in pieces.

use unicode_width::UnicodeWidthStr;

/// Breaks lines at blanks before a width; a longer word stays whole. A broken line goes on below
/// its own text: behind its blanks, its mark, or a gap between two columns.
#[derive(Debug)]
pub(crate) struct WordWrap {
    /// The columns; none leaves lines as they are.
    columns: Option<usize>,
    /// The columns that the current line takes.
    used: usize,
    /// The columns before the text of the current line.
    indent: usize,
    /// The blanks that are printed if a word follows on the same line.
    blanks: usize,
    /// The word whose end has not arrived.
    word: String,
}

impl WordWrap {
    /// Wraps at a width, if there is one.
    pub(crate) fn new(columns: Option<usize>) -> Self {
        Self { columns, used: 0, indent: 0, blanks: 0, word: String::new() }
    }

    /// Returns the columns.
    pub(crate) fn columns(&self) -> Option<usize> {
        self.columns
    }

    /// Takes a piece and returns what can be printed.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let Some(columns) = self.columns else { return piece.to_owned() };
        let mut out = String::new();
        for c in piece.chars() {
            match c {
                '\n' => {
                    out += &self.finish();
                    out.push('\n');
                }
                ' ' => {
                    self.end_word(columns, &mut out);
                    self.blanks += 1;
                }
                c => self.word.push(c),
            }
        }
        out
    }

    /// Returns the rest of the line.
    pub(crate) fn finish(&mut self) -> String {
        let mut out = String::new();
        self.end_word(self.columns.unwrap_or(usize::MAX), &mut out);
        (self.used, self.indent, self.blanks) = (0, 0, 0);
        out
    }

    fn end_word(&mut self, columns: usize, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        let (word, blanks) = (std::mem::take(&mut self.word), std::mem::take(&mut self.blanks));
        let start = self.used + blanks;
        if (self.used == 0 || blanks > 1) && start < columns / 2 {
            self.indent = start;
        }
        if self.used > 0 && start + word.width() > columns {
            out.push('\n');
            out.push_str(&" ".repeat(self.indent));
            self.used = self.indent;
        } else {
            out.push_str(&" ".repeat(blanks));
            self.used = start;
        }
        let is_mark = self.used == self.indent && matches!(word.as_str(), "-" | "·" | "⟲" | "✗");
        self.used += word.width();
        if is_mark {
            self.indent = self.used + 1;
        }
        out.push_str(&word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(pieces: &[&str], columns: usize) -> String {
        let mut wrap = WordWrap::new(Some(columns));
        let text: String = pieces.iter().map(|piece| wrap.push(piece)).collect();
        text + &wrap.finish()
    }

    #[test]
    fn pieces_are_wrapped_at_blanks_and_lines_stay() {
        let text = wrapped(&["one tw", "o three\nfo", "ur incomprehensible", " end"], 10);
        assert_eq!(text, "one two\nthree\nfour\nincomprehensible\nend");
        assert_eq!(WordWrap::new(None).push("a long line that stays"), "a long line that stays");
    }

    #[test]
    fn a_line_goes_on_below_its_own_text() {
        assert_eq!(wrapped(&["- one two"], 8), "- one\n  two");
        assert_eq!(wrapped(&["  - one two\n  three four"], 8), "  - one\n    two\n  three\n  four");
        assert_eq!(wrapped(&["/undo  one two three"], 16), "/undo  one two\n       three");
    }

    #[test]
    fn a_wide_character_takes_two_columns() {
        assert_eq!(wrapped(&["日本 語語"], 8), "日本\n語語");
    }
}
