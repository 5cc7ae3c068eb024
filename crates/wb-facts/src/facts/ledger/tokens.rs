//! The runs of bytes in a text that names consist of.
//!
//! A text is read once, by bytes, and each run comes with the classes of its bytes, so that most
//! runs need no second look.

use std::ops::Range;

use wb_message::bytes::Step;

/// Longer words are data, unless they are paths.
pub(crate) const MOST_BYTES: usize = 200;
const MOST_PATH_BYTES: usize = 4_096;

const LETTER: u8 = 1;
const DIGIT: u8 = 2;
const UNDERSCORE: u8 = 4;
const DASH: u8 = 8;
const DOT: u8 = 16;
const SLASH: u8 = 32;
/// Joins words, in addition to a dash and a dot.
const OTHER: u8 = 64;

/// The classes of each byte. Characters beyond ASCII have none, since many languages put no blank
/// around a name.
const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => LETTER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'-' => DASH,
            b'.' => DOT,
            b'/' => SLASH,
            b'@' | b'+' => OTHER,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// Visits the places of the runs that names consist of.
pub(crate) fn tokens(text: &str) -> impl Iterator<Item = Range<usize>> {
    runs(text).map(|(at, _)| at)
}

/// Visits the runs, and the classes of the bytes in each.
fn runs(text: &str) -> impl Iterator<Item = (Range<usize>, u8)> {
    let bytes = text.as_bytes();
    let mut end = 0;
    std::iter::from_fn(move || {
        let start = end + bytes[end..].iter().position(|byte| CLASSES[usize::from(*byte)] != 0)?;
        let mut signs = 0;
        end = start;
        loop {
            let n_letters = bytes[end..].first_chunk().map_or(0, |step| Step::new(*step).n_letters());
            end += n_letters;
            signs |= if n_letters > 0 { LETTER } else { 0 };
            match bytes.get(end).map_or(0, |byte| CLASSES[usize::from(*byte)]) {
                0 => return Some((start..end, signs)),
                class => signs |= class,
            }
            end += 1;
        }
    })
}

/// A run that is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    signs: u8,
    is_escaped: bool,
}

impl<'a> Token<'a> {
    /// Visits the runs of a text that are read: neither data nor numbers.
    pub(super) fn all(text: &'a str) -> impl Iterator<Item = Self> {
        let token = |(at, signs): (Range<usize>, u8)| {
            let is_escaped = at.start > 0 && text.as_bytes()[at.start - 1] == b'\\';
            Self { text: &text[at], signs, is_escaped }
        };
        runs(text).map(token).filter(|token| token.is_read())
    }

    /// Visits the runs to be read that contain a dot, as file names do; the rest is skipped.
    pub(super) fn dotted(text: &'a str) -> impl Iterator<Item = Self> {
        let bytes = text.as_bytes();
        let mut end = 0;
        let next = move || {
            let dot = end + text.get(end..)?.find('.')?;
            let is_part = |byte: &&u8| CLASSES[usize::from(**byte)] != 0;
            let start = dot - bytes[end..dot].iter().rev().take_while(is_part).count();
            end = dot + bytes[dot..].iter().take_while(is_part).count();
            let signs = bytes[start..end].iter().fold(0, |signs, byte| signs | CLASSES[usize::from(*byte)]);
            Some(Self { text: &text[start..end], signs, is_escaped: false })
        };
        std::iter::from_fn(next).filter(|token| token.is_read())
    }

    fn has(self, signs: u8) -> bool {
        self.signs & signs != 0
    }

    fn is_read(self) -> bool {
        let is_path =
            || self.text.len() <= MOST_PATH_BYTES && self.has(SLASH) && self.has(DOT | UNDERSCORE | DASH);
        self.text.len() > 1 && self.has(!DIGIT) && (self.text.len() <= MOST_BYTES || is_path())
    }

    /// Reports whether it is a single word.
    pub(super) fn is_plain(self) -> bool {
        !self.has(DASH | DOT | SLASH | OTHER)
    }

    /// Returns the run without the letter of an escape before it, such as a line end in JSON.
    pub(super) fn unescaped(self) -> Option<Self> {
        let is_taken = self.is_escaped && self.text.len() > 2 && self.text.starts_with(['n', 't', 'r']);
        is_taken.then(|| Self { text: &self.text[1..], ..self })
    }
}

/// Visits the names in a path, except those of a parent folder.
pub(crate) fn components(path: &str) -> impl Iterator<Item = &str> {
    let names = path.split('/').map(|name| name.trim_matches(['-', '+', ',']).trim_end_matches('.'));
    names.filter(|name| name.len() > 1 && *name != "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_ends_at_a_blank_a_quote_and_another_script() {
        let all = |text| Token::all(text).map(|token| token.text).collect::<Vec<_>>();
        assert_eq!(all("a src/b.rs:12, “x-y” 请c_d文 1.5 42"), ["src/b.rs", "x-y", "c_d", "1.5"]);
        assert!(all("").is_empty() && all(" 请 ").is_empty());
    }

    #[test]
    fn a_run_may_be_longer_than_what_is_looked_at_together() {
        let words =
            ["ab", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghijklmnopq", "abcdefgh_abcdefgh", "a2345678b"];
        let text = words.join(" ");
        let all: Vec<_> = Token::all(&text).collect();
        assert_eq!(all.iter().map(|token| token.text).collect::<Vec<_>>(), words);
        for token in all {
            let signs = token.text.bytes().fold(0, |signs, byte| signs | CLASSES[usize::from(byte)]);
            assert_eq!(token.signs, signs, "{}", token.text);
        }
    }

    #[test]
    fn runs_with_a_dot_are_those_among_all_that_have_one() {
        for text in
            ["a src/b.rs:12, x-y ./c “d.md”请e.f文 1.5 .", "..", "no dots at all", "a.b", ".", "", "é.ü"]
        {
            let all = Token::all(text).map(|token| token.text).filter(|token| token.contains('.'));
            let dotted = Token::dotted(text).map(|token| token.text);
            assert_eq!(dotted.collect::<Vec<_>>(), all.collect::<Vec<_>>(), "{text}");
        }
    }

    #[test]
    fn the_letter_of_an_escape_is_not_part_of_a_word() {
        let unescaped = |text| Token::all(text).filter_map(Token::unescaped).map(|token| token.text).next();
        assert_eq!(unescaped(r"x\nlib.rs"), Some("lib.rs"));
        assert_eq!((unescaped(r"x\main.rs"), unescaped("nlib.rs")), (None, None));
    }
}
