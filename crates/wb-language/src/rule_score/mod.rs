//! The score by which a sentence is a rule, from weights that labelled texts gave.
//!
//! `weights.txt` holds a weight for each trait of a sentence: a word, two in a row, a part of a
//! word in Chinese and Japanese, a meaning or two, and the place of the sentence. Its `training`
//! writes it.

mod concepts;
#[cfg(test)]
mod training;
mod weights;

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::LazyLock;

use self::concepts::{CONCEPTS, Concept, N_CONCEPTS};
use self::weights::weight;
use crate::UTTERANCE_BYTES;
use crate::constraint_rules::Kind;
use crate::tokens::{Piece, pieces};

/// A trait of a sentence, as the hash of its name.
pub(crate) type Trait = u64;

/// A sentence and its surroundings.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a trait of its own")]
pub(crate) struct Setting<'a> {
    pub(crate) sentence: &'a str,
    /// The effect that its patterns give.
    pub(crate) kind: Option<Kind>,
    /// The index of its paragraph or list item.
    pub(crate) block: usize,
    pub(crate) is_item: bool,
    /// Belongs to a list of rules.
    pub(crate) is_listed: bool,
    /// Belongs to a quote that the text adopts.
    pub(crate) is_quoted: bool,
    /// The sentence before introduces it.
    pub(crate) is_introduced: bool,
}

/// The maximum characters of a part of a word in a language without blanks.
const PART_CHARS: usize = 3;
/// The maximum characters of a word of a concept in such a language.
const CONCEPT_CHARS: usize = 6;

/// Precedes the first word of a sentence.
const START: &str = "^";

/// A hash of the bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fnv(u64);

impl Fnv {
    const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    const fn push(self, byte: u8) -> Self {
        Self((self.0 ^ byte as u64).wrapping_mul(0x0100_0000_01b3))
    }

    fn word(text: &str) -> Self {
        text.bytes().fold(Self::EMPTY, Self::push)
    }
}

/// A hasher of numbers that are hashes.
#[derive(Default)]
struct Hashed(u64);

impl std::hash::Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(Fnv(self.0), |hash, byte| hash.push(*byte)).0;
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash ^ (hash >> 32);
    }
}

type Map<T> = HashMap<u64, T, BuildHasherDefault<Hashed>>;

/// The concepts of words, of beginnings of words and of parts of sentences, a bit for each.
#[derive(Default)]
struct Lexicon {
    words: Map<u64>,
    starts: Map<u64>,
    parts: Map<u64>,
}

static LEXICON: LazyLock<Lexicon> = LazyLock::new(Lexicon::new);

impl Lexicon {
    fn new() -> Self {
        let mut all = Self::default();
        for (nth, Concept(_, languages)) in CONCEPTS.iter().enumerate() {
            for (language, words) in languages.iter().enumerate() {
                for word in words.split(' ') {
                    let start = word.strip_suffix('*');
                    let map = match start {
                        _ if language > 3 => &mut all.parts,
                        Some(_) => &mut all.starts,
                        None => &mut all.words,
                    };
                    *map.entry(Fnv::word(start.unwrap_or(word)).0).or_default() |= 1 << nth;
                }
            }
        }
        all
    }

    /// Returns the hash and the concepts of a word in lower case.
    fn word(&self, bytes: impl Iterator<Item = u8>) -> (u64, u64) {
        let (mut hash, mut concepts) = (Fnv::EMPTY, 0);
        for (n_bytes, byte) in bytes.enumerate() {
            hash = hash.push(byte);
            if n_bytes > 0 {
                concepts |= self.starts.get(&hash.0).unwrap_or(&0);
            }
        }
        (hash.0, concepts | self.words.get(&hash.0).unwrap_or(&0))
    }
}

const fn pair(one: u64, two: u64) -> Trait {
    one.rotate_left(21).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ two
}

