//! Numbers the words that patterns name, so that the words of a sentence are compared as numbers.

/// The words that patterns name, and what is known of each.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    /// Words and their ids, each at or behind the place that its hash tells; a power of two of them.
    slots: Vec<Option<(u128, u16)>>,
    /// The traits of each word.
    traits: Vec<u32>,
}

/// A word that no pattern names.
pub(crate) const OTHER: u16 = 0;
/// A sign that ends a clause.
pub(crate) const BREAK: u16 = 1;

/// What is known of a word: it is no sign.
pub(crate) const IS_WORD: u32 = 1;
/// It is a verb that asks for something.
pub(crate) const IS_VERB: u32 = 1 << 1;
/// It ends in `ing`, or in `ed`.
pub(crate) const IS_ING: u32 = 1 << 2;
pub(crate) const IS_ED: u32 = 1 << 3;
/// It joins a clause to the one before, or stands between them and a verb.
pub(crate) const IS_CONJUNCTION: u32 = 1 << 4;
pub(crate) const IS_ADVERB: u32 = 1 << 5;
/// It leads into a sentence.
pub(crate) const IS_OPENING: u32 = 1 << 6;
/// It names who does something, or wishes for something.
pub(crate) const IS_WHO: u32 = 1 << 7;
pub(crate) const IS_WISH: u32 = 1 << 8;
/// It is the first or the second of two words behind which a clause goes on as if it began there; a bit for each pair.
const PAIR_FIRST: u32 = 16;
const PAIR_SECOND: u32 = 24;
const PAIRS: u32 = 0xff;

/// Words of more bytes are not named by patterns.
const WORD_BYTES: usize = 16;

/// Words behind which a clause begins.
const CONJUNCTIONS: &[&str] = &[
    "and", "but", "so", "or", "please", "pls", "plz", "bitte", "aber", "und", "por", "pero", "y", "et",
    "mais", "stp", "svp", "ok", "okay", "btw", "note", "remember", "however",
];
/// Words behind which a clause goes on as if it began there.
const ADVERBS: &[&str] =
    &["also", "then", "just", "now", "again", "simply", "still", "instead", "first", "strictly"];
/// Words that lead into a sentence.
const OPENINGS: &[&str] = &[
    "hmm", "hm", "oh", "ah", "ok", "okay", "well", "wait", "yes", "yeah", "wtf", "hey", "alright", "sooo",
    "btw", "also", "actually", "like", "but", "and", "so", "then",
];
/// Two words behind which a clause goes on as if it began there, the second one first.
const POLITE: &[(&str, &[&str])] = &[
    ("you", &["can", "could", "would", "will", "want", "d"]),
    ("we", &["can", "could"]),
    ("it", &["make"]),
    ("me", &["let"]),
    ("to", &["remember", "sure", "want", "like"]),
];
/// Verbs that ask for something where a clause begins with them.
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
    /// Makes one that knows the words which tell where clauses begin.
    pub(crate) fn new() -> Self {
        let mut all = Self { slots: vec![None; 64], traits: vec![IS_WORD, IS_OPENING] };
        let lists =
            [(VERBS, IS_VERB), (CONJUNCTIONS, IS_CONJUNCTION), (ADVERBS, IS_ADVERB), (OPENINGS, IS_OPENING)];
        for (words, known) in lists.into_iter().chain([(WHO, IS_WHO), (WISHES, IS_WISH)]) {
            all.know(words, known);
        }
        for (pair, (second, firsts)) in (0..).zip(POLITE) {
            all.know(&[second], 1 << (PAIR_SECOND + pair));
            all.know(firsts, 1 << (PAIR_FIRST + pair));
        }
        all
    }

    fn know(&mut self, words: &[&str], known: u32) {
        for word in words {
            let id = self.add(word);
            self.traits[usize::from(id)] |= known;
        }
    }

    /// Returns the ids of the words that ask for something.
    pub(crate) fn verbs(&self) -> impl Iterator<Item = u16> {
        VERBS.iter().map(|verb| self.find(verb).0)
    }

    /// Returns how many ids there are.
    pub(crate) fn len(&self) -> usize {
        self.traits.len()
    }

    /// Returns the id of a word in small letters that a pattern names.
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

    /// Returns where a key is, or where it would be.
    fn slot(&self, key: u128) -> usize {
        let last = self.slots.len() - 1;
        let mut at = hash(key) & last;
        while self.slots[at].is_some_and(|(other, _)| other != key) {
            at = (at + 1) & last;
        }
        at
    }

    /// Returns the id of a word, and what is known of it.
    pub(crate) fn find(&self, word: &str) -> (u16, u32) {
        if word.is_ascii() {
            return self.find_ascii(word.as_bytes());
        }
        // Letters between U+3000 and U+9FFF are neither small nor large, and no pattern has one.
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

/// Returns whether a clause goes on behind two words as if it began there.
pub(crate) fn is_pair(first: u32, second: u32) -> bool {
    (first >> PAIR_FIRST) & (second >> PAIR_SECOND) & PAIRS != 0
}

/// Returns a number for a word, the same for ASCII letters large and small; none for a long one.
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

/// Returns what the ending of a word tells.
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
    fn a_word_is_found_in_large_and_small_letters() {
        let mut words = Vocabulary::new();
        let id = words.add("don't");
        let own = words.add("ändere");
        assert_eq!([words.find("DON'T").0, words.find("don’t").0, words.find("Ändere").0], [id, id, own]);
        assert_eq!(
            [words.find("dont").0, words.find("").0, words.find("a-very-long-word-of-all").0],
            [OTHER; 3]
        );
        assert_eq!(words.add("don't"), id);
    }

    #[test]
    fn what_is_known_of_a_word_is_told() {
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
