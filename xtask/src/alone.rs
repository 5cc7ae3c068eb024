//! Checks each crate with its default features and nothing that other crates of the workspace turn
//! on.
//!
//! Crates whose dependencies have the same features alone as together are checked together.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::{layers, program};

/// The features of each crate that a crate of the workspace depends on directly.
type Features = BTreeMap<String, BTreeSet<String>>;

const CLIPPY: [&str; 2] = ["clippy", "--quiet"];
const DENY: [&str; 3] = ["--", "-D", "warnings"];

pub(crate) fn run(root: &Path) -> Result<(), String> {
    let direct = layers::dependencies(root)?;
    let mut crates = Vec::new();
    for name in layers::packages(root)? {
        crates.push((name.clone(), features(root, &[name], &direct)?));
    }
    for (names, together) in groups(crates) {
        // Features can turn on others, which only cargo knows.
        if features(root, &names, &direct)? == together {
            clippy(root, &names, &[])?;
        } else {
            names.iter().try_for_each(|name| clippy(root, std::slice::from_ref(name), &[]))?;
        }
    }
    clippy(root, &["wb-cli".to_owned()], &["--no-default-features"])
}

fn clippy(root: &Path, names: &[String], options: &[&str]) -> Result<(), String> {
    let packages = names.iter().flat_map(|name| ["-p", name]);
    let words = CLIPPY.into_iter().chain(packages).chain(options.iter().copied()).chain(DENY);
    let mut clippy = program::cargo(root, words);
    println!("$ {}", program::line(&clippy));
    program::run(&mut clippy)
}

/// Returns the features with which cargo builds crates for these, of those crates that are listed.
fn features(root: &Path, names: &[String], listed: &BTreeSet<String>) -> Result<Features, String> {
    let options = ["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}|{f}"];
    let packages = names.iter().flat_map(|name| ["-p", name]);
    let tree = program::output(&mut program::cargo(root, options.into_iter().chain(packages)))?;
    Ok(parse(&tree, listed))
}

/// Reads the lines of a tree: `serde v1.0.229|derive,std (*)`.
fn parse(tree: &str, listed: &BTreeSet<String>) -> Features {
    let mut found = Features::new();
    for (package, features) in tree.lines().filter_map(|line| line.trim_end_matches(" (*)").split_once('|')) {
        let name = package.split(' ').next().unwrap_or_default();
        if listed.contains(name) {
            let version = package.split(' ').take(2).collect::<Vec<_>>().join(" ");
            found.entry(version).or_default().extend(features.split(',').map(str::to_owned));
        }
    }
    found
}

/// Puts crates together whose features agree, with the features of all in a group.
fn groups(mut crates: Vec<(String, Features)>) -> Vec<(Vec<String>, Features)> {
    crates.sort_by_key(|(_, features)| std::cmp::Reverse(features.len()));
    let mut groups: Vec<(Vec<String>, Features)> = Vec::new();
    for (name, features) in crates {
        let agrees = |group: &&mut (Vec<String>, Features)| {
            features.iter().all(|(package, own)| group.1.get(package).is_none_or(|known| known == own))
        };
        match groups.iter_mut().find(agrees) {
            Some((names, known)) => {
                names.push(name);
                known.extend(features);
            }
            None => groups.push((vec![name], features)),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_with_other_features_of_a_dependency_are_checked_apart() {
        let listed = ["serde", "tokio", "a"].map(str::to_owned).into();
        let of = |tree: &str| parse(tree, &listed);
        let crates = [
            ("one", "a v0.1.0 (/w/a)|\nserde v1.0.1|derive,std\nsyn v2.0.0|full"),
            ("two", "serde v1.0.1|std,derive (*)\nsyn v2.0.0|"),
            ("three", "a v0.1.0 (/w/a)|\nserde v1.0.1|std"),
            ("four", "tokio v1.0.0|rt"),
        ];
        let crates = crates.map(|(name, tree)| (name.to_owned(), of(tree))).to_vec();
        let names: Vec<Vec<String>> = groups(crates).into_iter().map(|(names, _)| names).collect();
        assert_eq!(names, [vec!["one", "two", "four"], vec!["three"]]);
    }
}
