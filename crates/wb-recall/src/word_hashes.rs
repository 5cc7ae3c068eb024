//! Words as hashes: of letters and digits, lower case, without a plural's `s`; compounds such as
//! `loadConfig` and `load_config` also in parts; scripts without blanks in pairs of characters.

/// The bits of a word's hash.
pub(crate) const HASH_BITS: u32 = 26;
/// The bytes of a word that count.
const MOST_BYTES: usize = 64;
/// The bytes from which on a last `s` is taken for a plural's.
const LEAST_PLURAL: usize = 4;

/// The part of a byte in a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Other,
    Plain,
    Capital,
    Underscore,
    NotAscii,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::NotAscii; 256];
    let mut byte = 0;
    while byte < 128_u8 {
        classes[byte as usize] = match byte {
            b'_' => Class::Underscore,
            _ if byte.is_ascii_uppercase() => Class::Capital,
            _ if byte.is_ascii_alphanumeric() => Class::Plain,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

/// Calls a function with the hash of each word of a text.
pub(crate) fn each_word(text: &str, mut found: impl FnMut(u32)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        let (mut is_compound, mut before, mut now) = (false, Class::Other, class(bytes[at]));
        while matches!(now, Class::Plain | Class::Capital | Class::Underscore) {
            is_compound |= now == Class::Underscore || now == Class::Capital && before == Class::Plain;
            at += 1;
            before = now;
            now = bytes.get(at).map_or(Class::Other, |byte| class(*byte));
        }
        match &bytes[start..at] {
            _ if now == Class::NotAscii => at = start + other_words(&text[start..], &mut found),
            [] => at += 1,
            word if is_compound => compound(word, &mut found),
            word => found(hash(&word[..word.len().min(MOST_BYTES)])),
        }
    }
}

/// Returns the hashes of the words of a text, each once.
pub(crate) fn words_of(text: &str) -> Vec<u32> {
    let mut words = Vec::new();
    each_word(text, |word| {
        if !words.contains(&word) {
            words.push(word);
        }
    });
    words
}

/// Reads letters, digits and underscores: the word as a whole, and its parts if it has several.
fn compound(word: &[u8], found: &mut impl FnMut(u32)) {
    let mut whole = Vec::with_capacity(word.len().min(MOST_BYTES));
    let mut n_parts = 0;
    for part in word.split(|byte| *byte == b'_').flat_map(humps) {
        n_parts += 1;
        if part.len() > 1 && part.len() < word.len() {
            found(hash(&part[..part.len().min(MOST_BYTES)]));
        }
        whole.extend_from_slice(&part[..part.len().min(MOST_BYTES - whole.len())]);
    }
    if n_parts > 0 {
        found(hash(&whole));
    }
}

/// Splits `loadConfig` before each capital that follows a small letter.
fn humps(word: &[u8]) -> impl Iterator<Item = &[u8]> {
    word.chunk_by(|one, next| one.is_ascii_uppercase() || !next.is_ascii_uppercase())
}

/// Reads the words at the start of a text up to a blank or a sign, of any script; returns the bytes
/// that were read.
fn other_words(text: &str, found: &mut impl FnMut(u32)) -> usize {
    let (mut word, mut before) = (String::new(), None);
    let mut end = text.len();
    for (at, c) in text.char_indices() {
        if is_unspaced(c) {
            end_word(&mut word, found);
            if let Some(before) = before {
                found(hash(String::from_iter([before, c]).as_bytes()));
            }
            before = Some(c);
        } else if c.is_alphanumeric() || c == '_' {
            before = None;
            if word.len() < MOST_BYTES {
                word.extend(c.to_lowercase());
            }
        } else {
            end = at + c.len_utf8();
            break;
        }
    }
    end_word(&mut word, found);
    end
}

fn end_word(word: &mut String, found: &mut impl FnMut(u32)) {
    if !word.is_empty() {
        found(hash(word.as_bytes()));
        word.clear();
    }
}

/// Returns whether words of the character's script follow each other without blanks.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x0E00..=0x0E7F | 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

/// Hashes a word; the upper bits depend on all bytes. The case of letters does not count.
fn hash(word: &[u8]) -> u32 {
    /// The bit that distinguishes small letters from capitals, which digits have too.
    const SMALL: u64 = 0x2020_2020_2020_2020;
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let is_plural = word.len() >= LEAST_PLURAL
        && word.last().is_some_and(|last| last | 0x20 == b's')
        && word[word.len() - 2] | 0x20 != b's';
    let word = &word[..word.len() - usize::from(is_plural)];
    let (chunks, rest) = word.as_chunks::<8>();
    let last = rest.iter().rev().fold(0, |last, byte| last << 8 | u64::from(*byte));
    let mut state = word.len() as u64;
    for chunk in chunks.iter().map(|chunk| u64::from_le_bytes(*chunk)).chain([last]) {
        state = (state ^ (chunk | SMALL)).wrapping_mul(FACTOR);
        state ^= state >> 32;
    }
    (state.wrapping_mul(FACTOR) >> (u64::BITS - HASH_BITS)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_equal() {
        let of = words_of;
        assert_eq!(of("Tests"), of("test"));
        assert_ne!(of("class"), of("clas"));
        assert_eq!(of("load_config").last(), of("loadConfig").last());
        for part in ["load", "config", "loadconfig", "LoadConfigs", "_load_"] {
            assert!(of("loadConfig").contains(of(part).last().unwrap()), "{part}");
        }
        assert_eq!(of("ÄRGER"), of("ärger"));
        assert_eq!(of("naïve approach").len(), 2);
        assert!(of("__ _ - \u{2028}").is_empty());
    }

    #[test]
    fn long_words_differ_in_any_byte_that_counts() {
        let word = "a1b2c3d4e5f6a7b8c9d0";
        for at in 0..word.len() {
            let other = [&word[..at], "x", &word[at + 1..]].concat();
            assert_ne!(words_of(word), words_of(&other), "{at}");
        }
    }

    #[test]
    fn scripts_without_blanks_are_read_in_pairs() {
        let whole = words_of("修改数据库配置");
        assert!(words_of("数据库").iter().all(|pair| whole.contains(pair)));
        assert!(!words_of("据数").iter().any(|pair| whole.contains(pair)));
        assert_eq!(words_of("用port端口").len(), 2);
    }
}
