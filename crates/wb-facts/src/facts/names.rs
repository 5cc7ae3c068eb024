//! Finds the names in a text: paths, files, identifiers of code, addresses and hashes.
//!
//! Texts are read by bytes. Names are recognized by their form alone, so that some words are taken
//! for one.

use std::ops::Range;

use wb_message::bytes::{STEP, Step, first};

/// Shorter ones say too little to be worth a line.
const LEAST_BYTES: usize = 5;
/// Longer ones are data.
const MOST_BYTES: usize = 200;

/// Visits the places of the names in a text, in order and with repetitions.
///
/// Most words are no names: they are skipped up to the next byte that makes its word a name.
pub(crate) fn each_name(text: &str, mut found: impl FnMut(Range<usize>)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(sign) = next_name_byte(bytes, at) {
        let is_part = |byte: &&u8| CLASSES[usize::from(**byte)] & NAME != 0;
        let start = sign - bytes[at..sign].iter().rev().take_while(is_part).count();
        let scheme = scheme_before(bytes, at, start);
        let (end, signs) = word_end(bytes, start);
        at = end;
        if let Some(scheme) = scheme {
            at += bytes[end..].iter().take_while(|byte| CLASSES[usize::from(**byte)] & ADDRESS != 0).count();
            name_in(text, scheme..at, u8::MAX, &mut found);
        } else if signs & NAME_SIGN != 0 && end - start >= LEAST_BYTES {
            parts(text, start..end, signs, &mut found);
        }
    }
}

/// Returns the next byte that makes a name of its word, or may.
fn next_name_byte(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(step) = bytes.get(at..).and_then(<[u8]>::first_chunk) {
        if let Some(n) = first(name_bytes(*step)) {
            return Some(at + n);
        }
        at += step.len();
    }
    let n = bytes.get(at..)?.iter().position(|byte| CLASSES[usize::from(*byte)] & NAME_SIGN != 0)?;
    Some(at + n)
}

/// Marks the bytes that may indicate a name; a dot, a slash and the digits are consecutive.
fn name_bytes(step: [u8; STEP]) -> u64 {
    let step = Step::new(step);
    step.is_in(b'.', b'9') | step.is_in(b'A', b'Z') | step.is_in(b'_', b'_')
}

/// Returns the start of an address's scheme whose slashes begin at `start`; it is a separate word
/// after `from`.
fn scheme_before(bytes: &[u8], from: usize, start: usize) -> Option<usize> {
    let ([b'/', b'/', ..], [word @ .., b':']) = (&bytes[start..], &bytes[from..start]) else {
        return None;
    };
    let n_bytes = word.iter().rev().take_while(|byte| CLASSES[usize::from(**byte)] & NAME != 0).count();
    let at = word.len() - n_bytes;
    is_scheme(&word[at..]).then_some(from + at)
}

/// Returns the names of a text.
pub fn names(text: &str) -> Vec<&str> {
    let mut out = Vec::new();
    each_name(text, |at| out.push(&text[at]));
    out
}

/// Returns the end of a run of name bytes, and the classes of its bytes. A dot at the end of a word
/// and a capital at its start indicate nothing.
fn word_end(bytes: &[u8], start: usize) -> (usize, u8) {
    let mut before = CLASSES[usize::from(bytes[start])];
    let mut signs = before & !(DOT | UPPER);
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        let class = CLASSES[usize::from(*byte)];
        if class & NAME == 0 {
            break;
        }
        signs |= (class & !DOT) | (before & DOT);
        before = class;
        at += 1;
    }
    (at, signs)
}

fn is_scheme(word: &[u8]) -> bool {
    matches!(word, b"http" | b"https")
}

/// Visits a path whole, and of anything else the words.
fn parts(text: &str, at: Range<usize>, signs: u8, found: &mut impl FnMut(Range<usize>)) {
    let word = &text[at.clone()];
    let is_one = signs & (DOT | JOINT) == 0 || signs & SLASH != 0;
    if is_one || (signs & DOT != 0 && has_file_ending(word)) || is_uuid(word.as_bytes()) {
        return name_in(text, at, signs, found);
    }
    let mut start = at.start;
    for part in word.split(['.', '-', '@']) {
        name_in(text, start..start + part.len(), signs, found);
        start += part.len() + 1;
    }
}

