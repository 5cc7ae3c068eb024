//! `cargo xtask ci`: every check in order, up to the first failure.
//!
//! What takes too long for every commit runs with `--deep`: all cases of each law, every session,
//! the program as users install it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::speed::{dist, instructions};
use crate::times::{Times, slowest};
use crate::{alone, api, bindings, catalog, deep, e2e, fleet, layers, package, pages, program, tidy};

/// The action of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Runs cargo with these words.
    Cargo(&'static str),
    /// Runs cargo with these words while rustdoc's warnings are errors.
    Rustdoc(&'static str),
    /// Runs the tests.
    Tests,
    /// Runs the program of `crates/wb-e2e` with these words.
    EndToEnd(&'static str),
    /// Runs a check of this program.
    Own(fn(&Path) -> Result<(), String>),
}

/// The runs that a step is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runs {
    All,
    Short,
    Deep,
}

/// The steps with their names.
pub(crate) const STEPS: [(&str, Action, Runs); 26] = [
    ("fmt", Action::Cargo("fmt --all --check"), Runs::All),
    ("layers", Action::Own(layers::run), Runs::All),
    ("catalog", Action::Own(catalog::run), Runs::All),
    ("tidy", Action::Own(tidy::run), Runs::All),
    ("clippy", Action::Cargo("clippy --workspace --all-targets --all-features -- -D warnings"), Runs::All),
    ("each crate alone", Action::Own(alone::run), Runs::All),
    ("PostgreSQL", Action::Own(postgres), Runs::Deep),
    ("test", Action::Tests, Runs::All),
    ("instructions", Action::Own(|root| instructions::run(root, &[])), Runs::All),
    ("rustdoc", Action::Rustdoc("doc --workspace --no-deps --all-features"), Runs::All),
    ("e2e", Action::EndToEnd("e2e --or-skip pi codex"), Runs::Short),
    ("e2e", Action::EndToEnd("e2e --or-skip pi pi-0 codex opencode claude-code"), Runs::Deep),
    ("sdk", Action::EndToEnd("sdk --or-skip"), Runs::All),
    ("bindings", Action::Own(|root| bindings::run(root, &[])), Runs::Short),
    ("bindings", Action::Own(|root| bindings::run(root, &["--deep"])), Runs::Deep),
    ("fleet", Action::Own(|root| fleet::run(root, &["--deep"])), Runs::Deep),
    ("integrations", Action::Own(integrations), Runs::Deep),
    ("pages", Action::Own(pages::run), Runs::Deep),
    ("peers", Action::EndToEnd("peers --or-skip"), Runs::Deep),
    ("attack", Action::EndToEnd("attack --runs 1000"), Runs::Deep),
    ("programs on one crate", Action::Own(programs_on_one_crate), Runs::Deep),
    ("package", Action::Own(package::run), Runs::Deep),
    ("public surface", Action::Own(|root| api::run(root, &[])), Runs::Deep),
    ("oldest compiler", Action::Own(api::oldest_compiler), Runs::Deep),
    ("interop", Action::Own(api::interop), Runs::Deep),
    ("dist", Action::Own(dist::run), Runs::Deep),
];

/// The variable with which `wb_testkit::depth` runs all cases.
const DEEP: &str = "WB_DEEP";

/// The programs of tests; examples are built by clippy alone.
const TESTS: &str = "test --workspace --all-features --lib --bins --tests";
const DOCTESTS: &str = "test --workspace --all-features --doc";

/// The file with the seconds of each step of a recorded run: a name, a tab, the seconds.
pub(crate) const RECORD: &str = "docs/evaluation/ci.tsv";

const USAGE: &str = "usage: cargo xtask ci [--deep | --record]";

/// Runs the steps, with `--record` writes their seconds, and after a deep run its page.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let (is_deep, is_recorded) = match words {
        [] => (false, false),
        ["--deep"] => (true, false),
        ["--record"] => (false, true),
        _ => return Err(USAGE.to_owned()),
    };
    let start = Instant::now();
    let times = Times::new();
    let mut seconds = Vec::new();
    let skipped = if is_deep { Runs::Short } else { Runs::Deep };
    for (name, action, _) in STEPS.into_iter().filter(|(_, _, runs)| *runs != skipped) {
        let begun = Instant::now();
        println!("\n== {name}");
        step(root, action, &times, is_deep).map_err(|why| format!("{why}\n\n== {name} failed"))?;
        seconds.push((name, begun.elapsed().as_secs_f64()));
        println!("== {name}: fine after {:.1} s", begun.elapsed().as_secs_f64());
    }
    let times = times.read();
    println!("\n== the slowest tests\n{}", slowest(&times));
    for (name, seconds) in &seconds {
        println!("{seconds:>8.1} s  {name}");
    }
    let total = start.elapsed().as_secs_f64();
    println!("== all fine after {total:.1} s");
    if is_recorded {
        seconds.push(("all", total));
        program::write(root, RECORD, rows(&seconds))?;
    }
    if is_deep { deep::record(root, &seconds, &times) } else { Ok(()) }
}

