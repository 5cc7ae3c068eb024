//! Words of the user that no message has.

use memchr::memmem::Finder;

use crate::answer::Excerpt;
use crate::author::Author;
use crate::excerpt::{Wanted, excerpt, n_lines};
use crate::word_hashes::words_of;

/// Words that the user typed while the agent worked, and that no message repeats.
#[derive(Clone, Debug)]
pub(crate) struct Aside {
    /// The number of messages before it.
    pub(crate) n_before: usize,
    pub(crate) words: String,
}

impl Aside {
    /// Returns whether it has the exact text or all words of a question.
    pub(crate) fn answers(&self, text: &Finder<'_>, words: &[u32]) -> bool {
        if text.find(self.words.as_bytes()).is_some() {
            return true;
        }
        let own = words_of(&self.words);
        !words.is_empty() && words.iter().all(|word| own.contains(word))
    }

    /// Quotes it as an excerpt of a turn.
    pub(crate) fn excerpt(&self, turn: usize, wanted: &Wanted<'_>, max_bytes: usize) -> Excerpt {
        Excerpt {
            message: self.n_before,
            turn,
            author: Author::Aside,
            call: None,
            outcome: None,
            later: Vec::new(),
            same: Vec::new(),
            lines: excerpt(&self.words, wanted, max_bytes),
            n_lines: n_lines(&self.words),
        }
    }
}
