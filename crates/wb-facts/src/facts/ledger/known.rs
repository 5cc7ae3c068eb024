//! The words of a session as a set that can only be asked whether it has one.
//!
//! A word takes about two bytes, and about one word in a hundred that never occurred is taken for one that did.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wb_message::pairing::id_key;

use super::tokens::{MOST_BYTES, Token, components};

/// Bits for each word, and how many of them a word sets.
const BITS: u64 = 14;
const N_SET: u64 = 8;
/// Words of the first layer; each further one has room for half as many more.
const FIRST_WORDS: u32 = 1_024;
/// Bytes that the set may take, in any session and as a part of the text that was read.
const LEAST_BYTES: u64 = 32 << 10;
const PART_OF_READ: u64 = 16;
/// Words that were read last which are known without a look at the layers.
const MOST_RECENT: u32 = 4_096;
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
#[serde(try_from = "Written")]
pub(crate) struct Known {
    layers: Vec<Layer>,
    n_read: u64,
    is_full: bool,
    #[serde(skip)]
    recent: Recent,
}

/// The words of a session as somebody wrote them down.
#[derive(Deserialize)]
struct Written {
    layers: Vec<Layer>,
    n_read: u64,
    is_full: bool,
}

impl TryFrom<Written> for Known {
    type Error = &'static str;

