//! The rule that a file imports only files listed above it in `lib.rs`.

use super::rust::{Kind, Token};
use super::tree::{Source, Tree};

/// Finds imports of sibling modules that are listed below the importing one, outside of test code.
pub(crate) fn downward_imports(_: &Tree, sources: &[Source<'_>]) -> Vec<String> {
    let is_root = |root: &&Source<'_>| matches!(root.file.in_crate(), Some((_, "lib.rs" | "main.rs")));
    sources.iter().filter(is_root).flat_map(|root| imports_against(root, sources)).collect()
}

fn imports_against(root: &Source<'_>, sources: &[Source<'_>]) -> Vec<String> {
    let crate_of = |source: &Source<'_>| source.file.in_crate().map(|(dir, _)| dir.to_owned());
    let root_code = code(root);
    let modules = listed_modules(&root_code);
    let place = |name: &str| modules.iter().position(|module| *module == name);
    let mut findings = Vec::new();
    for source in sources.iter().filter(|source| crate_of(source) == crate_of(root)) {
        let below = source.file.in_crate().map_or("", |(_, below)| below);
        let Some(importing) = below.split(['/', '.']).next().and_then(place) else { continue };
        for name in imported(&code(source), !below.contains('/')) {
            if place(name).is_some_and(|other| other > importing) {
                let (path, root) = (&source.file.path, &root.file.path);
                findings.push(format!("{path}: imports `{name}`, which {root} lists below it"));
            }
        }
    }
    findings
}

/// Returns the tokens that are neither comments nor tests.
fn code<'a>(source: &Source<'a>) -> Vec<Token<'a>> {
    let code = source.tokens.iter().filter(|token| !token.is_test && token.kind != Kind::Comment);
    code.copied().collect()
}

/// Returns the modules in the order of their `mod x;` lines.
fn listed_modules<'a>(root: &[Token<'a>]) -> Vec<&'a str> {
    let listed = root.windows(3).filter(|three| three[0].is("mod") && three[2].is(";"));
    listed.map(|three| three[1].text).collect()
}

/// Returns the first names of the paths that start at the crate's root; `super` is the root for a
/// top-level file.
fn imported<'a>(code: &[Token<'a>], super_is_root: bool) -> Vec<&'a str> {
    let mut names = Vec::new();
    for at in 0..code.len() {
        let [start, colon, _, next, ..] = &code[at..] else { break };
        if !(start.is("crate") || super_is_root && start.is("super")) || !colon.is(":") {
            continue;
        }
        if next.is("{") { names.extend(first_names(&code[at + 3..])) } else { names.push(next.text) }
    }
    names
}

/// Returns the first name of each path of an import group, given the tokens from its brace on.
fn first_names<'a>(group: &[Token<'a>]) -> Vec<&'a str> {
    let mut names = Vec::new();
    let mut depth = 0;
    for pair in group.windows(2) {
        depth += i32::from(pair[0].is("{")) - i32::from(pair[0].is("}"));
        if depth == 0 {
            break;
        }
        let is_start = depth == 1 && (pair[0].is("{") || pair[0].is(","));
        names.extend((is_start && pair[1].kind == Kind::Word).then_some(pair[1].text));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str =
        "//! A crate.\npub mod block;\nmod message;\npub(crate) mod pairing;\n#[cfg(test)]\nmod fixtures;\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        let tree = Tree::from_files(&[("crates/a/src/lib.rs", LIB), (path, text)]);
        downward_imports(&tree, &tree.sources())
    }

    #[test]
    fn modules_are_listed_in_order_without_those_of_tests() {
        let tree = Tree::from_files(&[("crates/a/src/lib.rs", LIB)]);
        assert_eq!(listed_modules(&code(&tree.sources()[0])), ["block", "message", "pairing"]);
    }

    #[test]
    fn an_import_of_a_file_listed_below_is_found() {
        let finding = "crates/a/src/block.rs: imports `pairing`, which crates/a/src/lib.rs lists below it";
        assert_eq!(findings("crates/a/src/block.rs", "use crate::pairing::Pairing;\n"), [finding]);
        assert_eq!(findings("crates/a/src/block.rs", "fn f() { crate::pairing::of() }\n"), [finding]);
        assert_eq!(findings("crates/a/src/block.rs", "use super::pairing;\n"), [finding]);
        assert_eq!(
            findings("crates/a/src/block.rs", "use crate::{\n    block::{A, B},\n    pairing::P,\n};\n"),
            [finding]
        );
    }

    #[test]
    fn files_of_a_directory_belong_to_its_module() {
        assert_eq!(findings("crates/a/src/message/body.rs", "use crate::pairing::P;\n").len(), 1);
        assert!(
            findings("crates/a/src/message/body.rs", "use crate::message::M;\nuse super::pairing;\n")
                .is_empty()
        );
    }

    #[test]
    fn imports_upwards_of_oneself_and_of_others_are_fine() {
        let text =
            "use crate::block::Block;\nuse crate::message::M;\nuse other_crate::pairing::P;\nuse std::fmt;\n";
        assert!(findings("crates/a/src/message.rs", text).is_empty());
        assert!(findings("crates/b/src/block.rs", "use crate::pairing::P;\n").is_empty());
    }

    #[test]
    fn tests_and_comments_may_name_what_they_like() {
        let text = "//! See [`crate::pairing`].\n#[cfg(test)]\nmod tests {\n    use crate::pairing::P;\n    fn f() {\n    }\n}\n";
        assert!(findings("crates/a/src/block.rs", text).is_empty());
        let after = format!("{text}use crate::pairing::P;\n");
        assert_eq!(findings("crates/a/src/block.rs", &after).len(), 1);
    }
}
