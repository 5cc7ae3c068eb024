//! Splits a sentence into words, signs that end a clause, and opaque parts.

/// A piece of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    /// A word, verbatim.
    Word(&'a str),
    /// A quote, a code span or an address.
    Opaque,
    /// A sign that ends a clause.
    Break,
}

/// The kind of token that a byte begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Nothing,
    Letter,
    Quote,
    Break,
    Dash,
    /// A character of several bytes, which decides by itself.
    Wide,
}

const CLASSES: [Class; 256] = {
    let (mut classes, mut at) = ([Class::Nothing; 256], 0);
    while at < 256 {
        classes[at] = match at.to_le_bytes()[0] {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'\'' | b'_' => Class::Letter,
            b'`' | b'"' => Class::Quote,
            b',' | b';' | b':' | b'(' | b')' | b'!' | b'.' | b'\n' => Class::Break,
            b'-' => Class::Dash,
            0x80.. => Class::Wide,
            _ => Class::Nothing,
        };
        at += 1;
    }
    classes
};

/// Visits the pieces of a sentence in order.
pub(crate) fn pieces<'a>(sentence: &'a str, mut each: impl FnMut(Piece<'a>)) {
    let bytes = sentence.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let (piece, n_bytes) = match CLASSES[usize::from(*byte)] {
            Class::Nothing => (None, 1),
            Class::Letter => word(&sentence[at..]),
            Class::Quote => quote(&sentence[at..], char::from(*byte)),
            Class::Break => (Some(Piece::Break), 1),
            Class::Dash => (bytes[at + 1..].starts_with(b" ").then_some(Piece::Break), 1),
            Class::Wide => wide(&sentence[at..]),
        };
        if let Some(piece) = piece {
            each(piece);
        }
        at += n_bytes;
    }
}

/// Returns the piece that a character of several bytes begins, and its length.
fn wide(text: &str) -> (Option<Piece<'_>>, usize) {
    match text.chars().next() {
        Some(open @ ('“' | '„' | '«' | '「')) => quote(text, open),
        Some(c @ ('—' | '–' | '…' | '，')) => (Some(Piece::Break), c.len_utf8()),
        Some(c) if is_letter(c) => word(text),
        c => (None, c.map_or(1, char::len_utf8)),
    }
}

/// Returns the word or address at the start of a text, and its length.
fn word(text: &str) -> (Option<Piece<'_>>, usize) {
    let is_narrow = |byte: &u8| CLASSES[usize::from(*byte)] == Class::Letter;
    let narrow = text.bytes().position(|byte| !is_narrow(&byte)).unwrap_or(text.len());
    let n_bytes = match text.as_bytes().get(narrow) {
        Some(0x80..) => text[narrow..].find(|c| !is_letter(c)).map_or(text.len(), |more| narrow + more),
        _ => narrow,
    };
    let word = &text[..n_bytes];
    if matches!(word, "http" | "https") && text[n_bytes..].starts_with("://") {
        return (Some(Piece::Opaque), text.find(char::is_whitespace).unwrap_or(text.len()));
    }
    (Some(Piece::Word(word)), n_bytes)
}

fn is_letter(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '\'' | '’' | '_')
}

/// Returns the quote at the start of a text, if it ends, and its length.
fn quote(text: &str, open: char) -> (Option<Piece<'_>>, usize) {
    let close = match open {
        '“' => '”',
        '„' => '“',
        '«' => '»',
        '「' => '」',
        open => open,
    };
    let from = open.len_utf8();
    match text[from..].find(close) {
        Some(n_bytes) => (Some(Piece::Opaque), from + n_bytes + close.len_utf8()),
        None => (None, from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_signs_and_quotes_are_distinguished() {
        let mut all = Vec::new();
        pieces("don’t: `a b` - \"c https://a.b, d über", |piece| all.push(piece));
        let words = ["c", "d", "über"].map(Piece::Word);
        assert_eq!(all[..5], [Piece::Word("don’t"), Piece::Break, Piece::Opaque, Piece::Break, words[0]]);
        assert_eq!(all[5..], [Piece::Opaque, words[1], words[2]]);
    }
}
