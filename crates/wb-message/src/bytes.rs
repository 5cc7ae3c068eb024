//! Fast tests of bytes: eight at once in one number, or only the first or last of a text.

/// The number of bytes in a [`Step`].
pub const STEP: usize = 8;

/// The highest bit of each byte.
const HIGH: u64 = u64::from_ne_bytes([0x80; STEP]);

/// Eight bytes.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The bytes without their highest bits.
    low: u64,
    /// The highest bit of each that is ASCII.
    ascii: u64,
}

impl Step {
    /// Takes eight bytes.
    pub fn new(bytes: [u8; STEP]) -> Self {
        let all = u64::from_le_bytes(bytes);
        Self { low: all & !HIGH, ascii: !all & HIGH }
    }

    /// Returns the same with capitals as small letters; some other signs become others, none of
    /// them a letter.
    #[must_use]
    pub fn lower(self) -> Self {
        Self { low: self.low | u64::from_ne_bytes([0x20; STEP]), ..self }
    }

    /// Marks the bytes of a range of ASCII, each by its highest bit.
    pub fn is_in(self, first: u8, last: u8) -> u64 {
        let at_least = |byte: u8| self.low + u64::from_ne_bytes([0x80 - byte; STEP]);
        at_least(first) & !at_least(last + 1) & self.ascii
    }

    /// Returns how many bytes at the start are letters.
    pub fn n_letters(self) -> usize {
        first(self.lower().is_in(b'a', b'z') ^ HIGH).unwrap_or(STEP)
    }
}

/// Returns the place of the first byte that is marked.
pub fn first(marks: u64) -> Option<usize> {
    (marks != 0).then_some(marks.trailing_zeros() as usize / 8)
}

/// Returns whether a text begins with one of these words. The first bytes decide most cases.
pub fn begins_with(text: &str, words: &[&str]) -> bool {
    let first = text.as_bytes().first();
    words.iter().any(|word| word.as_bytes().first() == first && text.starts_with(word))
}

/// Returns a text without leading blanks; decodes characters only if the first byte may be a blank.
pub fn trim_start(text: &str) -> &str {
    if text.as_bytes().first().is_some_and(u8::is_ascii_graphic) { text } else { text.trim_start() }
}

/// Returns a text without trailing blanks; decodes characters only if the last byte may be a blank.
pub fn trim_end(text: &str) -> &str {
    if text.as_bytes().last().is_some_and(u8::is_ascii_graphic) { text } else { text.trim_end() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_is_tested_alone() {
        for byte in 0..=u8::MAX {
            let mut bytes = *b"a-z\x00\xFFAZ9";
            for at in 0..STEP {
                let old = std::mem::replace(&mut bytes[at], byte);
                let marks = Step::new(bytes).is_in(b'.', b'9');
                for (nth, byte) in bytes.iter().enumerate() {
                    assert_eq!(
                        marks >> (8 * nth + 7) & 1 == 1,
                        (b'.'..=b'9').contains(byte),
                        "{bytes:?} {nth}"
                    );
                }
                let n_letters = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
                assert_eq!(Step::new(bytes).n_letters(), n_letters, "{bytes:?}");
                bytes[at] = old;
            }
        }
        assert_eq!((first(0), first(HIGH), first(0x8000)), (None, Some(0), Some(1)));
    }

    #[test]
    fn trims_and_starts_agree_with_the_standard_library() {
        let words = ["- ", "ü", "–", "a"];
        for text in
            ["", " ", "a", " a ", "\u{a0}a\u{a0}", "ü", " – ü\n", "- ", "-", "\x7F a \x7F", "‘a’\u{3000}"]
        {
            assert_eq!((trim_start(text), trim_end(text)), (text.trim_start(), text.trim_end()), "{text:?}");
            assert_eq!(
                begins_with(text, &words),
                words.iter().any(|word| text.starts_with(word)),
                "{text:?}"
            );
        }
    }
}
