//! The user's words without order, to decide what was agreed to.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use wb_message::pairing::id_key;

use wb_language::constraints::{Kind, constraints};
use wb_language::user_text::is_acknowledgement;

/// Texts of the user that are kept, the newest ones.
const MOST_SAID: usize = 160;
/// Words of a text of the user, and of what the agent said before, that are kept.
const MOST_WORDS: usize = 1_000;
/// The part of a text that is about something, at its end, in bytes.
pub(crate) const END_BYTES: usize = 1_200;

/// Words that say nothing about what is meant, by the alphabet.
const EMPTY: [&str; 105] = [
    "about", "after", "again", "all", "also", "and", "any", "are", "been", "before", "being", "both", "but",
    "can", "could", "did", "does", "doing", "don", "done", "each", "even", "every", "for", "from", "further",
    "get", "got", "had", "has", "have", "having", "her", "here", "his", "how", "into", "its", "just", "let",
    "like", "ll", "made", "make", "may", "more", "most", "much", "must", "need", "next", "not", "now", "one",
    "only", "other", "our", "out", "over", "per", "please", "same", "she", "should", "some", "such", "than",
    "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "through", "too",
    "two", "under", "use", "user", "ve", "very", "via", "want", "wanted", "was", "were", "what", "when",
    "where", "which", "while", "who", "why", "will", "with", "would", "yes", "yet", "you", "your", "yours",
];
/// Bytes of the longest of them.
const EMPTY_BYTES: usize = 7;
/// The same as numbers, in the same order.
const EMPTY_NUMBERS: [u64; EMPTY.len()] = {
    let (mut numbers, mut at) = ([0; EMPTY.len()], 0);
    while at < EMPTY.len() {
        numbers[at] = number(EMPTY[at].as_bytes());
        at += 1;
    }
    numbers
};

/// Returns a word of at most [`EMPTY_BYTES`] bytes as a number.
const fn number(mut word: &[u8]) -> u64 {
    let (mut number, mut left) = (0, EMPTY_BYTES);
    while left > 0 {
        number <<= 8;
        if let [first, rest @ ..] = word {
            number |= *first as u64;
            word = rest;
        }
        left -= 1;
    }
    number
}

/// Reports whether a lowercase word carries no meaning.
fn is_empty(word: &str) -> bool {
    word.len() <= EMPTY_BYTES && EMPTY_NUMBERS.binary_search(&number(word.as_bytes())).is_ok()
}
/// Characters by which the forms of a word are known.
const STEM_CHARS: usize = 5;
/// Beginnings of words that say yes; short ones are whole words.
const NODS: [&str; 40] = [
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
    "y",
    "k",
    "do",
    "go",
    "let",
    "please",
];
/// Words that say no.
const REFUSALS: [&str; 17] = [
    "no", "nope", "nah", "not", "never", "dont", "cannot", "stop", "wait", "hold", "cancel", "reject",
    "refuse", "nein", "non", "neither", "against",
];
/// Words behind `no` with which it says yes: `no problem`.
const HARMLESS: [&str; 10] = [
    "problem",
    "problems",
    "objection",
    "objections",
    "worries",
    "issue",
    "issues",
    "concern",
    "concerns",
    "doubt",
];
/// Words of a short answer that takes one of the things that were offered.
const CHOICES: [&str; 8] = ["both", "all", "first", "second", "third", "option", "latter", "former"];
/// Words at the start of a text that say yes or no, and words of an answer that may be a choice.
const START_WORDS: usize = 12;
const CHOICE_WORDS: usize = 6;
/// A longer refusal has other things to say too.
const REFUSAL_BYTES: usize = 200;

/// The user's reply to the text before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assent {
    /// A yes.
    Yes,
    /// A no.
    No,
    /// Neither is clear.
    Unclear,
}

