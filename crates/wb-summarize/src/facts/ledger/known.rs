//! The words of a session as a set that can only be asked whether it has one.
//!
//! A word takes about two bytes, and about one word in a hundred that never occurred is taken for one that did.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wb_message::pairing::id_key;

/// Bits for each word, and how many of them a word sets.
const BITS: u64 = 14;
const N_SET: u64 = 8;
/// Words of the first layer; each further one has room for half as many more.
const FIRST_WORDS: u32 = 1_024;
/// Bytes that the set may take, in any session and as a part of the text that was read.
const LEAST_BYTES: u64 = 32 << 10;
const PART_OF_READ: u64 = 16;
/// Longer words are data.
const MOST_BYTES: usize = 200;
/// Characters of a hash by which it is known.
const HASH_BYTES: usize = 7;

/// What is said of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// It occurred.
    Word,
    /// It stood below another one in a path.
    Below,
    /// Something was done with a file of that name, as far as can be told.
    Acted,
    /// The user said it after two others.
    Said,
}

/// The words of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Known {
    layers: Vec<Layer>,
    n_read: u64,
    is_full: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Layer {
    left: u32,
    #[serde(serialize_with = "write_bits", deserialize_with = "read_bits")]
    bits: Vec<u64>,
}

impl Layer {
    fn places(&self, key: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let n_bits = (self.bits.len() as u64 * 64).max(1);
        let step = mixed(key ^ 0x9e37_79b9) | 1;
        (0..N_SET).map(move |nth| {
            let bit = key.wrapping_add(step.wrapping_mul(nth)) % n_bits;
            (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
        })
    }

    fn has(&self, key: u64) -> bool {
        self.places(key).all(|(at, bit)| self.bits.get(at).is_some_and(|bits| bits & bit != 0))
    }

    fn set(&mut self, key: u64) {
        for (at, bit) in self.places(key) {
            if let Some(bits) = self.bits.get_mut(at) {
                *bits |= bit;
            }
        }
    }
}

impl Known {
    /// Tells whether words were left out since there were too many.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Returns about how many bytes of memory are taken.
    pub(crate) fn n_bytes(&self) -> usize {
        self.layers.iter().map(|layer| layer.bits.len() * 8).sum()
    }

    /// Reads all words of a text, and the names of paths below each other.
    pub(crate) fn read(&mut self, text: &str) {
        self.n_read += text.len() as u64;
        for (token, is_escaped) in tokens(text) {
            self.token(token);
            if is_escaped && token.starts_with(['n', 't', 'r']) {
                self.token(&token[1..]);
            }
        }
    }

    fn token(&mut self, token: &str) {
        let mut above: Option<&str> = None;
        for part in components(token) {
            self.add(word_key(part));
            if let Some(above) = above {
                self.add(below_key(above, part));
            }
            above = Some(part);
            if part.contains(['.', '-', '@', '+']) {
                part.split(['.', '-', '@', '+'])
                    .filter(|word| word.len() > 1)
                    .for_each(|word| self.word(word));
            } else {
                self.hash(part);
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.add(word_key(word));
        self.hash(word);
    }

    fn hash(&mut self, word: &str) {
        if word.len() > HASH_BYTES && word.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            self.add(word_key(&word[..HASH_BYTES]));
        }
    }

    /// Notes that something may have been done with the files that a text names.
    pub(crate) fn acted(&mut self, text: &str) {
        for (token, _) in tokens(text) {
            if let Some(name) = components(token).last().filter(|name| name.contains('.')) {
                self.add(key(Use::Acted, name));
            }
        }
    }

    /// Notes the user's own words.
    pub(crate) fn said(&mut self, text: &str) {
        threes(text).for_each(|three| self.add(three));
    }

    /// Returns which part of the words were said by the user in that order, nothing where they are too few to tell.
    pub(crate) fn share_said(&self, text: &str) -> Option<f64> {
        let (mut n, mut said) = (0_u32, 0_u32);
        for three in threes(text) {
            n += 1;
            said += u32::from(self.has(three));
        }
        (n > 0).then(|| f64::from(said) / f64::from(n))
    }

    fn add(&mut self, key: u64) {
        if self.is_full || self.has(key) {
            return;
        }
        if self.layers.last().is_none_or(|layer| layer.left == 0) {
            let n_words = |left: u32, _: &Layer| left.saturating_add(left / 2);
            let left = self.layers.iter().fold(FIRST_WORDS, n_words);
            let n_bits = usize::try_from(u64::from(left) * BITS / 64).unwrap_or(1);
            let after = self.n_bytes() + n_bits * 8;
            if after as u64 > LEAST_BYTES.max(self.n_read / PART_OF_READ) {
                self.is_full = true;
                return;
            }
            self.layers.push(Layer { left, bits: vec![0; n_bits] });
        }
        if let Some(layer) = self.layers.last_mut() {
            layer.left -= 1;
            layer.set(key);
        }
    }

    fn has(&self, key: u64) -> bool {
        self.layers.iter().any(|layer| layer.has(key))
    }

    /// Tells whether a word occurred; of a hash its beginning is enough.
    pub(crate) fn has_word(&self, word: &str) -> bool {
        let is_hash = word.len() > HASH_BYTES && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        self.has(word_key(word)) || (is_hash && self.has(word_key(&word[..HASH_BYTES])))
    }

    /// Tells whether something may have been done with a file of that name.
    pub(crate) fn has_acted(&self, name: &str) -> bool {
        self.has(key(Use::Acted, name))
    }

    /// Tells whether a path can be put together from what occurred: each name of it did, and all but one of them stood
    /// below the one before, as where a folder was listed.
    pub(crate) fn has_path(&self, path: &str) -> bool {
        let parts: Vec<&str> = components(path).collect();
        let gaps = parts.windows(2).filter(|pair| !self.has(below_key(pair[0], pair[1]))).count();
        gaps <= 1 && parts.iter().all(|part| self.has(word_key(part)))
    }
}

/// Visits the runs of bytes that names are made of, and whether a backslash stands before.
fn tokens(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-/@+".contains(&byte) || byte >= 0x80;
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = text.as_bytes();
        at += bytes[at..].iter().take_while(|byte| !is_part(**byte)).count();
        let start = at;
        at += bytes[at..].iter().take_while(|byte| is_part(**byte)).count();
        (at > start).then(|| (&text[start..at], start > 0 && bytes[start - 1] == b'\\'))
    })
    .filter(|(token, _)| {
        (2..=MOST_BYTES).contains(&token.len()) && token.bytes().any(|byte| !byte.is_ascii_digit())
    })
}

