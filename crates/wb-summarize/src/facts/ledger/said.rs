//! What the user said, as words without order, to tell what was agreed to.

use serde::{Deserialize, Serialize};
use wb_message::pairing::id_key;

/// Words of the user that are kept, the newest ones, and words of one text.
const MOST_SAID: usize = 160;
const MOST_WORDS: usize = 120;
/// The part of a text that is about something, at its end, in bytes.
pub(crate) const END_BYTES: usize = 1_200;

/// Words that say nothing about what is meant.
const EMPTY: [&str; 105] = [
    "the", "and", "for", "but", "not", "you", "are", "was", "were", "has", "had", "can", "our", "out", "all",
    "any", "its", "his", "her", "she", "who", "why", "how", "did", "get", "got", "let", "may", "use", "now",
    "one", "two", "yes", "too", "via", "per", "yet", "don", "ll", "ve", "about", "after", "again", "also",
    "before", "been", "being", "both", "could", "does", "doing", "done", "each", "even", "every", "from",
    "further", "have", "having", "here", "into", "just", "like", "made", "make", "more", "most", "much",
    "must", "need", "next", "only", "other", "over", "please", "same", "should", "some", "such", "than",
    "that", "their", "them", "then", "there", "these", "they", "this", "those", "through", "under", "user",
    "very", "want", "wanted", "what", "when", "where", "which", "while", "will", "with", "would", "your",
    "yours",
];
/// How words begin that say yes.
const NODS: [&str; 34] = [
    "yes",
    "yep",
    "yeah",
    "yup",
    "ok",
    "okay",
    "sure",
    "approv",
    "agree",
    "confirm",
    "lgtm",
    "proceed",
    "accept",
    "correct",
    "exactly",
    "perfect",
    "great",
    "fine",
    "right",
    "good",
    "nice",
    "cool",
    "awesome",
    "continue",
    "ahead",
    "sounds",
    "ship",
    "works",
    "thank",
    "love",
    "excellent",
    "ja",
    "oui",
    "si",
];

/// One text of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Words {
    /// Whether it says yes to something.
    pub(crate) nods: bool,
    stems: Vec<u32>,
}

/// What the user said, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    texts: Vec<Words>,
    /// What the agent said last.
    before: Vec<u32>,
    is_cut: bool,
}

impl Said {
    /// Notes what the agent says, which the user may answer.
    pub(crate) fn agent(&mut self, text: &str) {
        self.before = words(wb_message::text::tail(text, END_BYTES)).take(MOST_WORDS).collect();
    }

    /// Notes what the user says.
    pub(crate) fn user(&mut self, text: &str, nods: bool) {
        let nods = nods || is_nod(text);
        let own = words(text).take(MOST_WORDS);
        let stems = if nods || text.len() < 200 {
            own.chain(self.before.iter().copied()).collect()
        } else {
            own.collect()
        };
        if self.texts.len() == MOST_SAID {
            self.texts.remove(0);
            self.is_cut = true;
        }
        self.texts.push(Words { nods, stems });
    }

    /// Tells whether texts of the user are not kept any more.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Tells whether the user said nothing that can be a yes to those words.
    pub(crate) fn is_unheard(&self, about: &str) -> bool {
        let wanted: Vec<u32> = words(about).collect();
        let fits = |said: &Words| {
            let n = wanted.iter().filter(|word| said.stems.contains(word)).count();
            if said.nods { n * 2 >= wanted.len() } else { !wanted.is_empty() && n * 3 >= wanted.len() * 2 }
        };
        !self.texts.iter().any(fits)
    }

    /// Returns about how many bytes of memory are taken.
    pub(crate) fn n_bytes(&self) -> usize {
        self.texts.iter().map(|said| size_of::<Words>() + said.stems.len() * 4).sum()
    }
}

fn is_nod(text: &str) -> bool {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(60).any(|word| {
        let word = word.to_lowercase();
        NODS.iter().any(|nod| if nod.len() < 5 { word == *nod } else { word.starts_with(nod) })
            || matches!(word.as_str(), "y" | "do" | "go" | "let" | "please" | "k")
    })
}

/// Visits the words that say what a text is about, each by the beginning that its forms share.
pub(crate) fn words(text: &str) -> impl Iterator<Item = u32> {
    let all = text.split(|c: char| !c.is_alphanumeric());
    let fits = |word: &String| word.chars().count() >= 3 && !EMPTY.contains(&word.as_str());
    all.map(str::to_lowercase).filter(fits).map(|word| {
        let stem: String = word.chars().take(5).collect();
        let bytes = id_key(&stem).to_le_bytes();
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_yes_is_to_what_the_agent_said_before() {
        let mut said = Said::default();
        said.user("Please fix the parser.", false);
        said.agent("Shall I remove the dead code in the importer?");
        said.user("yes", false);
        assert!(!said.is_unheard("removing the dead importer code"));
        assert!(said.is_unheard("dropping the production database tables"));
    }

    #[test]
    fn without_a_yes_nothing_was_agreed_to() {
        let mut said = Said::default();
        said.user("Why does the parser fail?", false);
        assert!(said.is_unheard("the plan"));
    }
}
