//! The public functions that start a compaction.

use crate::tidy::rust::{Kind, Token};
use crate::tidy::tree::Source;

/// The crates whose functions are looked at.
const CRATES: [&str; 3] = ["crates/wb-conductor/src/", "crates/wb-host/src/", "crates/wb-session/src/"];

/// Doors: the type, empty for a free function, and the name. A compaction in the background is
/// started and finished, which is one door.
const DOORS: [(&str, &str); 17] = [
    ("", "compact"),
    ("", "compact_in_place"),
    ("", "compact_locally"),
    ("", "compact_locally_with"),
    ("", "compact_session"),
    ("", "compact_turns"),
    ("", "condense"),
    ("", "condense_transcript"),
    ("", "create_condenser"),
    ("AgentContext", "before_request"),
    ("AgentContext", "compact"),
    ("AgentContext", "compact_locally"),
    ("AgentContext", "start"),
    ("SessionFlow", "complete"),
    ("SessionCompactor", "compact"),
    ("WindowBudgetCondense", "compact_in_place"),
    ("WindowBudgetCondense", "condense"),
];

/// Returns the doors, and those that are covers with a name of a document: they lie in a file or
/// folder named `document…`.
pub(crate) fn doors(sources: &[Source<'_>]) -> (Vec<String>, Vec<String>) {
    let of_engine =
        sources.iter().filter(|source| CRATES.iter().any(|dir| source.file.path.starts_with(dir)));
    let found = of_engine.flat_map(|source| {
        let is_cover = source.file.path.contains("/document");
        functions(&source.tokens).into_iter().map(move |function| (is_cover, function))
    });
    let mut found: Vec<_> =
        found.filter(|(_, (owner, name))| DOORS.contains(&(owner.as_str(), name.as_str()))).collect();
    found.sort();
    found.dedup();
    let (covers, doors): (Vec<_>, Vec<_>) = found.into_iter().partition(|(is_cover, _)| *is_cover);
    let shown = |found: Vec<(bool, (String, String))>| {
        found.into_iter().map(|(_, (owner, name))| format!("{owner}::{name}")).collect()
    };
    (shown(doors), shown(covers))
}

/// Returns the public functions and the methods of an implemented trait, each with its type.
fn functions(tokens: &[Token<'_>]) -> Vec<(String, String)> {
    let code: Vec<_> = tokens.iter().filter(|token| token.kind != Kind::Comment && !token.is_test).collect();
    let mut functions = Vec::new();
    let mut owner = (String::new(), false, 0);
    let mut depth = 0;
    for at in 0..code.len() {
        let token = code[at];
        if token.is("{") {
            depth += 1;
        } else if token.is("}") {
            depth -= 1;
            if depth == owner.2 {
                owner = (String::new(), false, depth);
            }
        } else if token.is("impl") && depth == 0 {
            let (name, is_trait) = implemented(&code[at + 1..]);
            owner = (name, is_trait, depth);
        } else if token.is("fn") {
            let before = code[..at].iter().rev().find(|token| !matches!(token.text, "async" | "const"));
            if before.is_some_and(|token| token.is("pub")) || owner.1 {
                let name = code.get(at + 1).map_or("", |name| name.text);
                functions.push((owner.0.clone(), name.to_owned()));
            }
        }
    }
    functions
}

/// Returns the type that an `impl` is of, and whether it implements a trait.
fn implemented(code: &[&Token<'_>]) -> (String, bool) {
    let head = code.iter().take_while(|token| !token.is("{") && !token.is("where"));
    let (mut name, mut is_trait, mut depth) = ("", false, 0);
    for token in head {
        depth += i32::from(token.is("<")) - i32::from(token.is(">"));
        if token.is("for") {
            is_trait = true;
        } else if depth == 0 && token.kind == Kind::Word {
            name = token.text;
        }
    }
    (name.to_owned(), is_trait)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tree::Tree;

    #[test]
    fn doors_are_found_by_type_and_name_and_covers_by_their_file() {
        let text = "pub fn compact_turns() {}\nfn compact() {}\nimpl<T> AgentContext<T> {\n    pub async fn start(&self) {}\n}\n\
                    impl CondenseFn for WindowBudgetCondense {\n    fn condense() {}\n}\nimpl Other { pub fn start() {} }\n";
        let cover = "pub async fn condense_transcript() {}\n";
        let tree = Tree::from_files(&[
            ("crates/wb-conductor/src/a.rs", text),
            ("crates/wb-conductor/src/document0.rs", cover),
            ("crates/wb-compat/src/a.rs", cover),
        ]);
        let (doors, covers) = doors(&tree.sources());
        assert_eq!(doors, ["::compact_turns", "AgentContext::start", "WindowBudgetCondense::condense"]);
        assert_eq!(covers, ["::condense_transcript"]);
    }
}
