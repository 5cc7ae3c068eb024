//! `cargo xtask fleet`: the workspace in `fleet/`, whose engines build for minutes.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use crate::{bindings, program, target};

const USAGE: &str = "usage: cargo xtask fleet [--deep]";
const FOLDER: &str = "fleet";
/// The requirements of the tests of the package for Python.
const EXTRAS: [&str; 1] = ["test"];

/// Checks and tests the workspace, and with `--deep` the package for Python in real engines.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let is_deep = match words {
        [] => false,
        ["--deep"] => true,
        _ => return Err(USAGE.to_owned()),
    };
    let folder = root.join(FOLDER);
    let cargo = |words: &str| program::run(&mut cargo(&folder, words));
    cargo("fmt --all --check")?;
    cargo("clippy --quiet --release --locked --workspace --all-targets -- -D warnings")?;
    cargo("build --quiet --release --locked --workspace --all-targets")?;
    cargo("test --quiet --release --locked --workspace")?;
    if is_deep { python(root, &folder) } else { Ok(()) }
}

/// Returns cargo without what `cargo run` says of this program: `ring` would be built again for it,
/// and with it all of `DataFusion`.
fn cargo(folder: &Path, words: &str) -> Command {
    let mut cargo = program::cargo(folder, words.split(' '));
    let names = std::env::vars_os().map(|(name, _)| name);
    let is_of_run = |name: &OsString| {
        name.to_str().is_some_and(|it| it.starts_with("CARGO_PKG_") || it.starts_with("CARGO_MANIFEST_"))
    };
    for name in names.filter(is_of_run) {
        cargo.env_remove(name);
    }
    cargo
}

/// Runs the tests of the package for Python on a copy with its native part.
fn python(root: &Path, folder: &Path) -> Result<(), String> {
    if !bindings::is_there("python3", &["-c", "import ensurepip, tomllib, venv"]) {
        println!("fleet: Python 3.11 with venv is not installed, so its package is not tested");
        return Ok(());
    }
    let copy = bindings::copy(root, "fleet/python")?;
    let native = folder.join("target/release/lib_native.so");
    let to = copy.join("window_budget_arrow/_native.abi3.so");
    std::fs::copy(&native, to).map_err(|error| format!("{}: {error}", native.display()))?;
    program::run(&mut program::cargo(root, ["build", "--quiet", "-p", "wb-cli"]))?;
    let python = bindings::environment(&copy)?;
    bindings::install(&python, &copy, &EXTRAS)?;
    program::run(
        Command::new(&python)
            .args(["-m", "pytest", "-q"])
            .env("PYTHONPATH", &copy)
            .env("WB_PROGRAM", target()?.join("debug/wb"))
            .env("WB_FLEET_PROGRAM", folder.join("target/release/wb-fleet"))
            .current_dir(&copy),
    )
}