impl Assent {
    /// Reads the first words of a text; the first of them that says yes or no counts.
    pub(crate) fn parse(text: &str) -> Self {
        if !text.trim().is_empty() && is_acknowledgement(text) {
            return Self::Yes;
        }
        let all: Vec<String> = spoken_words(text).take(START_WORDS).collect();
        for (at, word) in all.iter().enumerate() {
            let next = all.get(at + 1).map_or("", String::as_str);
            let before = at.checked_sub(1).map_or("", |at| all[at].as_str());
            let is_harmless =
                (word == "no" && HARMLESS.contains(&next)) || (word == "not" && before == "why");
            if is_harmless {
                return Self::Yes;
            }
            if is_refusal(word) || (is_nod(word) && is_refusal(next)) {
                return Self::No;
            }
            if is_nod(word) {
                return Self::Yes;
            }
        }
        let is_short = !all.is_empty() && all.len() <= CHOICE_WORDS && !text.contains('?');
        if is_short && all.iter().any(|word| may_choose(word)) { Self::Yes } else { Self::Unclear }
    }
}

/// Reports whether a word may accept an offer; a word in another script may.
fn may_choose(word: &str) -> bool {
    CHOICES.contains(&word)
        || word.chars().count() == 1
        || word.bytes().all(|byte| byte.is_ascii_digit())
        || (!word.is_ascii() && constraints(word).is_empty())
}

fn is_nod(word: &str) -> bool {
    NODS.iter().any(|nod| if nod.len() < 5 { word == *nod } else { word.starts_with(nod) })
}

fn is_refusal(word: &str) -> bool {
    REFUSALS.contains(&word) || word.ends_with("n't")
}

/// Visits the words of a text in small letters; `don't` is one.
fn spoken_words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
    words.filter(|word| !word.is_empty()).map(|word| word.to_lowercase().replace('’', "'"))
}

/// Returns a text without the clauses that forbid or refuse something.
fn allowed(text: &str, assent: Assent) -> Cow<'_, str> {
    if assent == Assent::No && text.len() < REFUSAL_BYTES {
        return Cow::Owned(without_refusals(text));
    }
    let mut left = Cow::Borrowed(text);
    for found in constraints(text).iter().filter(|it| matches!(it.kind, Kind::Forbids | Kind::Corrects)) {
        left = Cow::Owned(left.replacen(found.text, &without_refusals(found.text), 1));
    }
    left
}

fn without_refusals(text: &str) -> String {
    let is_kept = |clause: &&str| !spoken_words(clause).any(|word| is_refusal(&word));
    let clauses = text.split([',', ';', ':', '.', '!', '\n']).flat_map(|clause| clause.split(" but "));
    clauses.filter(is_kept).collect::<Vec<_>>().join(" ")
}

/// One text of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Words {
    /// True if it says yes to something.
    pub(crate) nods: bool,
    stems: Vec<u32>,
}

/// The user's words, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Utterances {
    texts: Vec<Words>,
    /// The agent's last words.
    before: Vec<u32>,
    is_cut: bool,
}

impl Utterances {
    /// Notes what the agent says, which the user may answer.
    pub(crate) fn agent(&mut self, text: &str) {
        self.before = words(wb_message::text::tail(text, END_BYTES)).take(MOST_WORDS).collect();
    }

    /// Notes what the user says; a yes is one to what the agent said before.
    pub(crate) fn user(&mut self, text: &str, assent: Assent) {
        let allowed = allowed(text, assent);
        let own = words(&allowed).take(MOST_WORDS);
        let nods = assent == Assent::Yes;
        let before = if nods { self.before.as_slice() } else { &[] };
        let mut stems: Vec<u32> = own.chain(before.iter().copied()).collect();
        stems.sort_unstable();
        stems.dedup();
        stems.shrink_to_fit();
        while self.texts.len() >= MOST_SAID {
            self.texts.remove(0);
            self.is_cut = true;
        }
        self.texts.push(Words { nods, stems });
    }

    /// Reports whether texts of the user were dropped.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Reports whether the user said nothing that agrees to those words.
    pub(crate) fn is_unheard(&self, about: &str) -> bool {
        let wanted: Vec<u32> = words(about).collect();
        let fits = |said: &Words| {
            let n = wanted.iter().filter(|word| said.stems.contains(word)).count();
            if said.nods { n * 2 >= wanted.len() } else { !wanted.is_empty() && n * 3 >= wanted.len() * 2 }
        };
        !self.texts.iter().any(fits)
    }

