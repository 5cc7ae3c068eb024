//! Characters that drive a terminal or turn the direction of writing.

use std::borrow::Cow;

use memchr::memchr;

/// Returns whether a character could drive a terminal, turns the direction of writing, or ends a
/// line unseen. A tab does not.
pub fn is_control(c: char) -> bool {
    let turns =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && c != '\t'
}

/// Returns the text with every control spelled out, as [`is_control`] knows them.
///
/// ```
/// assert_eq!(wb_message::text::escape_controls("\u{1b}[2J a\tb\r"), "\\u{1b}[2J a\tb\\r");
/// ```
pub fn escape_controls(text: &str) -> Cow<'_, str> {
    spelled_out(text, is_control)
}

/// Returns the text as [`escape_controls`] does; line feeds stay.
pub fn escape_controls_in_lines(text: &str) -> Cow<'_, str> {
    spelled_out(text, |c| c != '\n' && is_control(c))
}

/// Returns the text without the sequences that color it in a terminal or clear a line there.
///
/// ```
/// let shown = "\u{1b}[32m\u{1b}[1m2 passed\u{1b}[0m [x]";
/// assert_eq!(wb_message::text::without_styles(shown), "2 passed [x]");
/// ```
pub fn without_styles(text: &str) -> Cow<'_, str> {
    const START: &str = "\u{1b}[";
    if memchr(b'\x1b', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split(START);
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.bytes().position(|byte| (0x40..=0x7e).contains(&byte));
        match end.filter(|end| matches!(part.as_bytes()[*end], b'm' | b'K')) {
            Some(end) => out.push_str(&part[end + 1..]),
            None => out.extend([START, part]),
        }
    }
    Cow::Owned(out)
}

fn spelled_out(text: &str, is_spelled: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_spelled) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_spelled(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}
