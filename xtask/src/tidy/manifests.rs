//! Rules about each crate: its manifest and the first line of its root.

use super::tree::{File, Tree};

/// Finds crates that do not take the workspace's lints or do not say what they are.
pub(crate) fn bare_manifests(tree: &Tree) -> Vec<String> {
    let manifests = tree.files.iter().filter(|file| is_manifest(file));
    manifests.flat_map(missing).collect()
}

fn is_manifest(file: &File) -> bool {
    let dir = file.path.strip_suffix("/Cargo.toml");
    dir.is_some_and(|dir| {
        dir == "xtask" || dir.strip_prefix("crates/").is_some_and(|name| !name.contains('/'))
    })
}

fn missing(manifest: &File) -> Vec<String> {
    let mut findings = Vec::new();
    if value(&manifest.text, "lints", "workspace") != Some("true") {
        findings.push(format!("{}: `[lints] workspace = true` is missing", manifest.path));
    }
    if value(&manifest.text, "package", "description").is_none_or(|text| text.len() <= "\"\"".len()) {
        findings.push(format!("{}: the description is missing", manifest.path));
    }
    findings
}

/// Returns the value of a key in a section, as it is written.
fn value<'a>(manifest: &'a str, section: &str, key: &str) -> Option<&'a str> {
    let header = format!("[{section}]");
    let lines = manifest.lines().skip_while(|line| line.trim() != header).skip(1);
    let mut pairs = lines.take_while(|line| !line.starts_with('[')).filter_map(|line| line.split_once('='));
    pairs.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
}

/// Finds crates whose root does not begin by saying what the crate is.
pub(crate) fn roots_without_docs(tree: &Tree) -> Vec<String> {
    let is_root =
        |file: &&File| file.in_crate().is_some_and(|(_, below)| matches!(below, "lib.rs" | "main.rs"));
    let bare = tree.files.iter().filter(is_root).filter(|file| !file.text.starts_with("//! "));
    bare.map(|file| format!("{}: does not start with `//!`", file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[package]\nname = \"a\"\ndescription = \"Counts\"\n\n[lints]\nworkspace = true\n";

    #[test]
    fn a_manifest_without_lints_or_description_is_found() {
        let bare = "[package]\nname = \"a\"\ndescription = \"\"\n[lints.clippy]\nworkspace = true\n";
        let tree = Tree::from_files(&[
            ("crates/a/Cargo.toml", bare),
            ("Cargo.toml", ""),
            ("crates/b/Cargo.toml", GOOD),
        ]);
        let wanted = [
            "crates/a/Cargo.toml: `[lints] workspace = true` is missing",
            "crates/a/Cargo.toml: the description is missing",
        ];
        assert_eq!(bare_manifests(&tree), wanted);
    }

    #[test]
    fn a_root_without_docs_is_found() {
        let tree = Tree::from_files(&[
            ("crates/a/src/lib.rs", "pub mod x;\n"),
            ("crates/b/src/lib.rs", "//! Counts.\n"),
            ("crates/a/src/x.rs", "fn f() {}\n"),
        ]);
        assert_eq!(roots_without_docs(&tree), ["crates/a/src/lib.rs: does not start with `//!`"]);
    }
}
