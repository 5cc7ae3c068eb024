//! The rule that a crate has one type of a name.

use std::collections::BTreeMap;

use super::definitions::Class;
use super::tree::{Source, Tree};

/// Names that modules of one crate may share: a path says whose they are, and documents fix the
/// first.
const SHARED: [&str; 3] = ["CompactionConfig", "Error", "Kind"];

/// Finds types whose name another type of their crate has, tests excepted.
pub(crate) fn twin_types(_: &Tree, sources: &[Source<'_>]) -> Vec<String> {
    let mut first: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let mut findings = Vec::new();
    for source in sources {
        let Some((dir, _)) = source.file.in_crate() else { continue };
        let types = source.definitions.iter().filter(|it| it.class == Class::Type && !it.is_test);
        for definition in types.filter(|it| !SHARED.contains(&it.name)) {
            let place = format!("{}:{}", source.file.path, definition.line);
            match first.get(&(dir, definition.name)) {
                Some(other) => findings.push(format!(
                    "{place}: the type `{}` is also in {other} → name each by what it holds",
                    definition.name
                )),
                None => {
                    first.insert((dir, definition.name), place);
                }
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_types_of_a_name_are_found_within_a_crate_and_outside_of_tests() {
        let tree = Tree::from_files(&[
            ("crates/a/src/lib.rs", "pub struct Row;\nenum Kind {}\n"),
            ("crates/a/src/x.rs", "enum Kind {}\nenum Row {}\n#[cfg(test)]\nmod tests { struct Row; }\n"),
            ("crates/a/tests/it/x.rs", "struct Row;\n"),
            ("crates/b/src/lib.rs", "struct Row;\n"),
        ]);
        assert_eq!(
            twin_types(&tree, &tree.sources()),
            [
                "crates/a/src/x.rs:2: the type `Row` is also in crates/a/src/lib.rs:1 → name each by what it holds"
            ]
        );
    }
}
