//! `cargo xtask ci`: every check in order, up to the first failure.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{catalog, dist, e2e, layers, sdk, tidy};

/// What a step does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Runs cargo with these words.
    Cargo(&'static str),
    /// Runs cargo with these words while rustdoc's warnings are errors.
    Rustdoc(&'static str),
    /// Runs cargo's tests with these words, and tells how many were skipped.
    Tests(&'static str),
    /// Runs a check of this program.
    Own(fn(&Path) -> Result<(), String>),
}

/// The steps with their names.
pub(crate) const STEPS: [(&str, Action); 11] = [
    ("fmt", Action::Cargo("fmt --all --check")),
    ("clippy", Action::Cargo("clippy --workspace --all-targets --all-features -- -D warnings")),
    ("clippy of wb without models", Action::Cargo("clippy -p wb-cli --no-default-features -- -D warnings")),
    ("layers", Action::Own(layers::run)),
    ("catalog", Action::Own(catalog::run)),
    ("tidy", Action::Own(|root| tidy::run(root, &[]))),
    ("test", Action::Tests("test --workspace --all-features")),
    ("rustdoc", Action::Rustdoc("doc --workspace --no-deps --all-features")),
    ("e2e", Action::Own(e2e::run_if_npm_is_there)),
    ("sdk", Action::Own(sdk::run_if_python_is_there)),
    ("dist", Action::Own(dist::run)),
];

/// Runs the steps.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let start = Instant::now();
    for (name, action) in STEPS {
        let begun = Instant::now();
        println!("\n== {name}");
        step(root, action).map_err(|why| format!("{why}\n\n== {name} failed"))?;
        println!("== {name}: fine after {:.1} s", begun.elapsed().as_secs_f64());
    }
    println!("\n== all fine after {:.1} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn step(root: &Path, action: Action) -> Result<(), String> {
    match action {
        Action::Cargo(words) => cargo(root, words, &[]),
        Action::Rustdoc(words) => cargo(root, words, &[("RUSTDOCFLAGS", "-D warnings".into())]),
        Action::Tests(words) => tests(root, words),
        Action::Own(check) => check(root),
    }
}

/// Runs the tests; those that skip for want of shared data add a line each to a file, which is counted.
fn tests(root: &Path, words: &str) -> Result<(), String> {
    let list = std::env::temp_dir().join(format!("window-budget-skipped-{}", std::process::id()));
    let _ = std::fs::remove_file(&list);
    let mut env = vec![("WB_SKIPPED", list.clone().into_os_string())];
    if std::env::var_os("WB_SHARED").is_none() {
        let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        env.extend(shared_folder(root, is_ci).map(|folder| ("WB_SHARED", OsString::from(folder))));
    }
    let outcome = cargo(root, words, &env);
    let skipped = std::fs::read_to_string(&list).unwrap_or_default();
    let _ = std::fs::remove_file(&list);
    println!("{}", skipped_line(&skipped));
    outcome
}

/// Returns the folder of shared data whose absence must fail the tests: one that is there, and any in CI.
fn shared_folder(root: &Path, is_ci: bool) -> Option<PathBuf> {
    let folder = root.join("../shared");
    (is_ci || folder.is_dir()).then_some(folder)
}

/// Names the tests that were skipped and counts them; one that skips several files is one.
fn skipped_line(skipped: &str) -> String {
    let tests: BTreeSet<&str> = skipped.lines().collect();
    let count = format!("{} tests skipped for want of shared data", tests.len());
    tests.into_iter().chain([count.as_str()]).collect::<Vec<_>>().join("\n")
}

fn cargo(root: &Path, words: &str, env: &[(&str, OsString)]) -> Result<(), String> {
    println!("$ cargo {words}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(words.split(' '))
        .envs(env.iter().map(|(name, value)| (name, value)))
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cargo {words}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("cargo {words}: {status}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_steps_stand_in_the_order_of_the_house() {
        let names = STEPS.map(|(name, _)| name);
        let lints = ["fmt", "clippy", "clippy of wb without models", "layers", "catalog", "tidy"];
        assert_eq!(names[..6], lints);
        assert_eq!(names[6..], ["test", "rustdoc", "e2e", "sdk", "dist"]);
    }

    #[test]
    fn a_failing_step_says_why() {
        let why = step(Path::new("."), Action::Own(|_| Err("two files".to_owned())));
        assert_eq!(why, Err("two files".to_owned()));
    }
    #[test]
    fn a_test_that_skips_twice_is_one_skipped_test() {
        assert_eq!(skipped_line(""), "0 tests skipped for want of shared data");
        let skipped_line = skipped_line("it-1 a\nit-1 b\nit-1 a\n");
        assert_eq!(skipped_line, "it-1 a\nit-1 b\n2 tests skipped for want of shared data");
    }

    #[test]
    fn shared_data_that_is_missing_fails_the_tests_only_in_ci() {
        let root = Path::new("no such folder/window-budget");
        assert_eq!(shared_folder(root, false), None);
        assert_eq!(shared_folder(root, true), Some(root.join("../shared")));
    }
}