    /// Reports whether the user never said a word, nor agreed to a text with it.
    pub(crate) fn is_unsaid(&self, word: &str) -> bool {
        words(word).all(|stem| !self.texts.iter().any(|said| said.stems.contains(&stem)))
    }
}

/// Visits the words that say what a text is about, each by the beginning that its forms share.
pub(crate) fn words(text: &str) -> impl Iterator<Item = u32> {
    let all = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= 3);
    all.filter_map(|word| if word.is_ascii() { ascii_stem(word) } else { stem(&word.to_lowercase()) })
}

/// Returns the stem of a word in ASCII letters, nothing where it says nothing.
fn ascii_stem(word: &str) -> Option<u32> {
    let mut room = [0; EMPTY_BYTES + 1];
    match room.get_mut(..word.len()) {
        Some(small) => {
            small.copy_from_slice(word.as_bytes());
            small.make_ascii_lowercase();
            stem(std::str::from_utf8(small).ok()?)
        }
        // Only its beginning counts, and it is too long to say nothing.
        None => ascii_stem(&word[..=EMPTY_BYTES]),
    }
}

/// Returns the stem of a word in small letters, nothing where it says nothing.
fn stem(word: &str) -> Option<u32> {
    if is_empty(word) || word.chars().nth(2).is_none() {
        return None;
    }
    let end = word.char_indices().nth(STEM_CHARS).map_or(word.len(), |(at, _)| at);
    let bytes = id_key(&word[..end]).to_le_bytes();
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lets the agent ask and the user answer, and reports whether the user agreed.
    fn is_heard(asked: &str, answered: &str, about: &str) -> bool {
        let mut said = Utterances::default();
        said.user("Please fix the parser.", Assent::parse("Please fix the parser."));
        said.agent(asked);
        said.user(answered, Assent::parse(answered));
        !said.is_unheard(about)
    }

    #[test]
    fn a_yes_is_to_what_the_agent_said_before() {
        for (answered, expected) in [
            ("yes", true),
            ("No problem, go ahead", true),
            ("Sure, but never touch main.", true),
            ("Hmm, I think that's fine.", true),
            ("the second", true),
            ("why not", true),
            ("好的", true),
            ("No!", false),
            ("No, do not.", false),
            ("Please don't", false),
            ("I don't think that's good.", false),
            ("Why?", false),
        ] {
            let asked = "Shall I remove the dead code in the importer?";
            assert_eq!(is_heard(asked, answered, "removing the dead importer code"), expected, "{answered}");
            assert!(!is_heard(asked, answered, "dropping the production database tables"), "{answered}");
        }
    }

    #[test]
    fn clauses_that_forbid_are_not_agreed_to_and_others_are() {
        for (said, about, expected) in [
            ("Never drop the production tables.", "dropping the production tables", false),
            ("No, keep the staging tables.", "keeping the staging tables", true),
            (
                "Drop the staging tables, but never the production database.",
                "dropping the staging tables",
                true,
            ),
            ("Drop the staging tables, but never the production database.", "production database", false),
            ("Drop the production tables.", "dropping the production tables", true),
        ] {
            assert_eq!(is_heard("", said, about), expected, "{said}: {about}");
        }
    }

    #[test]
    fn words_without_meaning_are_dropped_in_any_case() {
        assert!(EMPTY_NUMBERS.is_sorted() && EMPTY.iter().all(|word| word.len() <= EMPTY_BYTES));
        assert!(EMPTY.iter().all(|word| is_empty(word)));
        assert_eq!(words("THROUGH the Further, a to").count(), 0);
        assert_eq!(words("throughout importers Importing ÜBER über").count(), 5);
        let stems: Vec<u32> = words("IMPORTERS importing ÜBERALL überaus").collect();
        assert!(stems[0] == stems[1] && stems[2] == stems[3] && stems[0] != stems[2]);
    }

    #[test]
    fn more_texts_than_may_be_kept_are_read_and_shortened() {
        let words = Words { nods: false, stems: vec![1] };
        let mut said = Utterances { texts: vec![words; MOST_SAID + 3], ..Utterances::default() };
        said.user("Go on.", Assent::Unclear);
        assert!(said.texts.len() == MOST_SAID && said.is_cut());
    }
}
