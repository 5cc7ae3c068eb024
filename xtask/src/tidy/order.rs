//! The rule that a file imports only files listed above it in `lib.rs`.

use super::tree::{File, Tree};

/// Finds imports of sibling modules that are listed below the importing one, outside of test code.
pub(crate) fn downward_imports(tree: &Tree) -> Vec<String> {
    let roots = tree
        .files
        .iter()
        .filter(|file| file.in_crate().is_some_and(|(_, below)| matches!(below, "lib.rs" | "main.rs")));
    roots.flat_map(|root| imports_against(&listed_modules(&without_tests(&root.text)), root, tree)).collect()
}

fn imports_against(modules: &[&str], root: &File, tree: &Tree) -> Vec<String> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|file| same_crate(file, root) && file.is(&[".rs"])) {
        let place = |name: &str| modules.iter().position(|module| *module == name);
        let Some(own) = own_module(file).and_then(place) else { continue };
        for name in imported(&without_tests(&file.text), !is_nested(file)) {
            if place(&name).is_some_and(|other| other > own) {
                findings.push(format!("{}: imports `{name}`, which {} lists below it", file.path, root.path));
            }
        }
    }
    findings
}

fn same_crate(file: &File, root: &File) -> bool {
    file.in_crate().map(|(dir, _)| dir) == root.in_crate().map(|(dir, _)| dir)
}

/// The module of the crate's root that a file belongs to.
fn own_module(file: &File) -> Option<&str> {
    let (_, below) = file.in_crate()?;
    Some(below.split_once('/').map_or_else(|| below.trim_end_matches(".rs"), |(dir, _)| dir))
}

fn is_nested(file: &File) -> bool {
    file.in_crate().is_some_and(|(_, below)| below.contains('/'))
}

/// Returns the modules in the order of their `mod x;` lines.
fn listed_modules(root: &str) -> Vec<&str> {
    let words = |line| <str>::trim(line).strip_suffix(';')?.rsplit_once("mod ");
    let named =
        root.lines().filter_map(words).filter(|(before, _)| before.is_empty() || before.starts_with("pub"));
    named.map(|(_, name)| name.trim()).collect()
}

/// Returns the text without comments and without items under `#[cfg(test)]`; formatted code is
/// taken for granted.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim_start().starts_with("#[cfg(") && line.contains("test") {
            let is_end =
                |line: &&str| line.ends_with(';') && !line.starts_with(' ') || *line == format!("{indent}}}");
            lines.by_ref().find(is_end);
        } else {
            kept.push_str(line.split("//").next().unwrap_or_default());
            kept.push('\n');
        }
    }
    kept
}

/// Returns the first names of the paths that start at the crate's root; `super` is the root for a
/// top-level file.
fn imported(text: &str, super_is_root: bool) -> Vec<String> {
    let starts = if super_is_root { &["crate::", "super::"][..] } else { &["crate::"][..] };
    let mut names = Vec::new();
    for start in starts {
        for (at, _) in text.match_indices(start).filter(|(at, _)| !text[..*at].ends_with(is_name)) {
            let rest = &text[at + start.len()..];
            match rest.strip_prefix('{') {
                Some(group) => names.extend(first_names(group)),
                None => names.push(first_name(rest)),
            }
        }
    }
    names
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn first_name(text: &str) -> String {
    text.chars().take_while(|c| is_name(*c)).collect()
}

/// Returns the first name of each path of an import group, given the text after its brace.
fn first_names(group: &str) -> Vec<String> {
    let mut outer = String::new();
    let mut depth = 0;
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            c if depth == 0 => outer.push(c),
            _ => {}
        }
    }
    outer.split(',').map(|path| first_name(path.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIB: &str =
        "//! A crate.\npub mod block;\nmod message;\npub(crate) mod pairing;\n#[cfg(test)]\nmod fixtures;\n";

    fn findings(path: &str, text: &str) -> Vec<String> {
        downward_imports(&Tree::from_files(&[("crates/a/src/lib.rs", LIB), (path, text)]))
    }

    #[test]
    fn modules_are_listed_in_order_without_those_of_tests() {
        assert_eq!(listed_modules(&without_tests(LIB)), ["block", "message", "pairing"]);
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