/// Visits a name without the signs around it; the classes may include others.
fn name_in(text: &str, at: Range<usize>, signs: u8, found: &mut impl FnMut(Range<usize>)) {
    let is_before = |byte: u8| matches!(byte, b'.' | b'-' | b'@');
    let is_after = |byte: u8| is_before(byte) || matches!(byte, b'/' | b':' | b'?' | b'=' | b'&');
    let bytes = text.as_bytes();
    let (mut start, mut end) = (at.start, at.end);
    while let [b'.', b'/', ..] = bytes[start..end] {
        start += 2;
    }
    // As git shortens a path: what follows is the end of it.
    if let [b'.', b'.', b'.', b'/', ..] = bytes[start..end] {
        start += 4;
    }
    // The first letter after a backslash belongs to a line end or a tab, as in JSON and code.
    if start > 0 && bytes[start - 1] == b'\\' && matches!(bytes[start..end], [b'n' | b't' | b'r', ..]) {
        start += 1;
    }
    while start < end && is_before(bytes[start]) && !leads_path(&bytes[start..end]) {
        start += 1;
    }
    // The folder of the user: `~/notes.md`.
    if start > 0 && start == at.start && bytes[start - 1] == b'~' && bytes[start] == b'/' {
        start -= 1;
    }
    while start < end && is_after(bytes[end - 1]) {
        end -= 1;
    }
    if (LEAST_BYTES..=MOST_BYTES).contains(&(end - start)) && is_name(&text[start..end], signs) {
        found(start..end);
    }
}

/// Reports whether the leading dots belong to the path: `../a` and `.github/a`.
fn leads_path(word: &[u8]) -> bool {
    match word {
        [b'.', b'.', b'/', ..] => true,
        [b'.', next, ..] => next.is_ascii_alphabetic() && word.contains(&b'/'),
        _ => false,
    }
}

fn is_name(word: &str, signs: u8) -> bool {
    let bytes = word.as_bytes();
    let has = |sign: u8| signs & sign != 0;
    (has(SLASH) && bytes.iter().skip_while(|byte| **byte == b'/').any(|byte| *byte == b'/'))
        || (has(DOT) && has_file_ending(word))
        || (has(UNDERSCORE) && has_inner_underscore(bytes))
        || (has(UPPER) && has_inner_capital(bytes))
        || (has(DIGIT) && (is_hash(bytes) || is_uuid(bytes)))
}

/// Reports whether a word ends like a file: `main.rs`.
pub(crate) fn has_file_ending(word: &str) -> bool {
    let ending = word.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(is_ending)
}

/// Knows the endings of files that sessions of agents name most.
#[rustfmt::skip]
fn is_ending(ending: &str) -> bool {
    matches!(
        ending.as_bytes(),
        b"rs" | b"toml" | b"lock" | b"md" | b"txt" | b"json" | b"jsonl" | b"yml" | b"yaml" | b"py" | b"ts" | b"tsx"
            | b"js" | b"jsx" | b"mjs" | b"go" | b"sh" | b"css" | b"html" | b"sql" | b"c" | b"h" | b"cpp" | b"java"
            | b"rb" | b"snap"
    )
}

/// Reports whether a word is in `snake_case`.
pub(crate) fn has_inner_underscore(bytes: &[u8]) -> bool {
    bytes.iter().position(|byte| *byte == b'_').is_some_and(|at| at > 0 && at + 3 < bytes.len())
}

/// Reports whether a word is in `camelCase` or `PascalCase`.
pub(crate) fn has_inner_capital(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(u8::is_ascii_alphabetic)
        && bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
}

