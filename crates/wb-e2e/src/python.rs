//! A virtual environment with packages of Python, made once for each set of versions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::agents;

/// The SDKs of the providers, and the models of the trajectory format ATIF.
pub(crate) const SDKS: [&str; 4] =
    ["openai==3.54.0", "anthropic==2.12.0", "google-genai==3.4.0", "atif==1.8.0"];
/// llama.cpp and its server, built for many platforms.
pub(crate) const LLAMA_CPP: &str = "xllamacpp==2026.10.11549";

/// The options of a command that runs programs of Python on `wb`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PythonOptions {
    /// The `wb` to test instead of the one of the checkout.
    wb: Option<PathBuf>,
    pub(crate) is_recorded: bool,
    /// Without Python nothing is done.
    pub(crate) is_skippable: bool,
}

impl PythonOptions {
    pub(crate) fn read(words: &[&str], usage: &str) -> Result<Self, String> {
        let mut options = Self::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--wb" => options.wb = Some(words.next().ok_or(usage)?.into()),
                "--record" => options.is_recorded = true,
                "--or-skip" => options.is_skippable = true,
                _ => return Err(usage.to_owned()),
            }
        }
        Ok(options)
    }

    /// Returns the `wb` to test, and builds that of the checkout.
    pub(crate) fn wb(&self, root: &Path, target: &Path) -> Result<PathBuf, String> {
        self.wb.clone().map_or_else(|| agents::build_wb(root, target), Ok)
    }
}

/// Returns whether Python can make virtual environments here.
pub(crate) fn is_there() -> bool {
    let is_fine = |words: &[&str]| {
        let mut asked = Command::new("python3");
        asked.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().is_ok_and(|status| status.success())
    };
    is_fine(&["-m", "venv", "--help"]) && is_fine(&["-m", "ensurepip", "--version"])
}

/// Installs packages into an environment below a folder if they are missing, and returns its
/// Python.
pub(crate) fn installed(cache: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    installed_with(cache, packages, &[])
}

/// Installs packages without those that they depend on.
pub(crate) fn installed_alone(cache: &Path, packages: &[&str]) -> Result<PathBuf, String> {
    installed_with(cache, packages, &["--no-deps"])
}

fn installed_with(cache: &Path, packages: &[&str], options: &[&str]) -> Result<PathBuf, String> {
    let folder = cache.join(packages.join("_").replace("==", "-"));
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    // An install that was broken off left no mark, and is begun again.
    let mark = folder.join("installed");
    if !mark.is_file() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let pip =
            ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
        run(Command::new(&python).args(pip).args(options).args(packages))?;
        std::fs::write(&mark, "").map_err(|error| format!("{}: {error}", mark.display()))?;
    }
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let shown = format!("{command:?}");
    let status = command.stdin(Stdio::null()).status().map_err(|error| format!("{shown}: {error}"))?;
    let hint = "hint: the packages come from the registry of Python; is it reached from here?";
    if status.success() { Ok(()) } else { Err(format!("{shown}: {status}\n{hint}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_in_any_order() {
        assert_eq!(PythonOptions::read(&["--all"], "usage"), Err("usage".to_owned()));
        let options = PythonOptions { wb: Some("wb".into()), is_skippable: true, ..PythonOptions::default() };
        assert_eq!(PythonOptions::read(&["--wb", "wb", "--or-skip"], ""), Ok(options));
    }

    #[test]
    fn every_package_is_pinned() {
        assert!(SDKS.iter().chain([&LLAMA_CPP]).all(|package| package.contains("==")));
    }
}
