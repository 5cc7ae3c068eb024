//! Rules about comments: their length and the first word of documentation.

use super::rust::Kind;
use super::tree::{Source, Tree};
use super::words::body;

/// Columns that a line of a comment may have.
const MAX_COLUMNS: usize = 100;

/// Finds lines that are a comment and are too long; an address and a table cannot be wrapped.
pub(crate) fn long_comments(_: &Tree, sources: &[Source<'_>]) -> Vec<String> {
    let mut findings = Vec::new();
    for Source { file, tokens, .. } in sources {
        let lines: Vec<&str> = file.text.lines().collect();
        for token in tokens.iter().filter(|token| token.kind == Kind::Comment) {
            let line = lines[token.line - 1];
            let n_columns = line.chars().count();
            let is_fixed = line.contains("://") || body(token.text).starts_with('|');
            if n_columns > MAX_COLUMNS && line.trim_start().starts_with("//") && !is_fixed {
                let what = format!("a comment of {n_columns} columns → wrap it at {MAX_COLUMNS}");
                findings.push(format!("{}:{}: {what}", file.path, token.line));
            }
        }
    }
    findings
}

/// Words that begin no documentation, since they begin a question or a clause.
const NO_FIRST_WORDS: [&str; 6] = ["How", "It", "What", "Where", "Whether", "Why"];

/// Finds documentation that begins with such a word.
pub(crate) fn first_words(_: &Tree, sources: &[Source<'_>]) -> Vec<String> {
    let mut findings = Vec::new();
    for Source { file, tokens, .. } in sources {
        let mut last = (0, "");
        for token in tokens.iter().filter(|token| token.kind == Kind::Comment) {
            let Some(slashes) = ["///", "//!"].into_iter().find(|slashes| token.text.starts_with(slashes))
            else {
                continue;
            };
            let is_first = last != (token.line - 1, slashes);
            last = (token.line, slashes);
            let word: String = body(token.text).chars().take_while(|c| c.is_alphabetic()).collect();
            if is_first && NO_FIRST_WORDS.contains(&word.as_str()) {
                let instead = "begin with a verb in the third person, or a noun with its article";
                findings.push(format!(
                    "{}:{}: documentation that begins with \"{word}\" → {instead}",
                    file.path, token.line
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(rule: fn(&Tree, &[Source<'_>]) -> Vec<String>, text: &str, wanted: &[&str]) {
        let tree = Tree::from_files(&[("a.rs", text)]);
        assert_eq!(rule(&tree, &tree.sources()), wanted);
    }

    #[test]
    fn a_comment_of_101_columns_is_too_long_but_for_addresses_and_tables() {
        let long = "x".repeat(96);
        let text = format!("fn a() {{\n    //{}\n    // {}\n}}\n", &long[..94], &long[..94]);
        check(long_comments, &text, &["a.rs:3: a comment of 101 columns → wrap it at 100"]);
        check(long_comments, &format!("/// | {long} |\n// https://{long}\nlet x = 1; // {long}"), &[]);
        check(long_comments, &format!("let x = \"\n// {long}y\";"), &[]);
    }

    #[test]
    fn the_first_word_of_a_block_of_documentation_is_looked_at() {
        let wanted = "documentation that begins with \"What\" → begin with a verb in the third person, or a noun with its article";
        let text = "//! A file.\n//! What is fine here.\n\n/// What it is.\nfn a() {}\n// What is private.\n/// Whatever.\nfn b() {}\n";
        check(first_words, text, &[&format!("a.rs:4: {wanted}")]);
    }
}
