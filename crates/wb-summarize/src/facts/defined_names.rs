//! Names that a line of code defines, in the languages that agents meet most.
//!
//! Where a large file was read, the lines that the next step needs again are those at which its functions and types begin.

use crate::facts::lines::number_bytes;

/// What stands before the word that defines.
const LEADS: [&str; 16] = [
    "abstract",
    "async",
    "declare",
    "default",
    "export",
    "extern",
    "final",
    "internal",
    "override",
    "private",
    "protected",
    "pub",
    "public",
    "readonly",
    "static",
    "unsafe",
];
/// What the name follows that is defined.
const DEFINES: [&str; 14] = [
    "class",
    "const",
    "def",
    "enum",
    "fn",
    "func",
    "function",
    "get",
    "interface",
    "set",
    "struct",
    "trait",
    "type",
    "union",
];

/// For each byte, the lengths of the words above that begin with it; a bit for each length.
const LENGTHS: [u16; 256] = {
    let (mut all, mut at) = ([0; 256], 0);
    while at < LEADS.len() + DEFINES.len() {
        let word = if at < LEADS.len() { LEADS[at] } else { DEFINES[at - LEADS.len()] }.as_bytes();
        all[word[0] as usize] |= 1 << word.len();
        at += 1;
    }
    all
};

/// Tells whether a word is one of those above that are given.
fn is_one_of(word: &str, known: &[&str]) -> bool {
    let lengths = word.bytes().next().map_or(0, |first| LENGTHS[usize::from(first)]);
    word.len() < 16 && lengths >> word.len() & 1 == 1 && known.contains(&word)
}

/// Returns the name that a line defines: a function, a method, a type or a constant. A number that a tool put before the
/// line is passed over.
pub(super) fn defined_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let code = line[number_bytes(line)..].trim_start();
    let (mut word, mut rest) = first_word(code);
    while is_one_of(word, &LEADS) {
        (word, rest) = first_word(behind_brackets(rest));
    }
    if !is_one_of(word, &DEFINES) {
        let is_method = rest.starts_with('(') && rest.ends_with('{') && !rest.contains("=>");
        return Some(word).filter(|word| is_method && !word.is_empty());
    }
    while is_one_of(word, &DEFINES) {
        (word, rest) = first_word(behind_brackets(rest));
    }
    Some(word).filter(|word| !word.is_empty())
}

/// Splits a text behind its first word.
fn first_word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len()))
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
