//! Finds the names in a text: paths, files, identifiers of code, addresses and hashes.
//!
//! Texts are read by bytes. What a name is, is told by its form alone, so that some words are taken for one.

use std::ops::Range;

/// The endings of files that sessions of agents name most.
const ENDINGS: [&str; 26] = [
    "rs", "toml", "lock", "md", "txt", "json", "jsonl", "yml", "yaml", "py", "ts", "tsx", "js", "jsx", "mjs",
    "go", "sh", "css", "html", "sql", "c", "h", "cpp", "java", "rb", "snap",
];

/// Shorter ones say too little to be worth a line.
const LEAST_BYTES: usize = 5;
/// Longer ones are data.
const MOST_BYTES: usize = 200;

/// Visits where the names of a text stand, in order; one that stands in it twice comes twice.
pub(crate) fn each_name(text: &str, mut found: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(start) = (at..bytes.len()).find(|at| CLASSES[usize::from(bytes[*at])] & NAME != 0) {
        let (end, signs) = word_end(bytes, start);
        at = end;
        if is_scheme(&bytes[start..end]) && bytes[end..].starts_with(b"://") {
            at += bytes[end..].iter().take_while(|byte| CLASSES[usize::from(**byte)] & ADDRESS != 0).count();
            name_in(text, start..at, &mut found);
        } else if signs & TELLING != 0 && end - start >= LEAST_BYTES {
            parts(text, start..end, &mut found);
        }
    }
}

/// Returns the names of a text.
pub(crate) fn names(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    each_name(text, |at| out.push(&text[at]));
    out
}

/// Returns where a run of bytes that names are made of ends, and what stands inside of it.
fn word_end(bytes: &[u8], start: usize) -> (usize, u8) {
    let (mut signs, mut before) = (0, 0);
    for (at, byte) in bytes.iter().enumerate().skip(start) {
        let class = CLASSES[usize::from(*byte)];
        if class & NAME == 0 {
            return (at, signs);
        }
        // A dot at the end of a word and a capital at its start tell nothing.
        signs |= (class & (SLASH | UNDERSCORE | DIGIT)) | (before & DOT) | (class & UPPER & inner(before));
        before = class;
    }
    (bytes.len(), signs)
}

/// Returns all bits behind a byte of a name, none at its start.
fn inner(before: u8) -> u8 {
    if before == 0 { 0 } else { u8::MAX }
}

fn is_scheme(word: &[u8]) -> bool {
    matches!(word, b"http" | b"https")
}

/// Visits a path whole, and of anything else the words.
fn parts(text: &str, at: Range<usize>, found: &mut impl FnMut(Range<usize>)) {
    let word = &text[at.clone()];
    if word.contains('/') || has_file_ending(word) {
        return name_in(text, at, found);
    }
    let mut start = at.start;
    for part in word.split(['.', '-', '@']) {
        name_in(text, start..start + part.len(), found);
        start += part.len() + 1;
    }
}

fn name_in(text: &str, at: Range<usize>, found: &mut impl FnMut(Range<usize>)) {
    const BEFORE: &[u8] = b".-@";
    const AFTER: &[u8] = b".-@/:?=&";
    let bytes = text.as_bytes();
    let (mut start, mut end) = (at.start, at.end);
    while bytes[start..end].starts_with(b"./") {
        start += 2;
    }
    while start < end && BEFORE.contains(&bytes[start]) {
        start += 1;
    }
    while start < end && AFTER.contains(&bytes[end - 1]) {
        end -= 1;
    }
    if (LEAST_BYTES..=MOST_BYTES).contains(&(end - start)) && is_name(&text[start..end]) {
        found(start..end);
    }
}

fn is_name(word: &str) -> bool {
    let bytes = word.as_bytes();
    let first = bytes.iter().take_while(|byte| **byte == b'/').count();
    bytes[first..].contains(&b'/')
        || has_file_ending(word)
        || has_inner_underscore(bytes)
        || has_inner_capital(bytes)
        || is_hash(bytes)
}

/// Tells of `main.rs`.
fn has_file_ending(word: &str) -> bool {
    let ending = word.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Tells of `snake_case`.
fn has_inner_underscore(bytes: &[u8]) -> bool {
    bytes.iter().position(|byte| *byte == b'_').is_some_and(|at| at > 0 && at + 3 < bytes.len())
}

/// Tells of `camelCase` and `PascalCase`.
fn has_inner_capital(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

fn is_hash(bytes: &[u8]) -> bool {
    (7..=40).contains(&bytes.len())
        && bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().any(u8::is_ascii_lowercase)
}

/// Letters, digits and what joins them.
const NAME: u8 = 1;
/// What an address may hold after its scheme.
const ADDRESS: u8 = 2;
const SLASH: u8 = 4;
const UNDERSCORE: u8 = 8;
const DOT: u8 = 16;
const UPPER: u8 = 32;
const DIGIT: u8 = 64;
/// What makes a name of a word.
const TELLING: u8 = SLASH | UNDERSCORE | DOT | UPPER | DIGIT;

/// The classes of each byte; those of characters beyond ASCII are in none.
const CLASSES: [u8; 256] = classes();

const fn classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = match byte {
            b'/' => NAME | ADDRESS | SLASH,
            b'_' => NAME | ADDRESS | UNDERSCORE,
            b'.' => NAME | ADDRESS | DOT,
            b'A'..=b'Z' => NAME | ADDRESS | UPPER,
            b'0'..=b'9' => NAME | ADDRESS | DIGIT,
            b'a'..=b'z' | b'-' | b'@' => NAME | ADDRESS,
            b':' | b'?' | b'=' | b'&' | b'%' | b'#' | b'~' | b'+' => ADDRESS,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_their_form() {
        for (text, expected) in [
            ("see src/cart.rs:12, please", &["src/cart.rs"][..]),
            ("in /etc/hosts and ./src/b.", &["/etc/hosts", "src/b"]),
            ("Cargo.toml, main.py; not e.g. this", &["Cargo.toml", "main.py"]),
            ("parseCart(TotalInCents) some_name x_y", &["parseCart", "TotalInCents", "some_name"]),
            ("https://example.org/a?b=1, then", &["https://example.org/a?b=1"]),
            ("fixed in 3f9c2ab and deadbeef", &["3f9c2ab"]),
            ("words, Words WORDS 12345678", &[]),
            ("é/ü日本 a", &[]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }
}
