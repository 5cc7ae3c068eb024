//! The rule about the help of the command: its first lines are short, and those of commands
//! imperative.

use super::rust::{Kind, Token};
use super::tree::{Source, Tree};
use super::words::body;

/// Characters that the first paragraph of a command's or an option's help may have.
const MAX_CHARACTERS: usize = 70;

/// Traits of clap whose derivation makes help from documentation.
const DERIVED: [&str; 4] = ["Args", "Parser", "Subcommand", "ValueEnum"];

/// Finds help that is too long, and commands whose help is no command.
pub(crate) fn long_help(_: &Tree, sources: &[Source<'_>]) -> Vec<String> {
    let of_command = sources.iter().filter(|source| source.file.path.starts_with("crates/wb-cli/src/"));
    of_command.flat_map(findings_in).collect()
}

fn findings_in(Source { file, tokens, .. }: &Source<'_>) -> Vec<String> {
    let mut findings = Vec::new();
    let is_derive = |at: &usize| tokens[*at].is("derive") && !tokens[*at].is_test;
    for at in (0..tokens.len()).filter(is_derive) {
        let traits: Vec<&str> = tokens[at..].iter().take_while(|it| !it.is("]")).map(|it| it.text).collect();
        if !DERIVED.iter().any(|it| traits.contains(it)) {
            continue;
        }
        for help in helps(item(&tokens[at..])) {
            let text = help.text();
            let n = text.chars().count();
            let place = format!("{}:{}", file.path, help.line);
            if n > MAX_CHARACTERS {
                let rest = "let details follow after an empty line";
                findings.push(format!("{place}: help of {n} characters → at most {MAX_CHARACTERS}; {rest}"));
            }
            let verb = text.split(' ').next().unwrap_or_default();
            if traits.contains(&"Subcommand") && verb.ends_with('s') && !verb.ends_with("ss") {
                findings.push(format!("{place}: help that begins with \"{verb}\" → say it as a command"));
            }
        }
    }
    findings
}

/// Returns the tokens of an item within its braces, given those from its `derive` on.
fn item<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let Some(start) = tokens.iter().position(|token| token.is("{")) else { return &[] };
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        depth += i32::from(token.is("{")) - i32::from(token.is("}"));
        if depth == 0 {
            return &tokens[start..at];
        }
    }
    &tokens[start..]
}

/// The documentation of a command, an option or a value.
struct Help<'a> {
    line: usize,
    lines: Vec<&'a str>,
}

impl Help<'_> {
    /// Returns the first paragraph, which is the short help.
    fn text(&self) -> String {
        let lines: Vec<&str> = self.lines.iter().copied().take_while(|line| !line.is_empty()).collect();
        lines.join(" ")
    }
}

/// Returns the blocks of documentation in an item.
fn helps<'a>(item: &[Token<'a>]) -> Vec<Help<'a>> {
    let mut helps: Vec<Help<'a>> = Vec::new();
    let mut is_open = false;
    for token in item {
        let is_doc = token.kind == Kind::Comment && token.text.starts_with("///");
        if is_doc && !is_open {
            helps.push(Help { line: token.line, lines: Vec::new() });
        }
        if let Some(help) = helps.last_mut().filter(|_| is_doc) {
            help.lines.push(body(token.text));
        }
        is_open = is_doc;
    }
    helps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let tree =
            Tree::from_files(&[("crates/wb-cli/src/a.rs", text), ("crates/wb-formats/src/a.rs", text)]);
        long_help(&tree, &tree.sources())
    }

    #[test]
    fn the_first_paragraph_of_help_has_at_most_70_characters() {
        let line = "x".repeat(35);
        let text = |more| {
            format!(
                "#[derive(Args)]\nstruct A {{\n    /// {line}\n    /// {line}{more}\n    ///\n    /// {line}\n    a: u8,\n}}\n"
            )
        };
        assert_eq!(
            findings(&text("")),
            [
                "crates/wb-cli/src/a.rs:3: help of 71 characters → at most 70; let details follow after an empty line"
            ]
        );
        assert!(findings(&text("").replace("xx\n", "x\n")).is_empty());
        assert!(findings(&text("").replace("Args", "Debug")).is_empty());
    }

    #[test]
    fn the_help_of_a_command_is_a_command() {
        let text = "#[derive(Subcommand)]\nenum A {\n    /// Shows it\n    B,\n    /// Show it\n    C,\n    /// Compress it\n    D,\n}\n";
        assert_eq!(
            findings(text),
            ["crates/wb-cli/src/a.rs:3: help that begins with \"Shows\" → say it as a command"]
        );
    }
}
