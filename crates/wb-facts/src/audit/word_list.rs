//! Lists of words and of phrases, each looked up by its first word or letter.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

/// A list of whole words.
#[derive(Debug)]
pub(super) struct WordList {
    words: &'static str,
    set: OnceLock<HashSet<&'static str>>,
}

impl WordList {
    /// Creates the list of the words between blanks.
    pub(super) const fn new(words: &'static str) -> Self {
        Self { words, set: OnceLock::new() }
    }

    /// Returns whether the list has a word.
    pub(super) fn has(&self, word: &str) -> bool {
        self.set.get_or_init(|| self.words.split(' ').collect()).contains(word)
    }

    /// Returns whether the list has one of some words.
    pub(super) fn has_one(&self, words: &[&str]) -> bool {
        words.iter().any(|word| self.has(word))
    }
}

/// A list of the starts of words.
#[derive(Debug)]
pub(super) struct WordStarts {
    starts: &'static str,
    by_letter: OnceLock<HashMap<u8, Vec<&'static str>>>,
}

impl WordStarts {
    /// Creates the list of the starts between blanks.
    pub(super) const fn new(starts: &'static str) -> Self {
        Self { starts, by_letter: OnceLock::new() }
    }

    /// Returns the starts that a word has.
    pub(super) fn starts(&self, word: &str) -> impl Iterator<Item = &'static str> {
        let by_letter = self.by_letter.get_or_init(|| {
            let mut by_letter: HashMap<u8, Vec<&str>> = HashMap::new();
            for start in self.starts.split(' ') {
                start.bytes().take(1).for_each(|letter| by_letter.entry(letter).or_default().push(start));
            }
            by_letter
        });
        let same_letter = word.bytes().next().and_then(|letter| by_letter.get(&letter));
        same_letter.into_iter().flatten().copied().filter(|start| word.starts_with(start))
    }
}

/// A list of phrases.
#[derive(Debug)]
pub(super) struct PhraseList {
    phrases: &'static str,
    /// For each first word its phrases, each with its place in the list.
    by_first: OnceLock<HashMap<&'static str, Vec<Phrase>>>,
}

/// A phrase, with its place in a list.
type Phrase = (usize, Vec<&'static str>);

impl PhraseList {
    /// Creates the list of the phrases between bars.
    pub(super) const fn new(phrases: &'static str) -> Self {
        Self { phrases, by_first: OnceLock::new() }
    }

    /// Returns the first phrase of the list that is in a text: its start and its number of words.
    pub(super) fn find(&self, text: &[&str]) -> Option<(usize, usize)> {
        let by_first = self.by_first.get_or_init(|| {
            let mut by_first: HashMap<&str, Vec<Phrase>> = HashMap::new();
            for (nth, phrase) in self.phrases.split('|').enumerate() {
                let phrase: Vec<&str> = phrase.split(' ').collect();
                by_first.entry(phrase[0]).or_default().push((nth, phrase));
            }
            by_first
        });
        let found = (0..text.len()).flat_map(|start| {
            let phrases = by_first.get(text[start]).into_iter().flatten();
            let here = phrases.filter(move |(_, phrase)| text[start..].starts_with(phrase));
            here.map(move |(nth, phrase)| (*nth, start, phrase.len()))
        });
        found.min().map(|(_, start, n_words)| (start, n_words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_phrase_of_the_list_is_found_where_it_is_first() {
        static PHRASES: PhraseList = PhraseList::new("go ahead|fine with|go");
        let find = |text: &str| PHRASES.find(&text.split(' ').collect::<Vec<_>>());
        assert_eq!(find("go on and go ahead or go ahead"), Some((3, 2)));
        assert_eq!(find("it is fine with go"), Some((2, 2)));
        assert_eq!(find("so go go"), Some((1, 1)));
        assert_eq!(find("ahead of"), None);
        assert_eq!(PHRASES.find(&[]), None);
    }

    #[test]
    fn words_are_whole_and_starts_are_not() {
        static WORDS: WordList = WordList::new("user owner");
        static STARTS: WordStarts = WordStarts::new("rm rmdir push");
        assert!(WORDS.has("owner") && !WORDS.has("own") && WORDS.has_one(&["a", "user"]));
        assert_eq!(STARTS.starts("rmdirs").collect::<Vec<_>>(), ["rm", "rmdir"]);
        assert_eq!(
            (STARTS.starts("pu").count(), STARTS.starts("").count(), STARTS.starts("über").count()),
            (0, 0, 0)
        );
    }
}
