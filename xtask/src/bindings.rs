//! `cargo xtask bindings`: the packages for Python and JavaScript, tested as their users have them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{program, target};

const USAGE: &str = "usage: cargo xtask bindings [--deep | --speed]";
/// The frameworks whose adapters are tested with every commit; a deep run tests all.
const SHORT: [&str; 2] = ["openai-agents", "langchain"];
/// Builds the native part for Python with the features of the tests, after which little is left to
/// compile.
const AS_TESTED: &str = "build --quiet --workspace --all-features --lib --example large_log";
const AS_SHIPPED: &str = "build --quiet -p window-budget-python";
/// Prints the requirements of extras of the package.
const REQUIREMENTS: &str = "\
import sys, tomllib
extras = tomllib.load(open('pyproject.toml', 'rb'))['project']['optional-dependencies']
names = [name for name in extras if name == 'test' or not sys.argv[1:] or name in sys.argv[1:]]
print('\\n'.join(line for name in names for line in extras[name]))";

/// Tests the package for Python, and with `--deep` that for JavaScript too; skips what has no
/// interpreter here.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let is_deep = match words {
        [] => false,
        ["--deep"] => true,
        _ => return Err(USAGE.to_owned()),
    };
    python(root, is_deep)?;
    if is_deep { javascript(root) } else { Ok(()) }
}

/// Runs the tests of the package for Python on a copy with its native part.
fn python(root: &Path, is_deep: bool) -> Result<(), String> {
    if !is_there("python3", &["-c", "import ensurepip, tomllib, venv"]) {
        println!("bindings: Python 3.11 with venv is not installed, so its package is not tested");
        return Ok(());
    }
    let build = if is_deep { AS_SHIPPED } else { AS_TESTED };
    program::run(&mut program::cargo(root, build.split(' ')))?;
    let folder = copy(root, "bindings/python")?;
    let native = target()?.join("debug/lib_native.so");
    let to = folder.join("window_budget/_native.abi3.so");
    std::fs::copy(&native, to).map_err(|error| format!("{}: {error}", native.display()))?;
    let python = environment(&folder)?;
    let extras = if is_deep { &[][..] } else { &SHORT };
    install(&python, &folder, extras)?;
    program::run(
        Command::new(&python).args(["-m", "pytest", "-q"]).env("PYTHONPATH", &folder).current_dir(&folder),
    )
}

/// Installs what some extras of a package require and its tests, or all extras.
pub(crate) fn install(python: &Path, folder: &Path, extras: &[&str]) -> Result<(), String> {
    let mut list = Command::new(python);
    list.args(["-c", REQUIREMENTS]).args(extras).current_dir(folder);
    let requirements = program::output(&mut list)?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(requirements.lines());
    program::run(&mut pip)
}

/// Returns the interpreter of an environment for the tests, which is created once.
pub(crate) fn environment(folder: &Path) -> Result<PathBuf, String> {
    let environment = folder.with_file_name("venv");
    let python = environment.join("bin/python");
    if !python.exists() {
        program::run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    }
    Ok(python)
}

/// Runs the tests of the packages for JavaScript on copies with their native parts.
fn javascript(root: &Path) -> Result<(), String> {
    if !is_there("npm", &["--version"]) {
        println!("bindings: npm is not installed, so its packages are not tested");
        return Ok(());
    }
    let folder = copy(root, "bindings/wasm")?;
    wasm_package(root, &folder.join("pkg"))?;
    let npm = |words: &[&str]| program::run(Command::new("npm").args(words).current_dir(&folder));
    npm(&["ci", "--no-audit", "--no-fund", "--loglevel", "error"])?;
    npm(&["test"])
}

/// Builds the module of WebAssembly and writes its package into a folder.
pub(crate) fn wasm_package(root: &Path, out: &Path) -> Result<(), String> {
    const BUILD: &str = "build --quiet --profile wasm --target wasm32-unknown-unknown -p window-budget-wasm";
    const GLUE: &str = "run --quiet --locked --manifest-path bindings/wasm/glue/Cargo.toml --";
    program::run(&mut program::cargo(root, BUILD.split(' ')))?;
    let module = target()?.join("wasm32-unknown-unknown/wasm/window_budget_wasm.wasm");
    let mut glue = program::cargo(root, GLUE.split(' '));
    program::run(glue.env("CARGO_TARGET_DIR", target()?.join("glue")).arg(module).arg(out))
}

/// Copies the packages and what their tests read below the target directory; returns the folder of
/// one.
pub(crate) fn copy(root: &Path, folder: &str) -> Result<PathBuf, String> {
    const READ: [&str; 5] =
        ["bindings/", "fleet/python/", "fixtures/bindings/", "docs/reference/api.", "Cargo.toml"];
    let copies = target()?.join("bindings/copy");
    let files = program::files(root)?;
    for file in files.iter().filter(|file| READ.iter().any(|read| file.starts_with(read))) {
        let to = copies.join(file);
        let place = |error: std::io::Error| format!("{file}: {error}");
        to.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(place)?;
        std::fs::copy(root.join(file), to).map_err(place)?;
    }
    Ok(copies.join(folder))
}

/// Reports whether a program can be started with some words.
pub(crate) fn is_there(name: &str, words: &[&str]) -> bool {
    Command::new(name).args(words).output().is_ok_and(|output| output.status.success())
}
