//! The rule about manifests.

use super::tree::Tree;

/// Lines that the manifest of each crate has.
const WANTED: [&str; 2] = ["\n[lints]\nworkspace = true\n", "\ndescription = \""];

/// Finds crates that do not take the workspace's lints or do not say what they are.
pub(crate) fn bare_manifests(tree: &Tree) -> Vec<String> {
    let is_of_crate = |path: &str| path.starts_with("crates/") || path.starts_with("xtask/");
    let manifests = tree.files.iter().filter(|file| file.is(&["/Cargo.toml"]) && is_of_crate(&file.path));
    manifests
        .flat_map(|file| {
            let missing = WANTED.iter().filter(|wanted| !file.text.contains(**wanted));
            missing.map(|wanted| format!("{}: has no `{}`", file.path, wanted.trim().replace('\n', " ")))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_without_lints_or_description_is_found() {
        let good = "[package]\nname = \"a\"\ndescription = \"Counts\"\n\n[lints]\nworkspace = true\n";
        let bare = "[package]\nname = \"a\"\n[lints.clippy]\nworkspace = true\n";
        let tree = Tree::from_files(&[
            ("crates/a/Cargo.toml", bare),
            ("Cargo.toml", ""),
            ("crates/b/Cargo.toml", good),
        ]);
        assert_eq!(
            bare_manifests(&tree),
            [
                "crates/a/Cargo.toml: has no `[lints] workspace = true`",
                "crates/a/Cargo.toml: has no `description = \"`"
            ]
        );
    }
}
