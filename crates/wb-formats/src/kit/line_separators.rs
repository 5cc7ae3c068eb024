//! The line separators of Unicode, which JSON allows in texts and some agents split lines at.

use memchr::memmem;

/// U+2028 and U+2029 without their last byte.
const START: &[u8] = b"\xE2\x80";

/// Returns whether bytes have a raw line separator.
pub(crate) fn has_separator(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, START).any(|at| matches!(bytes.get(at + 2), Some(0xA8 | 0xA9)))
}

/// Replaces raw line separators by their escapes.
pub(crate) fn without_separators(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    text.replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_become_escapes() {
        let line = "{\"a\":\"1\u{2028}2\u{2029}3 \u{201C}\"}";
        assert!(has_separator(line.as_bytes()));
        let plain = without_separators(line.as_bytes());
        assert_eq!(plain, "{\"a\":\"1\\u20282\\u20293 \u{201C}\"}".as_bytes());
        assert!(!has_separator(&plain) && !has_separator(b"\xE2\x80"));
    }
}
