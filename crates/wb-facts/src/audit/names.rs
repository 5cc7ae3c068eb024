//! Finds paths, identifiers and hashes in a summary that never occurred.

use super::text::{SummaryLine, Topic, words};
use super::{Finding, FindingKind};
use crate::facts::Facts;
use crate::facts::ledger::known::Known;
use crate::facts::ledger::tokens::{MOST_BYTES, components, tokens};
use crate::facts::mentions::Mentions;
use crate::facts::names::{has_file_ending, has_inner_capital, has_inner_underscore, is_hash};
use wb_shell::base_name;

/// Endings of files, in addition to those that sessions name most.
const MORE_ENDINGS: [&str; 18] = [
    "mdx", "cjs", "scss", "hpp", "cc", "kt", "swift", "php", "csv", "xml", "ini", "cfg", "env", "proto",
    "vue", "svelte", "ipynb", "log",
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
    /// The start in the line, and whether backticks enclose it.
    pub(super) at: usize,
    pub(super) is_code: bool,
}

/// Visits the words of a line that may be names; parts of patterns and addresses are left out.
pub(super) fn names(line: &str) -> Vec<Name<'_>> {
    let (mut out, mut read_to, mut is_code) = (Vec::new(), 0, false);
    for token in tokens(line) {
        if token.start < read_to {
            continue;
        }
        is_code ^= line[read_to..token.start].matches('`').count() % 2 == 1;
        read_to = token.end;
        let (before, after) = (line[..token.start].chars().next_back(), line[token.end..].chars().next());
        if line[token.end..].starts_with("://") {
            read_to = address_end(line, token.start);
            continue;
        }
        let text = &line[token.clone()];
        let is_bold = before == Some('*') && line[..token.start].ends_with("**") || after == Some('*');
        if (is_bold || !(is_pattern(before) || is_pattern(after))) && !text.contains("...") {
            let is_home = before == Some('~') && text.starts_with('/');
            let start =
                token.start + (text.len() - text.trim_start_matches("./").len()) - usize::from(is_home);
            out.push(Name { text: trimmed(&line[start..token.end]), at: start, is_code });
        }
    }
    out.retain(|name| (3..=MOST_BYTES).contains(&name.text.len()));
    out
}

/// Returns where an address ends that begins at a place.
fn address_end(line: &str, start: usize) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, ')' | '`' | '>');
    line[start..].find(ends).map_or(line.len(), |n_bytes| start + n_bytes)
}

/// Reports whether a sign makes the name next to it a pattern.
fn is_pattern(sign: Option<char>) -> bool {
    sign.is_some_and(|c| matches!(c, '*' | '{' | '}' | '<' | '>' | '$' | '%' | '…' | '\\'))
}

fn trimmed(text: &str) -> &str {
    text.trim_end_matches(['.', '-', '/', '+'])
}

/// Reports whether a name is that of a file.
pub(super) fn is_file(name: &str) -> bool {
    let last = base_name(name);
    let Some((stem, ending)) = last.rsplit_once('.') else { return false };
    let is_stem = !stem.is_empty() && stem.chars().any(char::is_alphabetic);
    let has_ending = has_file_ending(last) || MORE_ENDINGS.contains(&ending);
    is_stem && has_ending && !PRODUCTS.contains(&last.to_lowercase().as_str())
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
        let has_hump = || is_code && has_inner_capital(bytes) && bytes.len() > 5;
        let has_bar = has_inner_underscore(bytes) && !word.ends_with('_');
        has_bar || has_hump() || is_hash(bytes)
    })
}

/// Finds what never occurred.
pub(super) fn check(lines: &[SummaryLine<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    let known = &facts.ledger().known;
    for line in lines.iter().filter(|line| !line.is_code && !makes_new(line)) {
        let whole = |name: &Name<'_>| !line.may_be_cut(name.at..name.at + name.text.len());
        for name in names(line.text).into_iter().filter(whole) {
            if is_path(&name) {
                if !is_known_path(known, name.text) && !may_be_cut(facts.names(), name.text) {
                    let why = format!("no message names {}", name.text);
                    out.push(Finding::new(FindingKind::UnknownPath, line, name.text, why, None));
                }
                continue;
            }
            // Planned work may have names that are new.
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

fn makes_new(line: &SummaryLine<'_>) -> bool {
    line.topic == Topic::Ahead && words(line.text).iter().any(|word| MAKES.contains(&word.text.as_str()))
}

/// Reports whether a name may be the rest of one that was cut.
fn may_be_cut(mentions: &Mentions, word: &str) -> bool {
    let is_part = |name: &str| name.len() > word.len() && (name.starts_with(word) || name.ends_with(word));
    mentions
        .all()
        .any(|named| is_part(named.name) || named.line.is_some_and(|line| has_start(line.inspect(), word)))
}

/// Reports whether a word of a line begins or ends at the given place.
fn has_start(line: &str, word: &str) -> bool {
    let is_part =
        |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'));
    line.match_indices(word).any(|(at, _)| {
        is_part(line[..at].chars().next_back()) != is_part(line[at + word.len()..].chars().next())
    })
}

/// Reports whether a path occurred, perhaps without its file ending.
fn is_known_path(known: &Known, path: &str) -> bool {
    known.has_path(path)
        || path
            .rsplit_once('.')
            .is_some_and(|(stem, _)| is_file(path) && known.has_path(stem) && stem.contains('/'))
}
