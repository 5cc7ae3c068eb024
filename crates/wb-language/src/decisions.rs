//! Lines that give a reason.
//!
//! Only words are considered, so some lines are classified wrongly. Texts are read as bytes;
//! characters are decoded only next to a known word.

use std::ops::Range;

/// Returns whether a line gives a reason: a sentence, not a heading, a step, a row of a table or
/// the start of a list.
pub fn is_decision(line: &str) -> bool {
    const WORDS: Lookup =
        Lookup::new(&["because", "decided", "therefore"], &[("root", "cause"), ("the", "reason")]);
    let line = line.trim();
    let is_row =
        line.starts_with(['#', '|', '<', '>', '/', '`']) || line.starts_with(|c: char| c.is_ascii_digit());
    let is_sentence = line.len() > 32 && !is_row && !line.ends_with([':', '?']);
    is_sentence && WORDS.matches(line) && !is_guess(line)
}

/// Returns whether a line guesses at a reason.
pub fn is_guess(line: &str) -> bool {
    const WORDS: Lookup = Lookup::new(
        &["maybe", "perhaps", "probably", "possibly", "might", "likely", "suspect"],
        &[("must", "be"), ("could", "be")],
    );
    WORDS.matches(line)
}

/// Returns whether a line names the cause of a fault; the next such line replaces it.
pub fn names_a_cause(line: &str) -> bool {
    const WORDS: Lookup = Lookup::new(&[], &[("root", "cause"), ("actual", "cause"), ("real", "cause")]);
    WORDS.matches(line)
}

/// A set of words and pairs of words, ignoring case.
struct Lookup {
    alone: &'static [&'static str],
    pairs: &'static [(&'static str, &'static str)],
    /// A bit for each length of a word, or of the second word of a pair.
    lengths: u64,
}

impl Lookup {
    const fn new(words: &'static [&'static str], pairs: &'static [(&'static str, &'static str)]) -> Self {
        let (mut lengths, mut at) = (0, 0);
        while at < words.len() {
            lengths |= 1 << words[at].len();
            at += 1;
        }
        at = 0;
        while at < pairs.len() {
            lengths |= 1 << pairs[at].1.len();
            at += 1;
        }
        Self { alone: words, pairs, lengths }
    }

    /// Returns whether a line contains one of the words or pairs.
    fn matches(&self, line: &str) -> bool {
        let bytes = line.as_bytes();
        let (mut at, mut before) = (0, 0..0);
        loop {
            at += bytes[at..].iter().take_while(|byte| !is_letter(**byte)).count();
            let n_bytes = bytes[at..].iter().take_while(|byte| is_letter(**byte)).count();
            if n_bytes == 0 {
                return false;
            }
            let word = at..at + n_bytes;
            let may_be = n_bytes < 64 && self.lengths >> n_bytes & 1 == 1;
            if may_be && self.has(line, &before, &word) {
                return true;
            }
            at = word.end;
            before = word;
        }
    }

    /// Returns whether a run of ASCII letters is known, alone or after the run before it.
    fn has(&self, line: &str, before: &Range<usize>, run: &Range<usize>) -> bool {
        let is = |run: &Range<usize>, word: &str| line[run.clone()].eq_ignore_ascii_case(word);
        let is_word = || !starts_inside(line, run.start) && !ends_inside(line, run.end);
        let follows = || {
            !starts_inside(line, before.start) && !line[before.end..run.start].contains(char::is_alphanumeric)
        };
        let is_pair = |(one, two): &(&str, &str)| is(run, two) && is(before, one) && follows();
        (self.alone.iter().any(|word| is(run, word)) || self.pairs.iter().any(is_pair)) && is_word()
    }
}

/// Returns whether the character before an index belongs to the same word.
fn starts_inside(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(char::is_alphanumeric)
}

/// Returns whether the character at an index belongs to the word before it.
fn ends_inside(text: &str, at: usize) -> bool {
    text[at..].chars().next().is_some_and(char::is_alphanumeric)
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'\''
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Searches a line by characters, as a reference for [`Lookup::matches`].
    fn has_word(line: &str, words: &Lookup) -> bool {
        let mut last = "";
        line.split(|c: char| !c.is_alphanumeric() && c != '\'').filter(|word| !word.is_empty()).any(|word| {
            let before = std::mem::replace(&mut last, word);
            words.alone.iter().any(|known| word.eq_ignore_ascii_case(known))
                || words
                    .pairs
                    .iter()
                    .any(|(one, two)| before.eq_ignore_ascii_case(one) && word.eq_ignore_ascii_case(two))
        })
    }

    /// Generates texts of words, parts of words and separators.
    fn odd_text() -> impl Strategy<Value = String> {
        let parts = [
            "do",
            "not",
            "Must",
            "the",
            "reason",
            "don't",
            "'",
            "x",
            "é",
            "汉字",
            "　",
            "\u{a0}",
            "\u{2028}",
            "—",
            "²",
            " ",
            " ",
            " ",
            "-",
            "\n",
            ".",
            ":",
            "!",
            ",",
            "(",
            ";",
            "#",
            "12",
            "a1b2c3d",
            "ff",
            "http://",
            "https://h",
            "h",
            "/",
            "Ⅷ",
            "\u{345}",
            "\t",
            "\u{85}",
        ];
        prop::collection::vec(prop::sample::select(parts.to_vec()), 0..24).prop_map(|parts| parts.concat())
    }

    #[test]
    fn a_guess_is_not_a_reason() {
        for (line, expected) in [
            ("The list is sorted, because the pager needs an order.", true),
            ("It may differ because the terminal is old; that must be it.", false),
            ("Probably the list differs because the terminal is old.", false),
        ] {
            assert_eq!(is_decision(line), expected, "{line}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn words_are_found_as_by_characters(text in odd_text()) {
            let words = Lookup::new(&["must", "don't"], &[("do", "not"), ("the", "reason")]);
            prop_assert_eq!(words.matches(&text), has_word(&text, &words));
        }
    }
}
