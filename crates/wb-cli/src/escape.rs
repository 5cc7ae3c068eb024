//! Text of a transcript as a terminal may see it.

use std::borrow::Cow;

/// Returns the text with every character spelled out that could drive a terminal: controls, and what turns the
/// direction of writing or ends a line unseen. Tabs stay.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(drives_terminal) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if drives_terminal(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn drives_terminal(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_drives_a_terminal_is_spelled_out_and_all_else_stays() {
        assert_eq!(escaped("\u{1b}[2J a\tb\r\u{7f}\u{9b}"), "\\u{1b}[2J a\tb\\r\\u{7f}\\u{9b}");
        assert_eq!(escaped("x\u{202e}y\u{2066}z\u{2028}"), "x\\u{202e}y\\u{2066}z\\u{2028}");
        assert!(matches!(escaped("Grüße, 世界 👩\u{200d}💻"), Cow::Borrowed(_)));
    }
}