/// Reports whether a word is the hash of a commit or a file.
pub(crate) fn is_hash(bytes: &[u8]) -> bool {
    (7..=40).contains(&bytes.len())
        && bytes.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        && bytes.iter().any(u8::is_ascii_digit)
        && bytes.iter().any(u8::is_ascii_lowercase)
}

/// Reports whether a word is the id of a session or a run: `3f9c2ab0-1d2e-4f50-8a61-0c7d9e8f1a2b`.
fn is_uuid(bytes: &[u8]) -> bool {
    let is_part = |(at, byte): (usize, &u8)| match at {
        8 | 13 | 18 | 23 => *byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    bytes.len() == 36 && bytes.iter().enumerate().all(is_part)
}

/// Letters, digits and what joins them.
const NAME: u8 = 1;
/// Allowed in an address after its scheme.
const ADDRESS: u8 = 2;
const SLASH: u8 = 4;
const UNDERSCORE: u8 = 8;
const DOT: u8 = 16;
const UPPER: u8 = 32;
const DIGIT: u8 = 64;
/// Joins words that are names each.
const JOINT: u8 = 128;
/// Makes its word a name.
const NAME_SIGN: u8 = SLASH | UNDERSCORE | DOT | UPPER | DIGIT;

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
            b'a'..=b'z' => NAME | ADDRESS,
            b'-' | b'@' => NAME | ADDRESS | JOINT,
            b':' | b'?' | b'=' | b'&' | b'%' | b'#' | b'~' | b'+' => ADDRESS,
            _ => 0,
        };
        byte += 1;
    }
    classes
}

/// Reports whether a line names the blobs of a diff, which nobody needs again: `index
/// 0761ef5..26db2ba 100644`.
pub(crate) fn is_blob_line(line: &str) -> bool {
    matches!(line.as_bytes(), [b'i', b'n', b'd', b'e', b'x', b' ', ..]) && line.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_indicate_a_name_match_the_classes() {
        for byte in 0..=u8::MAX {
            let is_name_sign = CLASSES[usize::from(byte)] & NAME_SIGN != 0;
            assert_eq!(name_bytes([byte; STEP]) != 0, is_name_sign, "{byte}");
        }
    }

    #[test]
    fn names_are_known_by_their_form() {
        for (text, expected) in [
            ("see src/cart.rs:12, please", &["src/cart.rs"][..]),
            ("in ../core/a.js, .github/workflows/b", &["../core/a.js", ".github/workflows/b"]),
            (r"import\n\tparseCart, .dotFile", &["parseCart", "dotFile"]),
            ("in /etc/hosts and ./src/b.", &["/etc/hosts", "src/b"]),
            ("Cargo.toml, main.py; not e.g. this", &["Cargo.toml", "main.py"]),
            ("parseCart(TotalInCents) some_name x_y", &["parseCart", "TotalInCents", "some_name"]),
            ("https://example.org/a?b=1, then", &["https://example.org/a?b=1"]),
            ("fixed in 3f9c2ab and deadbeef", &["3f9c2ab"]),
            ("http:/x1/y https://a/b,https://c https://", &["/x1/y", "https://a/b", "https://c"]),
            ("xhttps://some_host or http:///srv_a", &["//some_host", "http:///srv_a"]),
            ("in .../features/chat/view.tsx | 3 +", &["features/chat/view.tsx"]),
            ("in ~/.config/shop/a, then ~/bin/x", &["~/.config/shop/a", "~/bin/x"]),
            ("run 3f9c2ab0-1d2e-4f50-8a61-0c7d9e8f1a2b ended", &["3f9c2ab0-1d2e-4f50-8a61-0c7d9e8f1a2b"]),
            ("words, Words WORDS 12345678", &[]),
            ("é/ü日本 a", &[]),
        ] {
            assert_eq!(names(text), expected, "{text}");
        }
    }

    #[test]
    fn the_line_of_a_diff_that_names_blobs_is_known() {
        assert!(is_blob_line("index 0761ef5..26db2ba 100644"));
        assert!(!is_blob_line("index of src/a.rs") && !is_blob_line("let index = 1..2;"));
    }
}