fn rows(seconds: &[(&str, f64)]) -> String {
    seconds.iter().map(|(name, seconds)| format!("{name}\t{seconds:.0}\n")).collect::<Vec<_>>().concat()
}

fn step(root: &Path, action: Action, times: &Times, is_deep: bool) -> Result<(), String> {
    match action {
        Action::Cargo(words) => cargo(root, &line(words), &[]),
        Action::Rustdoc(words) => cargo(root, &line(words), &[("RUSTDOCFLAGS", "-D warnings".into())]),
        Action::Tests => tests(root, times, is_deep),
        Action::EndToEnd(words) => e2e::run_built(root, words),
        Action::Own(check) => check(root),
    }
}

fn integrations(root: &Path) -> Result<(), String> {
    e2e::run(root, &["integrations"])
}

/// Installs the distribution's `PostgreSQL` if there is none; without it, its tests skip.
fn postgres(root: &Path) -> Result<(), String> {
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).current_dir(root);
        shell
    };
    let is_there = |program: &str| {
        let look = format!("command -v {program} || ls /usr/lib/postgresql/*/bin/{program} 2>/dev/null");
        program::output(&mut shell(&look)).is_ok()
    };
    if is_there("initdb") {
        return Ok(());
    }
    if !is_there("apt-get") {
        println!("PostgreSQL is not installed, and its tests skip");
        return Ok(());
    }
    let install = "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends postgresql";
    program::run(&mut shell(install))
}

fn line(words: &str) -> Vec<String> {
    words.split(' ').map(str::to_owned).collect()
}

/// Runs each program of `examples/alone`, which depends on one of our crates and nothing else, and
/// their tests.
fn programs_on_one_crate(root: &Path) -> Result<(), String> {
    let folder = root.join("examples/alone");
    let entries = folder.read_dir().map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.flatten().filter(|entry| entry.path().join("Cargo.toml").is_file());
    let mut names: Vec<_> = names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort_unstable();
    let target = [("CARGO_TARGET_DIR", root.join("target/alone").into_os_string())];
    names.iter().try_for_each(|name| {
        let package = format!("only-{}", name.trim_start_matches("wb-"));
        cargo(&folder, &line(&format!("run --quiet --locked -p {package}")), &target)
    })?;
    cargo(&folder, &line("test --quiet --locked --workspace"), &target)
}

/// Runs the tests; those that skip for want of shared data add a line each to a file, which is
/// counted.
fn tests(root: &Path, times: &Times, is_deep: bool) -> Result<(), String> {
    let list = std::env::temp_dir().join(format!("window-budget-skipped-{}", std::process::id()));
    let _ = std::fs::remove_file(&list);
    let mut env = vec![("WB_SKIPPED", list.clone().into_os_string()), times.variable()];
    env.extend(is_deep.then(|| (DEEP, OsString::from("1"))));
    if std::env::var_os("WB_SHARED").is_none() {
        let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
        env.extend(shared_folder(root, is_ci).map(|folder| ("WB_SHARED", OsString::from(folder))));
    }
    let words = [line(TESTS), vec!["--config".to_owned(), Times::config()?]].concat();
    let outcome = cargo(root, &words, &env).and_then(|()| cargo(root, &line(DOCTESTS), &env));
    let skipped = std::fs::read_to_string(&list).unwrap_or_default();
    let _ = std::fs::remove_file(&list);
    println!("{}", skipped_line(&skipped));
    outcome
}

/// Returns the folder of shared data whose absence must fail the tests: one that is there, and any
/// in CI.
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

fn cargo(root: &Path, words: &[String], env: &[(&str, OsString)]) -> Result<(), String> {
    let mut cargo = program::cargo(root, words);
    println!("$ {}", program::line(&cargo));
    program::run(cargo.envs(env.iter().map(|(name, value)| (name, value))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_run_has_every_check_of_a_short_one() {
        let names = |skipped| STEPS.into_iter().filter(move |it| it.2 != skipped).map(|(name, ..)| name);
        let (short, deep): (Vec<_>, Vec<_>) = (names(Runs::Deep).collect(), names(Runs::Short).collect());
        assert!(short.iter().all(|name| deep.contains(name)));
        assert_eq!(short[..4], ["fmt", "layers", "catalog", "tidy"]);
        assert_eq!(
            deep[12..],
            [
                "bindings",
                "fleet",
                "integrations",
                "pages",
                "peers",
                "attack",
                "programs on one crate",
                "package",
                "public surface",
                "oldest compiler",
                "interop",
                "dist"
            ]
        );
    }

    #[test]
    fn a_failing_step_says_why() {
        let why = step(Path::new("."), Action::Own(|_| Err("two files".to_owned())), &Times::new(), false);
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
