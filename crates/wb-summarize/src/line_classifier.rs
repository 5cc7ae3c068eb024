//! Finds the lines and words of a text that matter. Only words are looked at, so some such lines are missed and some
//! others are taken for one.
//!
//! Texts are read by bytes. A character is looked up only next to a word that is looked for.

use std::ops::Range;

/// Returns whether an answer says more than a word or two.
pub(crate) fn says_something(text: &str) -> bool {
    text.split_whitespace().nth(2).is_some()
}

/// Returns whether a line asks for something or forbids it; one of a log or of code does not.
pub(crate) fn is_constraint(line: &str) -> bool {
    const WORDS: Lookup = Lookup::of(
        &["must", "never", "don't", "always", "only", "without", "avoid", "ensure"],
        &[("do", "not"), ("make", "sure"), ("should", "not")],
    );
    let is_data = || line.contains("\":") || line.trim_start().starts_with(['{', '[', '<', '|', '}', '/']);
    WORDS.are_in(line) && !is_data()
}

/// Returns whether a line gives a reason: a sentence, not a heading or the start of a list.
pub(crate) fn is_decision(line: &str) -> bool {
    const WORDS: Lookup = Lookup::of(
        &["because", "decided", "therefore"],
        &[("instead", "of"), ("root", "cause"), ("the", "reason")],
    );
    let line = line.trim();
    let is_sentence = line.len() > 32 && !line.starts_with('#') && !line.ends_with(':');
    is_sentence && WORDS.are_in(line)
}

/// Returns the first line that names an error, else the last line that is not blank; nothing of blank ones.
pub(crate) fn line_with_cause(output: &str) -> Option<&str> {
    const WORDS: Lookup = Lookup::of(&["error", "failed", "panicked", "exception", "fail", "fatal"], &[]);
    // Tools add how a command ended; the list of commands has that.
    const ENDS: [&str; 3] = ["Command exited with code", "Command aborted", "Exit code"];
    let is_end = |line: &str| ENDS.iter().any(|end| line.starts_with(end));
    let mut lines = output.lines().map(str::trim).filter(|line| !line.is_empty() && !is_end(line));
    let names_error = |line: &&str| WORDS.are_in(line);
    lines.clone().find(names_error).or_else(|| lines.next_back())
}

/// Words that are looked for, in any case of letters.
struct Lookup {
    alone: &'static [&'static str],
    pairs: &'static [(&'static str, &'static str)],
    /// A bit for each length of a word, or of the second one of a pair.
    lengths: u64,
}

impl Lookup {
    const fn of(words: &'static [&'static str], pairs: &'static [(&'static str, &'static str)]) -> Self {
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

