//! Ids of the words in patterns, so that the words of a sentence are compared as numbers.

/// The words in patterns, with their ids and traits.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// An open hash table of words and ids; its length is a power of two.
    slots: Vec<Option<(u128, u16)>>,
    /// The traits of each word.
    traits: Vec<u32>,
}

/// The id of all words that are in no pattern.
pub(crate) const OTHER: u16 = 0;
/// The id of a sign that ends a clause.
pub(crate) const BREAK: u16 = 1;

/// A trait of a word: it is not a sign.
pub(crate) const IS_WORD: u32 = 1;
/// A verb that asks for something.
pub(crate) const IS_VERB: u32 = 1 << 1;
/// A word that ends in `ing` or `ed`.
pub(crate) const IS_ING: u32 = 1 << 2;
pub(crate) const IS_ED: u32 = 1 << 3;
/// A word that joins a clause to the one before, or precedes its verb.
pub(crate) const IS_CONJUNCTION: u32 = 1 << 4;
pub(crate) const IS_ADVERB: u32 = 1 << 5;
/// A word that leads into a sentence.
pub(crate) const IS_OPENING: u32 = 1 << 6;
/// A word for who does something, or for a wish.
pub(crate) const IS_WHO: u32 = 1 << 7;
pub(crate) const IS_WISH: u32 = 1 << 8;
/// The first and the second word of the pairs in [`POLITE`], a bit for each pair.
const PAIR_FIRST: u32 = 16;
const PAIR_SECOND: u32 = 24;
const PAIRS: u32 = 0xff;

/// The longest word in a pattern, in bytes.
const WORD_BYTES: usize = 16;

/// Words after which a clause begins.
const CONJUNCTIONS: &[&str] = &[
    "and", "but", "so", "or", "please", "pls", "plz", "bitte", "aber", "und", "por", "pero", "y", "et",
    "mais", "stp", "svp", "ok", "okay", "btw", "note", "remember", "however",
];
/// Words after which a clause continues as if it began there.
const ADVERBS: &[&str] =
    &["also", "then", "just", "now", "again", "simply", "still", "instead", "first", "strictly"];
/// Words that lead into a sentence.
const OPENINGS: &[&str] = &[
    "hmm", "hm", "oh", "ah", "ok", "okay", "well", "wait", "yes", "yeah", "wtf", "hey", "alright", "sooo",
    "btw", "also", "actually", "like", "but", "and", "so", "then",
];
/// Pairs of words after which a clause continues as if it began there, the second word first.
const POLITE: &[(&str, &[&str])] = &[
    ("you", &["can", "could", "would", "will", "want", "d"]),
    ("we", &["can", "could"]),
    ("it", &["make"]),
    ("me", &["let"]),
    ("to", &["remember", "sure", "want", "like"]),
];
/// Verbs that ask for something at the start of a clause.
const VERBS: &[&str] = &[
    "add",
    "answer",
    "apply",
    "ask",
    "build",
    "call",
    "change",
    "check",
    "clean",
    "commit",
    "consider",
    "convert",
    "copy",
    "create",
    "delete",
    "describe",
    "do",
    "edit",
    "explain",
    "extract",
    "find",
    "fix",
    "focus",
    "follow",
    "format",
    "generate",
    "get",
    "give",
    "go",
    "handle",
    "implement",
    "improve",
    "include",
    "install",
    "keep",
    "leave",
    "let",
    "let's",
    "lets",
    "limit",
    "list",
    "look",
    "make",
    "merge",
    "modify",
    "move",
    "open",
    "output",
    "pass",
    "perform",
    "pick",
    "port",
    "print",
    "produce",
    "provide",
    "push",
    "put",
    "read",
    "rebuild",
    "reduce",
    "refactor",
    "remove",
    "rename",
    "replace",
    "reply",
    "report",
    "request",
    "respond",
    "return",
    "review",
    "rewrite",
    "run",
    "save",
    "search",
    "send",
    "set",
    "show",
    "simplify",
    "solve",
    "split",
    "start",
    "store",
    "submit",
    "summarize",
    "support",
    "take",
    "test",
    "touch",
    "translate",
    "try",
    "update",
    "upgrade",
    "use",
    "verify",
    "work",
    "write",
];
const WHO: &[&str] = &["i", "we", "they", "it", "which", "that", "who", "where"];
const WISHES: &[&str] = &["want", "need", "like", "would", "should", "must", "prefer", "can"];

impl Vocabulary {
    /// Builds a vocabulary of the words that mark the start of a clause.
    pub(crate) fn new() -> Self {
        let mut all = Self { slots: vec![None; 64], traits: vec![IS_WORD, IS_OPENING] };
        let lists =
            [(VERBS, IS_VERB), (CONJUNCTIONS, IS_CONJUNCTION), (ADVERBS, IS_ADVERB), (OPENINGS, IS_OPENING)];
        for (words, known) in lists.into_iter().chain([(WHO, IS_WHO), (WISHES, IS_WISH)]) {
            all.add_trait(words, known);
        }
        for (pair, (second, firsts)) in (0..).zip(POLITE) {
            all.add_trait(&[second], 1 << (PAIR_SECOND + pair));
            all.add_trait(firsts, 1 << (PAIR_FIRST + pair));
        }
        all
    }

