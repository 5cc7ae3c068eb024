//! `cargo xtask layers`: dependencies point to a smaller layer, those of the core outwards are few,
//! and the lock file of the other workspace has them all.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::{program, report};

/// The crates that a crate may depend on outside of the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Diet {
    /// [`SYNC`] and the named crates.
    Sync(&'static [&'static str]),
    /// [`SYNC`], [`ASYNC`] and the named crates.
    Async(&'static [&'static str]),
    /// Whatever serves.
    Free,
}

/// External crates that every layer may use.
const SYNC: [&str; 3] = ["serde", "serde_json", "thiserror"];
/// External crates that every layer may have behind a feature that is off by default.
const OPTIONAL: [&str; 1] = ["schemars"];
/// External crates for the crates that wait for something.
const ASYNC: [&str; 5] = ["async-trait", "futures-channel", "futures-util", "tokio", "tokio-util"];

/// External crates of the store in `PostgreSQL`.
const POSTGRES: [&str; 5] =
    ["percent-encoding", "rustls", "rustls-platform-verifier", "tokio-postgres", "tokio-postgres-rustls"];

/// A crate's place: its layer, none for what only tests and developers use.
#[derive(Clone, Copy, Debug)]
struct Room {
    name: &'static str,
    layer: Option<u8>,
    diet: Diet,
}

const fn room(name: &'static str, layer: u8, diet: Diet) -> Room {
    Room { name, layer: Some(layer), diet }
}

const fn dev(name: &'static str) -> Room {
    Room { name, layer: None, diet: Diet::Free }
}

/// The one crate that may depend on the crate with the faults of other systems, and that crate.
const FACADE_ONLY: (&str, &str) = ("window-budget", "wb-compat");

/// The program of the checks, which is built before anything else.
const XTASK: &str = "xtask";

/// The layers of the workspace; `crates/README.md` lists them.
const ROOMS: &[Room] = &[
    room("wb-message", 0, Diet::Sync(&["memchr", "xxhash-rust"])),
    room("wb-budget", 1, Diet::Sync(&["bytecount"])),
    room("wb-digest", 1, Diet::Sync(&[])),
    room("wb-language", 1, Diet::Sync(&[])),
    room("wb-page", 1, Diet::Sync(&["maud"])),
    room("wb-shell", 1, Diet::Sync(&[])),
    room("wb-invoke", 2, Diet::Async(&[])),
    room("wb-passes", 2, Diet::Sync(&[])),
    room("wb-facts", 2, Diet::Sync(&[])),
    room("wb-record", 2, Diet::Sync(&["memchr", "rusqlite", "simdutf8", "tempfile", "xxhash-rust"])),
    room("wb-dialect", 2, Diet::Sync(&["base64", "imagesize"])),
    room("wb-summarize", 3, Diet::Async(&[])),
    room("wb-recall", 3, Diet::Sync(&["memchr"])),
    room("wb-tokens", 3, Diet::Free),
    room("wb-providers", 3, Diet::Free),
    room("wb-conductor", 4, Diet::Async(&[])),
    room("wb-session", 5, Diet::Async(&POSTGRES)),
    room("wb-formats", 6, Diet::Sync(&["memchr"])),
    room("wb-compat", 4, Diet::Sync(&[])),
    room("wb-replay", 7, Diet::Sync(&["maud", "memchr"])),
    room("wb-view", 7, Diet::Free),
    room("wb-bind", 8, Diet::Sync(&["clap"])),
    room("wb-agent", 9, Diet::Free),
    room("wb-cli", 9, Diet::Free),
    room("window-budget", 9, Diet::Free),
    room("window-budget-python", 9, Diet::Free),
    room("window-budget-wasm", 9, Diet::Free),
    dev("wb-testkit"),
    dev("wb-e2e"),
    dev(XTASK),
];

/// The lock file of the workspace that is checked apart.
const OTHER_LOCK: &str = "fleet/Cargo.lock";

/// Checks the workspace below the root.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let metadata = metadata(root)?;
    let lock = std::fs::read_to_string(root.join(OTHER_LOCK));
    let lock = lock.map_err(|error| format!("{OTHER_LOCK}: {error}"))?;
    let found = findings(&metadata).into_iter().chain(unlocked(&metadata, &lock));
    report("layers", &found.collect::<Vec<_>>())
}

/// Returns the names of all crates.
pub(crate) fn packages(root: &Path) -> Result<Vec<String>, String> {
    let metadata = metadata(root)?;
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    Ok(packages.iter().filter_map(|package| package["name"].as_str().map(str::to_owned)).collect())
}

