//! The addition to a digest that a model writes, without the entries that it contains already.

use wb_message::text::one_line;

use crate::evidence::with_evidence;
use wb_digest::labels::FIRST;
use wb_digest::{Section, Sections, shorten_digest};

/// The text that must not pass through a model and is added to its digest: requests and constraints
/// verbatim, open tasks, certain facts, and the lines that the next step may need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Addition {
    pub(crate) model_chars: usize,
    pub(crate) word_chars: usize,
    pub(crate) entries: Vec<(Section, String)>,
    pub(crate) lines: String,
}

/// The share of a digest, in percent, for entries other than requests that its model has left out.
const ENTRIES_PERCENT: usize = 35;
/// Parts per hundred of the digest that the requests may take at least.
pub(crate) const FIRST_PERCENT: usize = 15;

impl Addition {
    /// Adds the missing entries to the digest of a model, within a number of characters.
    pub fn add_to(&self, digest: &str, max_chars: usize) -> String {
        let for_lines =
            Some(self.lines.chars().count()).filter(|n_chars| *n_chars <= max_chars - max_chars / 4);
        let model_chars = (self.model_chars + self.word_chars).min(max_chars - for_lines.unwrap_or(0));
        let lines = if for_lines.is_some() { self.lines.as_str() } else { "" };
        let missing = self.missing_in(digest, self.entry_chars().min(model_chars / 8 * 7));
        if missing.is_empty() {
            return with_evidence(shorten_digest(digest, model_chars).into_owned(), lines);
        }
        let mut sections = Sections::parse(digest);
        let (requests, others): (Vec<_>, Vec<_>) =
            missing.into_iter().partition(|(section, _)| *section == Section::Objective);
        requests.into_iter().rev().for_each(|(section, entry)| sections.insert_first(section, entry));
        for (section, entry) in others {
            sections.add(section, entry);
        }
        with_evidence(sections.render(model_chars), lines)
    }

    /// Returns the entries, as far as they fit next to the prompt of that model.
    pub fn verbatim(&self) -> String {
        let entries = self.missing_in("", self.model_chars * ENTRIES_PERCENT / 100);
        entries.into_iter().map(|(_, entry)| entry).collect::<Vec<_>>().join("\n")
    }

    fn entry_chars(&self) -> usize {
        self.word_chars + self.model_chars * ENTRIES_PERCENT / 100
    }

    /// Returns the entries that are missing in a digest, as far as they fit.
    fn missing_in(&self, digest: &str, max_chars: usize) -> Vec<(Section, &str)> {
        let mut left = max_chars;
        let words =
            |entry: &str| one_line(entry.trim_start_matches(FIRST).trim_start_matches("- "), usize::MAX);
        let known = one_line(digest, usize::MAX);
        let is_missing = |(_, entry): &&(Section, String)| !known.contains(&words(entry));
        let missing = self.entries.iter().filter(is_missing).filter(|(_, entry)| {
            let n_chars = entry.chars().count() + 1;
            let fits = n_chars <= left;
            left -= if fits { n_chars } else { 0 };
            fits
        });
        missing.map(|(section, entry)| (*section, entry.as_str())).collect()
    }
}
