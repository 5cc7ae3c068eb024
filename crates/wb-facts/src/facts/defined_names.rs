//! Names that a line of code defines, in the languages that agents meet most.
//!
//! Where a large file was read, the lines that the next step needs again are those at which its functions and types begin.

use crate::facts::lines::number_bytes;
use wb_message::bytes::trim_start;

/// Tells of what stands before the word that defines.
#[rustfmt::skip]
fn leads(word: &str) -> bool {
    matches!(
        word,
        "abstract" | "async" | "declare" | "default" | "export" | "extern" | "final" | "internal" | "override"
            | "private" | "protected" | "pub" | "public" | "readonly" | "static" | "unsafe"
    )
}

/// Tells of what the name follows that is defined.
#[rustfmt::skip]
fn defines(word: &str) -> bool {
    matches!(
        word,
        "class" | "const" | "def" | "enum" | "fn" | "func" | "function" | "get" | "interface" | "set" | "struct"
            | "trait" | "type" | "union"
    )
}

/// Returns the name that a line defines: a function, a method, a type or a constant. A number that a tool put before the
/// line is passed over.
pub(super) fn defined_name(line: &str) -> Option<&str> {
    let line = trim_start(line);
    let code = trim_start(&line[number_bytes(line)..]);
    let (mut word, mut rest) = first_word(code);
    while leads(word) {
        (word, rest) = first_word(behind_brackets(rest));
    }
    if !defines(word) {
        let is_method = matches!(rest.as_bytes(), [b'(', .., b'{']) && !rest.contains("=>");
        return Some(word).filter(|word| is_method && !word.is_empty());
    }
    while defines(word) {
        (word, rest) = first_word(behind_brackets(rest));
    }
    Some(word).filter(|word| !word.is_empty())
}

/// Splits a text behind its first word.
fn first_word(text: &str) -> (&str, &str) {
    let n_bytes = text.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let is_ended = text.as_bytes().get(n_bytes).is_none_or(u8::is_ascii);
    let end = || text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    text.split_at(if is_ended { n_bytes } else { end() })
}

/// Returns what comes behind brackets and blanks: the type that a method is of, or who may see it.
fn behind_brackets(text: &str) -> &str {
    let text = text.trim_start_matches([' ', '\t', '*']);
    let behind = text.strip_prefix('(').and_then(|inside| inside.split_once(')'));
    behind.map_or(text, |(_, behind)| behind.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_behind_the_word_that_defines_is_known() {
        for (line, expected) in [
            ("pub(crate) const fn parse_cart(text: &str) -> Cart {", Some("parse_cart")),
            ("   764→func (env *TestEnv) FileExists(name string) bool {", Some("FileExists")),
            ("12:export default async function* loadCart() {", Some("loadCart")),
            ("def load_cart(self):", Some("load_cart")),
            ("type CartLine struct {", Some("CartLine")),
            ("get isOpen(): boolean {", Some("isOpen")),
            ("größe_neu(n) {", Some("größe_neu")),
            ("def naïve(n): # —", Some("naïve")),
            ("private async loadAll(ids: string[]): Promise<Cart[]> {", Some("loadAll")),
            ("12 fn parse_cart()", None),
            ("MAX_LINES = 3", None),
            ("loadAll(ids, () => {", None),
            ("return loadAll(ids);", None),
            ("if (isOpen) {", None),
            ("fn", None),
            ("", None),
        ] {
            assert_eq!(defined_name(line), expected, "{line}");
        }
    }
}