/// Returns the names of all that a crate of the workspace is compiled with.
pub(crate) fn dependencies(root: &Path) -> Result<BTreeSet<String>, String> {
    let metadata = metadata(root)?;
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let all = packages.iter().filter_map(|package| package["dependencies"].as_array()).flatten();
    let compiled = all.filter(|it| it["kind"] != "dev");
    Ok(compiled.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect())
}

fn metadata(root: &Path) -> Result<Value, String> {
    let words = ["metadata", "--format-version", "1", "--no-deps"];
    let text = program::output(&mut program::cargo(root, words))?;
    serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))
}

/// A dependency that is compiled into a crate or into its build script.
#[derive(Clone, Copy, Debug)]
struct Edge<'a> {
    from: &'a str,
    to: &'a str,
    /// True if it points to a crate of this workspace.
    inside: bool,
    /// True if a feature turns it on.
    optional: bool,
}

fn findings(metadata: &Value) -> Vec<String> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let names = packages.iter().filter_map(|package| package["name"].as_str());
    let unknown = names.filter(|name| find(name).is_none());
    let unknown = unknown.map(|name| format!("{name}: has no layer; give it one in xtask/src/layers.rs"));
    unknown.chain(packages.iter().flat_map(edges).filter_map(judge)).collect()
}

/// Finds what a lock file does not have of the dependencies of the crates in it.
fn unlocked(metadata: &Value, lock: &str) -> Vec<String> {
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let locked =
        |name: &str| lock.split("[[package]]").find(|it| it.contains(&format!("\nname = \"{name}\"\n")));
    let is_missing = |edge: &Edge<'_>| {
        let is_there =
            |package: &str| ["\"", " "].iter().any(|end| package.contains(&format!(" \"{}{end}", edge.to)));
        !edge.optional && locked(edge.from).is_some_and(|package| !is_there(package))
    };
    let missing = packages.iter().flat_map(edges).filter(is_missing);
    let found = missing.map(|Edge { from, to, .. }| {
        format!("{OTHER_LOCK}: {from} has no {to}; run `cargo update --workspace` next to it")
    });
    found.collect()
}

fn find(name: &str) -> Option<Room> {
    ROOMS.iter().copied().find(|room| room.name == name)
}

fn edges<'a>(package: &'a Value) -> Vec<Edge<'a>> {
    let from = package["name"].as_str().unwrap_or_default();
    let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    let compiled = dependencies.iter().filter(|dependency| dependency["kind"] != "dev");
    let edge = |dependency: &'a Value| Edge {
        from,
        to: dependency["name"].as_str().unwrap_or_default(),
        inside: dependency["path"].is_string(),
        optional: dependency["optional"] == true,
    };
    compiled.map(edge).collect()
}

fn judge(edge: Edge<'_>) -> Option<String> {
    let Edge { from, to, inside, optional } = edge;
    let own = find(from)?;
    if !inside {
        let allowed = allows(own.diet, to) || (optional && OPTIONAL.contains(&to));
        return (!allowed).then(|| format!("{from} -> {to}: not on the diet of {from}"));
    }
    // A crate without a layer is reported once, as such.
    let other = find(to)?;
    if from == XTASK {
        return Some(format!("{from} -> {to}: {XTASK} depends on no crate of this workspace"));
    }
    let Some(below) = other.layer else {
        return own.layer.map(|_| format!("{from} -> {to}: only tests may depend on {to}"));
    };
    if to == FACADE_ONLY.1 && from != FACADE_ONLY.0 {
        return Some(format!("{from} -> {to}: only {} may depend on {to}", FACADE_ONLY.0));
    }
    let layer = own.layer?;
    (below >= layer).then(|| {
        format!("{from} -> {to}: layer {layer} may not depend on layer {below}, only on smaller ones")
    })
}