/// Visits the names in a path, without those that stand for a folder above.
pub(crate) fn components(path: &str) -> impl Iterator<Item = &str> {
    let names = path.split('/').map(|name| name.trim_matches(['-', '+', ',']).trim_end_matches('.'));
    names.filter(|name| name.len() > 1 && *name != "..")
}

fn word_key(word: &str) -> u64 {
    key(Use::Word, word)
}

fn below_key(above: &str, name: &str) -> u64 {
    key(Use::Below, above).rotate_left(23) ^ key(Use::Below, name)
}

/// Words are known whatever their case.
fn key(what: Use, word: &str) -> u64 {
    let is_small = !word.bytes().any(|byte| byte.is_ascii_uppercase());
    let key = if is_small { id_key(word) } else { id_key(&word.to_ascii_lowercase()) };
    mixed(key ^ ((what as u64 + 1) << 56))
}

/// Visits three words that follow each other, as keys; a path that somebody typed says nothing about who speaks.
fn threes(text: &str) -> impl Iterator<Item = u64> {
    let plain = text.split_whitespace().filter(|word| !word.contains('/'));
    let words =
        plain.flat_map(|word| word.split(|c: char| !c.is_alphanumeric())).filter(|word| !word.is_empty());
    let mut last = [0_u64; 2];
    words.enumerate().filter_map(move |(nth, word)| {
        let word = key(Use::Said, word);
        let three = mixed(last[0].rotate_left(17) ^ last[1].rotate_left(5) ^ word);
        last = [last[1], word];
        (nth >= 2).then_some(three)
    })
}

fn mixed(key: u64) -> u64 {
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

fn write_bits<S: Serializer>(bits: &[u64], to: S) -> Result<S::Ok, S::Error> {
    use std::fmt::Write;
    let mut text = String::with_capacity(bits.len() * 16);
    for word in bits {
        // Writing to a string does not fail.
        _ = write!(text, "{word:016x}");
    }
    to.serialize_str(&text)
}

fn read_bits<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u64>, D::Error> {
    let text = String::deserialize(from)?;
    let words = text.as_bytes().chunks(16).map(|word| {
        let word = std::str::from_utf8(word).ok()?;
        u64::from_str_radix(word, 16).ok()
    });
    words.collect::<Option<Vec<u64>>>().ok_or_else(|| serde::de::Error::custom("no hexadecimal digits"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Known {
        let mut known = Known::default();
        known.read(text);
        known
    }

    #[test]
    fn a_path_is_known_by_its_parts_from_any_folder() {
        let known = of("see /repo/web/src/cart.rs:12 and ./docs/a.md\n{\"out\":\"x\\nlib.rs\"}\nother");
        for path in [
            "web/src/cart.rs",
            "/repo/web",
            "cart.rs",
            "docs/a.md",
            "repo/docs/a.md",
            "lib.rs",
            "web/src/lib.rs",
        ] {
            assert!(known.has_path(path), "{path}");
        }
        for path in ["web/src/cart.py", "src/parse.rs", "docs/src/repo/cart.rs"] {
            assert!(!known.has_path(path), "{path}");
        }
    }

    #[test]
    fn a_word_is_known_by_itself_and_inside_of_a_name() {
        let known = of("strategy.TruncateDescription(x) in 3f9c2ab4d5e6f7 git-log");
        assert!(
            known.has_word("truncatedescription") && known.has_word("3f9c2ab") && known.has_word("git-log")
        );
        assert!(!known.has_word("Truncate") && !known.has_word("4f9c2ab"));
    }

    #[test]
    fn little_that_never_occurred_is_taken_for_known_and_the_set_stays_small() {
        let words: Vec<String> = (0..20_000).map(|n| format!("word{n}")).collect();
        let text = words.join(" stands in a line of some length here\n");
        let mut known = of(&text);
        assert!(!known.is_full() && words.iter().all(|word| known.has_word(word)), "{}", known.n_bytes());
        let wrong = (0..10_000).filter(|n| known.has_word(&format!("none{n}"))).count();
        assert!(wrong < 150, "{wrong} of 10000");
        assert!(known.n_bytes() * 10 < text.len(), "{} of {}", known.n_bytes(), text.len());
        (0..200_000).for_each(|n| known.add(mixed(n)));
        assert!(known.is_full() && (known.n_bytes() as u64) <= known.n_read / PART_OF_READ);
    }

    #[test]
    fn what_is_written_can_be_read_back() {
        let known = of("src/a.rs");
        let text = serde_json::to_string(&known).expect("plain data");
        let again: Known = serde_json::from_str(&text).expect("what was written");
        assert!(again.has_path("src/a.rs") && !again.has_path("src/b.rs"));
    }
}