    fn add_trait(&mut self, words: &[&str], known: u32) {
        for word in words {
            let id = self.add(word);
            self.traits[usize::from(id)] |= known;
        }
    }

    /// Returns the ids of the words that ask for something.
    pub(crate) fn verbs(&self) -> impl Iterator<Item = u16> {
        VERBS.iter().map(|verb| self.find(verb).0)
    }

    /// Returns the number of ids.
    pub(crate) fn len(&self) -> usize {
        self.traits.len()
    }

    /// Adds a word in lower case; returns its id.
    pub(crate) fn add(&mut self, word: &str) -> u16 {
        if word == "," {
            return BREAK;
        }
        debug_assert!(word.len() <= WORD_BYTES, "{word} is too long to be found");
        let Some(key) = key(word.as_bytes()) else { return OTHER };
        let mut at = self.slot(key);
        if let Some((_, id)) = self.slots[at] {
            return id;
        }
        if self.traits.len() * 2 > self.slots.len() {
            self.grow();
            at = self.slot(key);
        }
        let Ok(id) = u16::try_from(self.traits.len()) else { return OTHER };
        self.slots[at] = Some((key, id));
        self.traits.push(IS_WORD | ending(word.as_bytes()));
        id
    }

    fn grow(&mut self) {
        let n_slots = self.slots.len() * 2;
        let old = std::mem::replace(&mut self.slots, vec![None; n_slots]);
        for (key, id) in old.into_iter().flatten() {
            let at = self.slot(key);
            self.slots[at] = Some((key, id));
        }
    }

    /// Returns the index of a key, or of the free slot for it.
    fn slot(&self, key: u128) -> usize {
        let last = self.slots.len() - 1;
        let mut at = hash(key) & last;
        while self.slots[at].is_some_and(|(other, _)| other != key) {
            at = (at + 1) & last;
        }
        at
    }

    /// Returns the id and the traits of a word.
    pub(crate) fn find(&self, word: &str) -> (u16, u32) {
        if word.is_ascii() {
            return self.find_ascii(word.as_bytes());
        }
        // Characters from U+3000 to U+9FFF have no case, and no pattern contains one.
        if word.bytes().all(|byte| matches!(byte, 0x80..=0xBF | 0xE3..=0xE9)) {
            return (OTHER, IS_WORD);
        }
        self.find_ascii(word.replace('’', "'").to_lowercase().as_bytes())
    }

    fn find_ascii(&self, word: &[u8]) -> (u16, u32) {
        let found = key(word).and_then(|key| self.slots[self.slot(key)]);
        match found {
            Some((_, id)) => (id, self.traits[usize::from(id)]),
            None => (OTHER, IS_WORD | ending(word)),
        }
    }
}

/// Returns whether a clause continues after two words as if it began there.
pub(crate) fn is_pair(first: u32, second: u32) -> bool {
    (first >> PAIR_FIRST) & (second >> PAIR_SECOND) & PAIRS != 0
}

/// Returns a number for a word, ignoring ASCII case; `None` for a long one.
fn key(word: &[u8]) -> Option<u128> {
    let mut bytes = [0; WORD_BYTES];
    bytes.get_mut(..word.len())?.copy_from_slice(word);
    bytes.make_ascii_lowercase();
    Some(u128::from_le_bytes(bytes))
}

fn hash(key: u128) -> usize {
    const ODD: u128 = 0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835;
    let mixed = (key.wrapping_mul(ODD) >> 64) & 0xffff_ffff;
    usize::try_from(mixed ^ (mixed >> 16)).unwrap_or(0)
}

/// Returns the traits that the ending of a word implies.
fn ending(word: &[u8]) -> u32 {
    let ends_with =
        |end: &str| word.len() > 4 && word[word.len() - end.len()..].eq_ignore_ascii_case(end.as_bytes());
    match word.last() {
        Some(b'g' | b'G') if ends_with("ing") => IS_ING,
        Some(b'd' | b'D') if ends_with("ed") => IS_ED,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_ignoring_case() {
        let mut words = Vocabulary::new();
        let id = words.add("don't");
        let other = words.add("ändere");
        assert_eq!([words.find("DON'T").0, words.find("don’t").0, words.find("Ändere").0], [id, id, other]);
        assert_eq!(
            [words.find("dont").0, words.find("").0, words.find("a-very-long-word-of-all").0],
            [OTHER; 3]
        );
        assert_eq!(words.add("don't"), id);
    }

    #[test]
    fn a_word_has_its_traits() {
        let words = Vocabulary::new();
        let known = |word: &str| words.find(word).1;
        assert_eq!(known("keep") & IS_VERB, IS_VERB);
        assert_eq!([known("USING") & IS_ING, known("used") & IS_ED, known("king") & IS_ING], [IS_ING, 0, 0]);
        assert_eq!(known("reimplementations-working") & IS_ING, IS_ING);
        assert!(is_pair(known("can"), known("you")) && !is_pair(known("make"), known("you")));
        assert_eq!(known("不要"), IS_WORD);
    }

    #[test]
    fn two_words_never_share_an_id() {
        let mut words = Vocabulary::new();
        let ids: Vec<_> = (0..2_000).map(|nth| words.add(&format!("w{nth}"))).collect();
        assert!((0..2_000).all(|nth| words.find(&format!("w{nth}")).0 == ids[nth]));
    }
}