fn allows(diet: Diet, name: &str) -> bool {
    match diet {
        Diet::Sync(more) => SYNC.contains(&name) || more.contains(&name),
        Diet::Async(more) => SYNC.contains(&name) || ASYNC.contains(&name) || more.contains(&name),
        Diet::Free => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> Value {
        let path = |name| find(name).map(|_| format!("/crates/{name}"));
        let dependencies =
            dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind, "path": path(name) }));
        json!({ "name": name, "dependencies": dependencies.collect::<Vec<_>>() })
    }

    /// Checks one crate with normal dependencies.
    fn check(name: &str, normal: &[&str]) -> Vec<String> {
        let dependencies: Vec<_> = normal.iter().map(|name| (*name, None)).collect();
        findings(&json!({ "packages": [package(name, &dependencies)] }))
    }

    #[test]
    fn edges_downwards_are_fine() {
        assert!(check("wb-conductor", &["wb-message", "wb-budget", "wb-passes", "wb-summarize"]).is_empty());
        assert!(check("wb-testkit", &["wb-message", "proptest"]).is_empty());
    }

    #[test]
    fn an_edge_upwards_is_found() {
        let found = check("wb-budget", &["wb-message", "wb-conductor"]);
        assert_eq!(
            found,
            ["wb-budget -> wb-conductor: layer 1 may not depend on layer 4, only on smaller ones"]
        );
    }

    #[test]
    fn an_edge_sideways_is_found() {
        let found = check("wb-passes", &["wb-facts"]);
        assert_eq!(found, ["wb-passes -> wb-facts: layer 2 may not depend on layer 2, only on smaller ones"]);
    }

    #[test]
    fn the_faults_of_other_systems_are_for_the_facade_alone() {
        assert!(check("window-budget", &["wb-compat"]).is_empty());
        let found = check("wb-cli", &["wb-compat"]);
        assert_eq!(found, ["wb-cli -> wb-compat: only window-budget may depend on wb-compat"]);
    }

    #[test]
    fn a_dev_crate_as_a_normal_or_build_dependency_is_found_and_as_a_dev_dependency_is_not() {
        assert_eq!(
            check("wb-cli", &["wb-testkit"]),
            ["wb-cli -> wb-testkit: only tests may depend on wb-testkit"]
        );
        let of_kind =
            |kind| findings(&json!({ "packages": [package("wb-cli", &[("wb-testkit", Some(kind))])] }));
        assert_eq!(of_kind("build").len(), 1);
        assert!(of_kind("dev").is_empty());
        assert!(check("wb-e2e", &["wb-testkit", "wb-formats"]).is_empty());
    }

    #[test]
    fn the_program_of_the_checks_depends_on_no_crate_of_the_workspace() {
        assert_eq!(check(XTASK, &["serde_json"]), [""; 0]);
        let found = check(XTASK, &["wb-message"]);
        assert_eq!(found, ["xtask -> wb-message: xtask depends on no crate of this workspace"]);
    }

    #[test]
    fn a_dependency_that_the_other_lock_file_lacks_is_found() {
        let metadata = json!({ "packages": [
            package("wb-facts", &[("wb-shell", None), ("serde", None), ("wb-testkit", Some("dev"))]),
            package("wb-agent", &[("tokio", None)]),
        ]});
        let lock =
            "[[package]]\nname = \"wb-facts\"\nversion = \"0.1.0\"\ndependencies = [\n \"serde 1.0\",\n";
        let found = unlocked(&metadata, lock);
        assert_eq!(
            found,
            ["fleet/Cargo.lock: wb-facts has no wb-shell; run `cargo update --workspace` next to it"]
        );
        assert!(unlocked(&metadata, &format!("{lock} \"wb-shell\",\n]\n")).is_empty());
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        let found = check("wb-misc", &["wb-message"]);
        assert_eq!(found, ["wb-misc: has no layer; give it one in xtask/src/layers.rs"]);
    }

    #[test]
    fn a_foreign_crate_that_is_not_on_the_diet_is_found() {
        assert_eq!(
            check("wb-message", &["serde", "memchr", "rand"]),
            ["wb-message -> rand: not on the diet of wb-message"]
        );
        assert_eq!(check("wb-record", &["tokio"]).len(), 1, "records are sync");
        assert!(check("wb-conductor", &["tokio", "async-trait"]).is_empty());
        assert!(check("wb-cli", &["clap", "anyhow"]).is_empty());
    }

    #[test]
    fn a_crate_on_no_diet_may_be_optional_only_if_it_is_listed() {
        let with = |name, optional| {
            let dependency = json!({ "name": name, "kind": null, "path": null, "optional": optional });
            findings(&json!({ "packages": [{ "name": "wb-budget", "dependencies": [dependency] }] })).len()
        };
        assert_eq!((with("schemars", true), with("schemars", false), with("rand", true)), (0, 1, 1));
    }

    #[test]
    fn the_map_of_the_crates_shows_each_layer_from_top_to_bottom() {
        let map = std::fs::read_to_string(crate::root().join("crates/README.md")).expect("the map");
        let names = map.split("| [").skip(1).filter_map(|cell| cell.split(']').next()).filter_map(find);
        let layers: Vec<u8> = names.filter_map(|room| room.layer).collect();
        assert!(layers.is_sorted_by(|one, next| one >= next), "{layers:?}");
        assert_eq!(layers.len(), ROOMS.iter().filter(|room| room.layer.is_some()).count());
    }

    #[test]
    fn this_workspace_keeps_its_layers() {
        let root = crate::root();
        assert_eq!(findings(&metadata(&root).expect("metadata")), [""; 0]);
    }
}
