//! The promises to users of the crates: the public surface of each, recorded in
//! `docs/reference/api` so that a change of it is seen, and the oldest compiler.

use std::path::Path;
use std::process::Command;

use crate::program;

/// The crates whose surface is recorded: those that others depend on piecemeal.
const CRATES: [&str; 5] = ["wb-message", "wb-budget", "wb-passes", "wb-summarize", "wb-conductor"];

/// The folder of the recorded surfaces.
const FOLDER: &str = "docs/reference/api";

/// The version of cargo-public-api; another one may print the same surface in other words.
const VERSION: &str = "0.52.0";

/// Compares the surfaces with the recorded ones, or records them with `--write`.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let is_written = match words {
        [] => false,
        ["--write"] => true,
        _ => return Err("usage: cargo xtask api [--write]".to_owned()),
    };
    let tools = root.join("target/tools");
    let line = format!("install --quiet --locked --version {VERSION} cargo-public-api --root");
    let installed =
        program::run(program::cargo(root, line.split(' ')).arg(&tools)).and_then(|()| has_nightly());
    if let Err(why) = installed {
        println!(
            "skipped: {why}\nhint: the surface is read with nightly Rust and cargo-public-api {VERSION}"
        );
        return Ok(());
    }
    let mut changed = Vec::new();
    for name in CRATES {
        let mut program = Command::new(tools.join("bin/cargo-public-api"));
        program.args(["public-api", "--package", name, "-sss"]).current_dir(root);
        program.env("RUSTUP_TOOLCHAIN", "nightly").env("CARGO_TARGET_DIR", root.join("target/api"));
        program.env_remove("CARGO").env_remove("RUSTC");
        let surface = program::output(&mut program)?;
        let file = format!("{FOLDER}/{name}.txt");
        if is_written {
            program::write(root, &file, &surface)?;
        } else if std::fs::read_to_string(root.join(&file)).unwrap_or_default() != surface {
            changed.push(format!("{file}: the public surface has changed"));
        }
    }
    if changed.is_empty() {
        return Ok(());
    }
    Err(format!("{}\nhint: read `cargo xtask api --write` and `git diff {FOLDER}`", changed.join("\n")))
}

fn has_nightly() -> Result<(), String> {
    program::output(Command::new("rustup").args(["run", "nightly", "rustc", "--version"])).map(|_| ())
}

/// Checks the workspace with the oldest compiler that its manifest promises.
pub(crate) fn oldest_compiler(root: &Path) -> Result<(), String> {
    with_oldest(root, "check --quiet --workspace --all-features", &root.join("target/oldest"))
}

/// Tests the conversions for other libraries, which need a newer compiler than the workspace, and
/// runs their examples.
pub(crate) fn interop(root: &Path) -> Result<(), String> {
    let (folder, target) = (root.join("interop"), root.join("target/interop"));
    let words = ["genai", "openai", "rig"]
        .map(|name| format!("run --quiet --all-features --locked --example {name}"));
    let tests = "test --quiet --all-features --locked".to_owned();
    [tests].into_iter().chain(words).try_for_each(|words| with_oldest(&folder, &words, &target))
}

/// Runs cargo in a folder with the compiler that its manifest names.
fn with_oldest(folder: &Path, words: &str, target: &Path) -> Result<(), String> {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).map_err(|error| error.to_string())?;
    let version = oldest(&manifest).ok_or("Cargo.toml: rust-version not found")?;
    let mut install = Command::new("rustup");
    install.args(["toolchain", "install", version, "--profile", "minimal"]);
    if let Err(why) = program::run(&mut install) {
        println!("skipped: {why}\nhint: rustup installs Rust {version}");
        return Ok(());
    }
    let mut cargo = Command::new("rustup");
    cargo.args(["run", version, "cargo"]).args(words.split(' ')).current_dir(folder);
    cargo.env_remove("CARGO").env_remove("RUSTC").env_remove("RUSTUP_TOOLCHAIN");
    program::run(cargo.env("CARGO_TARGET_DIR", target))
}

fn oldest(manifest: &str) -> Option<&str> {
    manifest.lines().find_map(|line| line.strip_prefix("rust-version = \""))?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_compiler_is_that_of_the_manifest() {
        assert_eq!(oldest("[workspace.package]\nrust-version = \"1.91\"\n"), Some("1.91"));
        assert_eq!(oldest("rust-version.workspace = true\n"), None);
    }
}
