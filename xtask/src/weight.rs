//! `cargo xtask weight`: how many crates each crate of this workspace brings along, by feature.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::program;

/// The page with the table.
const PAGE: &str = "docs/evaluation/weight.md";

/// The text above the table.
const HEAD: &str = "\
# Weight

The registry crates that are compiled into each crate of this workspace on this platform, by `cargo tree -e
normal,build`, each name and version once: with default features, and what each feature adds to none.
`cargo xtask weight` writes this page from `Cargo.lock`.

";

/// Writes the page.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let mut page = HEAD.to_owned() + "crate | crates | features\n--- | ---: | ---\n";
    for (name, features) in crates(&metadata(root)?) {
        page.push_str(&row(root, &name, &features)?);
    }
    program::write(root, PAGE, page)
}

fn row(root: &Path, name: &str, features: &[Feature]) -> Result<String, String> {
    let tree =
        |more: &[&str]| cargo(root, &[&["tree", "-p", name][..], more].concat()).map(|it| external(&it));
    let (plain, bare) = (tree(&[])?, tree(&["--no-default-features"])?);
    let mut more = Vec::new();
    for Feature { name, is_default } in features {
        let n_more = tree(&["--no-default-features", "--features", name])?.difference(&bare).count();
        let note = if *is_default { ", on by default" } else { "" };
        more.push(format!("`{name}` +{n_more}{note}"));
    }
    let more = if more.is_empty() { "none".to_owned() } else { more.join("; ") };
    Ok(format!("`{name}` | {} | {more}\n", plain.len()))
}

fn metadata(root: &Path) -> Result<Value, String> {
    let output = cargo(root, &["metadata", "--format-version", "1", "--no-deps"])?;
    serde_json::from_str(&output).map_err(|error| format!("cargo metadata: {error}"))
}

/// A feature that a user may name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Feature {
    name: String,
    is_default: bool,
}

/// Returns the crates that are used by others, each with its features.
fn crates(metadata: &Value) -> BTreeMap<String, Vec<Feature>> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let named = packages.filter_map(|package| Some((package["name"].as_str()?, &package["features"])));
    let used = named.filter(|(name, _)| !matches!(*name, "xtask" | "wb-testkit"));
    used.map(|(name, features)| (name.to_owned(), features_of(features))).collect()
}

fn features_of(features: &Value) -> Vec<Feature> {
    let defaults = features["default"].as_array().map_or(&[][..], Vec::as_slice);
    let names = features.as_object().into_iter().flatten().map(|(name, _)| name);
    let names = names.filter(|name| *name != "default");
    let mut shown: Vec<Feature> = names
        .map(|name| Feature { name: name.clone(), is_default: defaults.iter().any(|it| it == name.as_str()) })
        .collect();
    shown.sort();
    shown
}

/// Returns the crates of a tree that come from a registry, by name and version.
fn external(tree: &str) -> BTreeSet<String> {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let lines = lines.filter(|line| !line.is_empty() && !line.contains(" (/") && !line.contains(r":\"));
    lines.map(|line| line.trim_end_matches(" (proc-macro)").to_owned()).collect()
}

fn cargo(root: &Path, words: &[&str]) -> Result<String, String> {
    let edges = ["-e", "normal,build", "--prefix", "none"];
    let edges = if words.first() == Some(&"tree") { &edges[..] } else { &[] };
    program::output(program::cargo(root, words).args(edges).arg("--offline"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_crate_is_counted_once_and_those_of_the_workspace_are_not() {
        let tree = "wb-message v0.1.0 (/home/me/crates/wb-message)\nserde v1.0.1\nserde_derive v1.0.1 (proc-macro)\nserde v1.0.1 (*)\n\
                    serde_derive v1.0.1 (proc-macro) (*)\n\nsyn v2.0.0\nsyn v3.0.0\n";
        let found = external(tree);
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            ["serde v1.0.1", "serde_derive v1.0.1", "syn v2.0.0", "syn v3.0.0"]
        );
    }

    #[test]
    fn features_are_listed_and_the_default_ones_marked() {
        let packages = json!([
            {"name": "wb-cli", "features": {"default": ["models"], "schema": [], "models": []}},
            {"name": "xtask", "features": {}},
        ]);
        let found = crates(&json!({ "packages": packages }));
        let feature = |name: &str, is_default| Feature { name: name.to_owned(), is_default };
        assert_eq!(found.len(), 1, "what only developers use is not weighed");
        assert_eq!(found["wb-cli"], [feature("models", true), feature("schema", false)]);
    }
}
