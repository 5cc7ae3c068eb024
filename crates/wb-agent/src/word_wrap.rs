//! Wraps a text that arrives in pieces.

/// Breaks lines at blanks before a width; a longer word stays whole.
#[derive(Debug)]
pub(crate) struct WordWrap {
    /// The columns; none leaves lines as they are.
    columns: Option<usize>,
    /// The columns that the current line takes.
    used: usize,
    /// The word whose end has not arrived.
    word: String,
}

impl WordWrap {
    /// Wraps at a width, if there is one.
    pub(crate) fn new(columns: Option<usize>) -> Self {
        Self { columns, used: 0, word: String::new() }
    }

    /// Takes a piece and returns what can be printed.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        if self.columns.is_none() {
            return piece.to_owned();
        }
        let mut out = String::new();
        for c in piece.chars() {
            match c {
                ' ' | '\n' => {
                    out += &self.take_word();
                    self.end_word(c, &mut out);
                }
                c => self.word.push(c),
            }
        }
        out
    }

    /// Returns the rest.
    pub(crate) fn finish(&mut self) -> String {
        let rest = self.take_word();
        self.used = 0;
        rest
    }

    fn take_word(&mut self) -> String {
        let word = std::mem::take(&mut self.word);
        let n_columns = word.chars().count();
        let is_full = self.used > 0 && self.used + n_columns > self.columns.unwrap_or(usize::MAX);
        self.used = if is_full { n_columns } else { self.used + n_columns };
        if is_full && !word.is_empty() { format!("\n{word}") } else { word }
    }

    fn end_word(&mut self, c: char, out: &mut String) {
        out.push(c);
        self.used = if c == '\n' { 0 } else { self.used + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_wrapped_at_blanks_and_lines_stay() {
        let mut wrap = WordWrap::new(Some(10));
        let pieces = ["one tw", "o three\nfo", "ur incomprehensible", " end"];
        let text: String = pieces.map(|piece| wrap.push(piece)).concat() + &wrap.finish();
        assert_eq!(text, "one two \nthree\nfour \nincomprehensible \nend");
        assert_eq!(WordWrap::new(None).push("a long line that stays"), "a long line that stays");
    }
}