/// Calls a function with each trait of a sentence of a text, and with its name if names are wanted.
pub(crate) fn visit(all: &[Setting<'_>], nth: usize, mut each: impl FnMut(Trait, &dyn Fn() -> String)) {
    let setting = &all[nth];
    let (mut concepts, mut n_words) = (0, 0);
    let mut before = (Fnv::word(START).0, START);
    pieces(setting.sentence, |piece| match piece {
        Piece::Word(word) if is_narrow(word) => {
            n_words += 1;
            let (hash, found) = if word.is_ascii() {
                LEXICON.word(word.bytes().map(|byte| byte.to_ascii_lowercase()))
            } else {
                LEXICON.word(lower(word).bytes())
            };
            concepts |= found;
            each(hash, &|| lower(word));
            each(pair(before.0, hash), &|| ["+", &lower(before.1), "+", &lower(word)].concat());
            before = (hash, word);
        }
        Piece::Word(word) => {
            n_words += word.chars().count() / 2;
            concepts |= visit_parts(word, &mut each);
        }
        Piece::Opaque => each(Fnv::word("\"").0, &|| "\"".to_owned()),
        Piece::Break => {}
    });
    let names_from = |first: usize| {
        (first..N_CONCEPTS).filter(move |nth| concepts & (1 << nth) != 0).map(|nth| (nth, CONCEPTS[nth].0))
    };
    for (nth, one) in names_from(0) {
        let hash = Fnv::word(one).0;
        each(pair(hash, Fnv::EMPTY.0), &|| ["+", one, "+"].concat());
        for (_, two) in names_from(nth + 1) {
            each(pair(hash, Fnv::word(two).0), &|| ["+", one, "+", two].concat());
        }
    }
    let mut place = |name: &str| each(Fnv::word(name).0, &|| name.to_owned());
    place_traits(all, nth, n_words, &mut place);
}

fn lower(word: &str) -> String {
    word.replace('’', "'").to_lowercase()
}

/// Returns whether a word is in a script whose words have blanks between them.
fn is_narrow(word: &str) -> bool {
    word.is_ascii() || word.chars().all(|c| c < '\u{3000}')
}

/// Calls a function with the parts of words without blanks; returns their concepts.
fn visit_parts(word: &str, each: &mut impl FnMut(Trait, &dyn Fn() -> String)) -> u64 {
    let mut concepts = 0;
    for (start, _) in word.char_indices().filter(|(_, c)| *c >= '\u{3000}') {
        let mut hash = Fnv::EMPTY;
        let chars = word[start..].chars().take_while(|c| *c >= '\u{3000}').take(CONCEPT_CHARS);
        for (n_chars, c) in (1..).zip(chars) {
            let mut bytes = [0; 4];
            hash = c.encode_utf8(&mut bytes).bytes().fold(hash, Fnv::push);
            concepts |= LEXICON.parts.get(&hash.0).unwrap_or(&0);
            if (2..=PART_CHARS).contains(&n_chars) {
                each(hash.0, &|| word[start..].chars().take(n_chars).collect());
            }
        }
    }
    concepts
}

/// Calls a function with the names of what is known of the place and the form of a sentence.
fn place_traits(all: &[Setting<'_>], nth: usize, n_words: usize, each: &mut impl FnMut(&str)) {
    const NTH: [&str; 3] = ["/first", "/second", "/later"];
    const OF: [&str; 4] = ["/of1", "/of2", "/of3", "/of4"];
    const LENGTHS: [&str; 7] = ["/len0", "/len4", "/len8", "/len12", "/len16", "/len20", "/len24"];
    let it = &all[nth];
    each("/any");
    each(NTH[nth.min(2)]);
    each(OF[all.len().clamp(1, 4) - 1]);
    each(LENGTHS[(n_words / 4).min(6)]);
    let known = [
        (nth + 1 == all.len(), "/last"),
        (it.is_question(), "/question"),
        (it.sentence.ends_with([':', '：']), "/colon"),
        (it.is_item, "/item"),
        (it.is_listed, "/listed"),
        (it.is_quoted, "/quoted"),
        (it.is_introduced, "/introduced"),
        (!is_narrow(it.sentence), "/wide"),
    ];
    known.into_iter().filter(|(is_so, _)| *is_so).for_each(|(_, name)| each(name));
    if let Some(kind) = it.kind {
        each("/kind");
        each(kind.name());
    }
    let before = nth.checked_sub(1).map(|before| (&all[before], BEFORE));
    for (other, names) in before.into_iter().chain(all.get(nth + 1).map(|after| (after, AFTER))) {
        each(names[usize::from(other.kind.is_some())]);
        each(names[2 + usize::from(other.block == it.block)]);
        if other.is_question() {
            each(names[4]);
        }
    }
}

/// The names of what is known of the sentence before and after.
const BEFORE: [&str; 5] = ["/before:", "/before:kind", "/before:apart", "/before:near", "/before:question"];
const AFTER: [&str; 5] = ["/after:", "/after:kind", "/after:apart", "/after:near", "/after:question"];

impl Setting<'_> {
    fn is_question(&self) -> bool {
        self.sentence.ends_with(['?', '？'])
    }
}

/// Returns whether a sentence of a text binds beyond the current step.
pub(crate) fn is_lasting(all: &[Setting<'_>], nth: usize) -> bool {
    if all[nth].sentence.len() > UTTERANCE_BYTES {
        return false;
    }
    let mut sum = 0;
    visit(all, nth, |it, _| sum += weight(it));
    sum > 0
}
