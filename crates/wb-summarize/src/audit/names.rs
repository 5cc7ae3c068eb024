//! Finds paths, identifiers and hashes in a summary that never occurred.

use super::text::{Line, Topic, words};
use super::{Finding, FindingKind};
use crate::facts::Facts;
use crate::facts::ledger::known::{Known, components};
use crate::facts::mentions::Mentions;

/// Endings of files, beside those that any name of a path may have.
const ENDINGS: [&str; 44] = [
    "rs", "toml", "lock", "md", "mdx", "txt", "json", "jsonl", "yml", "yaml", "py", "ts", "tsx", "js", "jsx",
    "mjs", "cjs", "go", "sh", "css", "scss", "html", "sql", "c", "h", "cpp", "hpp", "cc", "java", "kt",
    "swift", "rb", "php", "snap", "csv", "xml", "ini", "cfg", "env", "proto", "vue", "svelte", "ipynb",
    "log",
];
/// Names of products that look like those of files.
const PRODUCTS: [&str; 14] = [
    "node.js",
    "next.js",
    "vue.js",
    "react.js",
    "express.js",
    "three.js",
    "d3.js",
    "nuxt.js",
    "chart.js",
    "ember.js",
    "backbone.js",
    "socket.io",
    "entire.io",
    "discord.js",
];

/// A name in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name<'a> {
    pub(super) text: &'a str,
    /// Where it begins in the line, and whether it stands between backticks.
    pub(super) at: usize,
    pub(super) is_code: bool,
}

/// Visits the words of a line that may be names; parts of patterns and addresses are left out.
pub(super) fn names(line: &str) -> Vec<Name<'_>> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '~' | '@' | '+');
    let (mut out, mut at, mut is_code) = (Vec::new(), 0, false);
    while let Some(c) = line[at..].chars().next() {
        if !is_part(c) {
            is_code ^= c == '`';
            at += c.len_utf8();
            continue;
        }
        let n = line[at..].find(|c| !is_part(c)).unwrap_or(line.len() - at);
        let (before, after) = (line[..at].chars().next_back(), line[at + n..].chars().next());
        if line[at + n..].starts_with("://") {
            at += line[at..]
                .find(|c: char| c.is_whitespace() || matches!(c, ')' | '`' | '>'))
                .unwrap_or(line.len() - at);
            continue;
        }
        let is_pattern = |c: Option<char>| {
            c.is_some_and(|c| matches!(c, '*' | '{' | '}' | '<' | '>' | '$' | '%' | '…' | '\\'))
        };
        let text = &line[at..at + n];
        let is_bold = before == Some('*') && line[..at].ends_with("**") || after == Some('*');
        if (is_bold || !(is_pattern(before) || is_pattern(after))) && !text.contains("...") {
            out.push(Name {
                text: trimmed(text),
                at: at + (text.len() - text.trim_start_matches("./").len()),
                is_code,
            });
        }
        at += n;
    }
    out.retain(|name| name.text.len() > 2);
    out
}

fn trimmed(text: &str) -> &str {
    text.trim_start_matches("./").trim_end_matches(['.', '-', '/', '+'])
}

/// Tells whether a name is that of a file.
pub(super) fn is_file(name: &str) -> bool {
    let last = name.rsplit('/').next().unwrap_or(name);
    let Some((stem, ending)) = last.rsplit_once('.') else { return false };
    let is_stem = !stem.is_empty() && stem.chars().any(char::is_alphabetic);
    is_stem && ENDINGS.contains(&ending) && !PRODUCTS.contains(&last.to_lowercase().as_str())
}

fn is_path(name: &Name<'_>) -> bool {
    let n = components(name.text).count();
    let is_rooted = name.text.starts_with('/') || name.text.starts_with("~/");
    is_file(name.text) || (n >= 2 && name.text.contains('/') && (is_rooted || name.is_code))
}

/// Visits the identifiers and hashes in a name.
fn identifiers<'a>(name: &Name<'a>) -> impl Iterator<Item = &'a str> {
    let is_code = name.is_code;
    name.text.split(['.', '-', '/', '@', '+', '~']).filter(move |word| {
        let bytes = word.as_bytes();
        let has_bar =
            bytes.iter().skip(1).any(|byte| *byte == b'_') && !word.ends_with('_') && bytes.len() > 4;
        let has_hump =
            bytes.windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        word.is_ascii() && (has_bar || (is_code && has_hump && bytes.len() > 5) || is_hash(bytes))
    })
}

fn is_hash(word: &[u8]) -> bool {
    let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    (7..=40).contains(&word.len())
        && word.iter().all(is_hex)
        && word.iter().any(u8::is_ascii_digit)
        && word.iter().any(u8::is_ascii_lowercase)
}

/// Finds what never occurred.
pub(super) fn check(lines: &[Line<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    let known = &facts.ledger().known;
    for line in lines.iter().filter(|line| !line.is_code && !makes_new(line)) {
        for name in names(line.text) {
            if is_path(&name) {
                if !is_known_path(known, name.text) && !may_be_cut(facts.names(), name.text) {
                    let why = format!("no message names {}", name.text);
                    out.push(Finding::new(FindingKind::UnknownPath, line, name.text, why, None));
                }
                continue;
            }
            // What is still to be done may have names that are new.
            if matches!(line.topic, Topic::Ahead | Topic::Shown) {
                continue;
            }
            let is_unknown = |word: &&str| !known.has_word(word) && !may_be_cut(facts.names(), word);
            for word in identifiers(&name).filter(is_unknown) {
                let why = format!("no message has the name {word}");
                out.push(Finding::new(FindingKind::UnknownName, line, word, why, None));
            }
        }
    }
}

/// Words by which a plan says that something is to be made that is not there yet.
const MAKES: [&str; 11] = [
    "create",
    "add",
    "new",
    "write",
    "introduce",
    "generate",
    "move",
    "rename",
    "extract",
    "split",
    "implement",
];

fn makes_new(line: &Line<'_>) -> bool {
    line.topic == Topic::Ahead && words(line.text).iter().any(|word| MAKES.contains(&word.text.as_str()))
}

/// Tells whether a name may be what is left of one that was cut.
fn may_be_cut(mentions: &Mentions, word: &str) -> bool {
    let is_part = |name: &str| name.len() > word.len() && (name.starts_with(word) || name.ends_with(word));
    mentions.ranked().any(|named| is_part(named.name) || named.line.is_some_and(|line| has_start(line, word)))
}

/// Tells whether a word of a line begins or ends that way.
fn has_start(line: &str, word: &str) -> bool {
    let is_part =
        |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
    line.match_indices(word).any(|(at, _)| {
        is_part(line[..at].chars().next_back()) != is_part(line[at + word.len()..].chars().next())
    })
}

/// Tells whether a path occurred; the ending of a file may be left out elsewhere.
fn is_known_path(known: &Known, path: &str) -> bool {
    known.has_path(path)
        || path
            .rsplit_once('.')
            .is_some_and(|(stem, _)| is_file(path) && known.has_path(stem) && stem.contains('/'))
}