    fn try_from(Written { layers, n_read, is_full }: Written) -> Result<Self, Self::Error> {
        let last = layers.len().saturating_sub(1);
        let fits = |(nth, layer): (usize, &Layer)| {
            let n_words = n_words(nth);
            layer.bits.len() == n_parts(n_words)
                && (layer.left == 0 || (nth == last && layer.left <= n_words))
        };
        if layers.iter().enumerate().all(fits) {
            Ok(Self { layers, n_read, is_full, recent: Recent::default() })
        } else {
            Err("the set of words is none that was written")
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Layer {
    /// How many words it has room for.
    left: u32,
    #[serde(serialize_with = "write_bits", deserialize_with = "read_bits")]
    bits: Vec<u64>,
}

/// Returns for how many words a layer is made.
fn n_words(nth: usize) -> u32 {
    (0..nth).fold(FIRST_WORDS, |n_words, _| n_words.saturating_add(n_words / 2))
}

/// Returns how many numbers hold the bits of so many words.
fn n_parts(n_words: u32) -> usize {
    usize::try_from(u64::from(n_words) * BITS / 64).unwrap_or(usize::MAX)
}

/// Where the bits of a word stand: so far from each other, in a layer of any size.
#[derive(Clone, Copy, Debug)]
struct Probe {
    key: u64,
    step: u64,
}

impl Probe {
    fn of(key: u64) -> Self {
        Self { key, step: mixed(key ^ 0x9e37_79b9) | 1 }
    }
}

impl Layer {
    fn places(&self, Probe { key, step }: Probe) -> impl Iterator<Item = (usize, u64)> + use<> {
        let n_bits = (self.bits.len() as u64 * 64).max(1);
        (0..N_SET).map(move |nth| {
            let bit = key.wrapping_add(step.wrapping_mul(nth)) % n_bits;
            (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
        })
    }

    fn has(&self, probe: Probe) -> bool {
        self.places(probe).all(|(at, bit)| self.bits.get(at).is_some_and(|bits| bits & bit != 0))
    }

    fn set(&mut self, probe: Probe) {
        for (at, bit) in self.places(probe) {
            if let Some(bits) = self.bits.get_mut(at) {
                *bits |= bit;
            }
        }
    }
}

/// Words that were read not long ago, each in the one place that its key gives it: a text says most of its words again and
/// again. All of them are in the layers.
#[derive(Clone, Debug, Default)]
struct Recent {
    keys: Vec<u64>,
}

impl Recent {
    /// Tells whether a word was met not long ago; from now on it was.
    fn meets(&mut self, key: u64) -> bool {
        let last = self.keys.len().saturating_sub(1);
        let place = usize::try_from(key >> 32).unwrap_or(0) & last;
        self.keys.get_mut(place).is_some_and(|known| std::mem::replace(known, key) == key)
    }

    /// Makes room as for so many words in all.
    fn grow(&mut self, n_words: u32) {
        let n = usize::try_from(n_words.min(MOST_RECENT).next_power_of_two()).unwrap_or(0);
        if n > self.keys.len() {
            self.keys = vec![0; n];
        }
    }
}

impl Known {
    /// Tells whether words were left out since there were too many.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full
    }

    /// Notes that words were not read.
    pub(crate) fn leave_out(&mut self) {
        self.is_full = true;
    }

    /// Returns about how many bytes of memory are taken.
    pub(crate) fn n_bytes(&self) -> usize {
        self.layers.iter().map(|layer| layer.bits.len() * 8).sum()
    }

    /// Reads all words of a text, and the names of paths below each other.
    pub(crate) fn read(&mut self, text: &str) {
        self.n_read = self.n_read.saturating_add(text.len() as u64);
        if self.is_full {
            return;
        }
        for token in Token::all(text) {
            self.token(token);
            if let Some(rest) = token.unescaped() {
                self.token(rest);
            }
        }
    }

    fn token(&mut self, token: Token<'_>) {
        if self.recent.meets(id_key(token.text)) {
            return;
        }
        if token.is_plain() {
            return self.word(token.text);
        }
        let mut above: Option<&str> = None;
        for part in components(token.text) {
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
        if self.is_full {
            return;
        }
        for token in Token::dotted(text) {
            if self.recent.meets(!id_key(token.text)) {
                continue;
            }
            if let Some(name) = components(token.text).last().filter(|name| name.contains('.')) {
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
            let left = n_words(self.layers.len());
            let n_parts = n_parts(left);
            let after = self.n_bytes().saturating_add(n_parts.saturating_mul(8));
            if after as u64 > LEAST_BYTES.max(self.n_read / PART_OF_READ) {
                self.is_full = true;
                return;
            }
            self.recent.grow(left);
            self.layers.push(Layer { left, bits: vec![0; n_parts] });
        }
        if let Some(layer) = self.layers.last_mut() {
            layer.left -= 1;
            layer.set(Probe::of(key));
        }
    }

    fn has(&self, key: u64) -> bool {
        let probe = Probe::of(key);
        self.layers.iter().any(|layer| layer.has(probe))
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

fn word_key(word: &str) -> u64 {
    key(Use::Word, word)
}

fn below_key(above: &str, name: &str) -> u64 {
    key(Use::Below, above).rotate_left(23) ^ key(Use::Below, name)
}

/// Words are known whatever their case.
fn key(what: Use, word: &str) -> u64 {
    let is_small = !word.bytes().any(|byte| byte.is_ascii_uppercase());
    let key = if is_small { id_key(word) } else { small_key(word) };
    mixed(key ^ ((what as u64 + 1) << 56))
}

/// Returns the key of a word in small letters.
fn small_key(word: &str) -> u64 {
    let mut room = [0; MOST_BYTES];
    let small = room.get_mut(..word.len()).and_then(|small| {
        small.copy_from_slice(word.as_bytes());
        small.make_ascii_lowercase();
        std::str::from_utf8(small).ok()
    });
    small.map_or_else(|| id_key(&word.to_ascii_lowercase()), id_key)
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

    #[test]
    fn a_set_that_nobody_wrote_is_refused() {
        let known = serde_json::to_value(of("src/a.rs")).expect("plain data");
        let check = |field: &str, value: serde_json::Value, expected: bool| {
            let mut known = known.clone();
            match field {
                "left" | "bits" => known["layers"][0][field] = value,
                _ => known[field] = value,
            }
            let read: Result<Known, _> = serde_json::from_value(known);
            assert_eq!(read.is_ok(), expected, "{field}");
            read.map(|mut known| known.read("src/b.rs and more")).unwrap_or_default();
        };
        check("left", serde_json::json!(1), true);
        check("left", serde_json::json!(u32::MAX), false);
        check("bits", serde_json::json!(""), false);
        check("layers", serde_json::json!(vec![serde_json::json!({ "left": 0, "bits": "" }); 40]), false);
        check("n_read", serde_json::json!(u64::MAX), true);
    }

    #[test]
    fn a_name_ends_where_another_script_or_a_quote_begins() {
        for text in ["See “src/cart.rs” first.", "请修改src/cart.rs文件", "«src/cart.rs»…", "src/cart.rs를"]
        {
            assert!(of(text).has_path("src/cart.rs"), "{text}");
        }
    }

    #[test]
    fn a_long_path_is_read_and_long_data_is_not() {
        let folder = "folder/".repeat(40);
        assert!(of(&format!("{folder}src/cart.rs")).has_path("src/cart.rs"));
        assert!(!of(&format!("{}/abc", "QUJD/".repeat(50))).has_word("abc"));
    }
}