    /// Returns whether a line has one of the words, or two words in a row.
    fn are_in(&self, line: &str) -> bool {
        let bytes = line.as_bytes();
        let (mut at, mut before) = (0, 0..0);
        loop {
            at += bytes[at..].iter().take_while(|byte| !is_in(**byte, LETTER)).count();
            let n_bytes = bytes[at..].iter().take_while(|byte| is_in(**byte, LETTER)).count();
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

    /// Returns whether a run of ASCII letters is looked for, alone or after the run before it.
    fn has(&self, line: &str, before: &Range<usize>, run: &Range<usize>) -> bool {
        let is = |run: &Range<usize>, word: &str| line[run.clone()].eq_ignore_ascii_case(word);
        let stands_apart = || !starts_inside(line, run.start) && !ends_inside(line, run.end);
        let follows = || {
            !starts_inside(line, before.start) && !line[before.end..run.start].contains(char::is_alphanumeric)
        };
        let is_pair = |(one, two): &(&str, &str)| is(run, two) && is(before, one) && follows();
        (self.alone.iter().any(|word| is(run, word)) || self.pairs.iter().any(is_pair)) && stands_apart()
    }
}

/// Returns whether the character before a place belongs to the same word.
fn starts_inside(text: &str, at: usize) -> bool {
    text[..at].chars().next_back().is_some_and(char::is_alphanumeric)
}

/// Returns whether the character at a place belongs to the word before it.
fn ends_inside(text: &str, at: usize) -> bool {
    text[at..].chars().next().is_some_and(char::is_alphanumeric)
}

/// Visits the addresses, commit ids and issue numbers of a text, the last one first.
pub(crate) fn identifiers_back(text: &str) -> impl Iterator<Item = &str> {
    let bytes = if may_identify(text) { text.as_bytes() } else { &[] };
    let may_start = |at: &usize| {
        is_in(bytes[*at], NAME_START)
            && match at.checked_sub(1).map(|before| bytes[before]) {
                None => true,
                Some(before) if before.is_ascii() => is_in(before, GAP),
                Some(_) => text[..*at].ends_with(char::is_whitespace),
            }
    };
    (0..bytes.len()).rev().filter(may_start).filter_map(|at| identifier(&text[at..]))
}

/// Returns whether a text has a digit or a colon, without which there is no identifier; read in steps without branches,
/// so that the compiler can use vector instructions.
fn may_identify(text: &str) -> bool {
    let is_one = |byte: u8| u8::from(byte.wrapping_sub(b'0') <= b':' - b'0');
    text.as_bytes().chunks(128).any(|step| step.iter().fold(0, |found, byte| found | is_one(*byte)) != 0)
}

/// Returns the identifier that a text starts with, where it is a word of its own but for signs at its end.
fn identifier(text: &str) -> Option<&str> {
    const SIGNS: [char; 4] = ['.', ':', '!', '?'];
    if text.starts_with('h') {
        let is_address = text.starts_with("https://") || text.starts_with("http://");
        let is_gap = |c: char| c.is_whitespace() || (c.is_ascii() && is_in(c as u8, GAP));
        let word = is_address.then(|| text.split(is_gap).next())??;
        return Some(word.trim_end_matches(SIGNS));
    }
    let n_bytes = text.bytes().take_while(|byte| is_in(*byte, NAME)).count();
    let (word, rest) = text.split_at(n_bytes);
    let is_end = |rest: &str| match rest.chars().next() {
        None => true,
        Some(c) if c.is_ascii() => is_in(c as u8, GAP),
        Some(c) => c.is_whitespace(),
    };
    (is_name(word) && is_end(rest.trim_start_matches(SIGNS))).then_some(word)
}

/// Returns whether a word is a commit id or an issue number.
fn is_name(word: &str) -> bool {
    if let Some(issue) = word.strip_prefix('#') {
        return !issue.is_empty() && issue.bytes().all(|byte| byte.is_ascii_digit());
    }
    (7..=40).contains(&word.len())
        && word.bytes().all(|byte| byte != b'#')
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Letters, digits and the apostrophe.
const LETTER: u8 = 1;
/// Blanks, brackets, quotes, commas and semicolons: what stands between identifiers.
const GAP: u8 = 2;
/// What commit ids and issue numbers are made of.
const NAME: u8 = 4;
/// What an identifier starts with.
const NAME_START: u8 = 8;

/// The classes of each byte; those of characters beyond ASCII are in none.
const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        let class = &mut classes[byte as usize];
        if byte.is_ascii_alphanumeric() || byte == b'\'' {
            *class |= LETTER;
        }
        if matches!(
            byte,
            9..=13 | b' ' | b'(' | b')' | b'[' | b']' | b'<' | b'>' | b'"' | b'\'' | b'`' | b',' | b';'
        ) {
            *class |= GAP;
        }
        if matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'#') {
            *class |= NAME | NAME_START;
        }
        if byte == b'h' {
            *class |= NAME_START;
        }
        byte += 1;
    }
    classes
}

fn is_in(byte: u8, class: u8) -> bool {
    CLASSES[byte as usize] & class != 0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Tells by characters whether a line has one of the words, or two words in a row.
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

    /// Splits a text into words by characters and keeps those that are identifiers.
    fn identifiers(text: &str) -> Vec<&str> {
        let hex = |word: &str| {
            (7..=40).contains(&word.len())
                && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
                && word.bytes().any(|byte| byte.is_ascii_digit())
                && word.bytes().any(|byte| byte.is_ascii_lowercase())
        };
        let issue = |word: &str| {
            word.strip_prefix('#')
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let is_one = |word: &&str| {
            word.starts_with("https://") || word.starts_with("http://") || hex(word) || issue(word)
        };
        text.split(|c: char| c.is_whitespace() || "()[]<>\"'`,;".contains(c))
            .map(|word| word.trim_end_matches(['.', ':', '!', '?']))
            .filter(is_one)
            .collect()
    }

    /// Texts of words, parts of words and what may stand between them.
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]

        #[test]
        fn words_are_those_of_a_reading_by_characters(text in odd_text()) {
            let words = Lookup::of(&["must", "don't"], &[("do", "not"), ("the", "reason")]);
            prop_assert_eq!(words.are_in(&text), has_word(&text, &words));
        }

        #[test]
        fn identifiers_are_those_of_a_reading_by_characters(text in odd_text()) {
            let mut expected = identifiers(&text);
            expected.reverse();
            prop_assert_eq!(identifiers_back(&text).collect::<Vec<_>>(), expected);
        }
    }
}
