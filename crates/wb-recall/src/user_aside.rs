//! Words of the user that no message has.

use memchr::memmem::Finder;
use wb_message::Aside;

use crate::answer::Excerpt;
use crate::author::Author;
use crate::excerpt::{Wanted, excerpt, n_lines};
use crate::word_hashes::words_of;

/// Returns whether an aside has the exact text or all words of a question.
pub(crate) fn has_answer(aside: &Aside, text: &Finder<'_>, words: &[u32]) -> bool {
    if text.find(aside.words.as_bytes()).is_some() {
        return true;
    }
    let known = words_of(&aside.words);
    !words.is_empty() && words.iter().all(|word| known.contains(word))
}

/// Quotes an aside as an excerpt of a turn.
pub(crate) fn quoted_aside(aside: &Aside, turn: usize, wanted: &Wanted<'_>, max_bytes: usize) -> Excerpt {
    Excerpt {
        message: aside.n_before,
        turn,
        author: Author::Aside,
        call: None,
        outcome: None,
        later: Vec::new(),
        same: Vec::new(),
        lines: excerpt(&aside.words, wanted, max_bytes),
        n_lines: n_lines(&aside.words),
    }
}
