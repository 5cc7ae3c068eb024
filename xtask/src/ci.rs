//! `cargo xtask ci`: every check in order, up to the first failure.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{layers, tidy};

/// What a step does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// Runs cargo with these words.
    Cargo(&'static str),
    /// Runs cargo with these words while rustdoc's warnings are errors.
    Rustdoc(&'static str),
    /// Runs a check of this program.
    Own(fn(&Path) -> Result<(), String>),
}

/// The steps with their names.
pub(crate) const STEPS: [(&str, Action); 6] = [
    ("fmt", Action::Cargo("fmt --all --check")),
    ("clippy", Action::Cargo("clippy --workspace --all-targets --all-features -- -D warnings")),
    ("layers", Action::Own(layers::run)),
    ("tidy", Action::Own(tidy::run)),
    ("test", Action::Cargo("test --workspace --all-features")),
    ("rustdoc", Action::Rustdoc("doc --workspace --no-deps --all-features")),
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
        Action::Cargo(words) => cargo(root, words, None),
        Action::Rustdoc(words) => cargo(root, words, Some(("RUSTDOCFLAGS", "-D warnings"))),
        Action::Own(check) => check(root),
    }
}

fn cargo(root: &Path, words: &str, env: Option<(&str, &str)>) -> Result<(), String> {
    println!("$ cargo {words}");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(words.split(' '))
        .envs(env)
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
        assert_eq!(STEPS.map(|(name, _)| name), ["fmt", "clippy", "layers", "tidy", "test", "rustdoc"]);
    }

    #[test]
    fn a_failing_step_says_why() {
        let why = step(Path::new("."), Action::Own(|_| Err("two files".to_owned())));
        assert_eq!(why, Err("two files".to_owned()));
    }
}
