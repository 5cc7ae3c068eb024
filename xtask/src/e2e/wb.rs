//! What is asked of `wb`: to compact a session in its own file, and to take that back.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::hosts::Host;
use super::stage::Stage;

/// The `wb` to be tested.
#[derive(Debug)]
pub(crate) struct Wb {
    program: PathBuf,
    /// Whether it writes into the sessions of every host, and not of pi only.
    is_general: bool,
}

impl Wb {
    /// Looks at what a program can do.
    pub(crate) fn at(program: PathBuf) -> Result<Self, String> {
        let help = Command::new(&program).args(["compact", "--help"]).stdin(Stdio::null()).output();
        let help = help.map_err(|error| format!("{}: {error}", program.display()))?;
        let is_general = String::from_utf8_lossy(&help.stdout).contains("--in-place");
        Ok(Self { program, is_general })
    }

    /// Returns whether it writes into sessions of this host.
    pub(crate) fn knows(&self, host: &Host) -> bool {
        self.is_general || host.name == "pi"
    }

    /// Compacts a session.
    pub(crate) fn compact(&self, stage: &Stage, file: &Path) -> Result<(), String> {
        let words: &[&str] =
            if self.is_general { &["compact", "--in-place", "--force"] } else { &["session", "compact"] };
        self.run(stage, "compact", words, file)
    }

    /// Takes the compaction back.
    pub(crate) fn undo(&self, stage: &Stage, file: &Path) -> Result<(), String> {
        self.run(stage, "undo", if self.is_general { &["undo"] } else { &["session", "undo"] }, file)
    }

    fn run(&self, stage: &Stage, label: &str, words: &[&str], file: &Path) -> Result<(), String> {
        let mut command = stage.command(&self.program);
        command.args(words).arg(file);
        stage.run(&format!("wb-{label}"), command).map(|_| ())
    }
}

/// Builds `wb` and returns where it is.
pub(crate) fn build(root: &Path, target: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--quiet", "-p", "wb-cli", "--target-dir"])
        .arg(target)
        .current_dir(root)
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cargo build: {error}"))?;
    let program = target.join("debug/wb").with_extension(std::env::consts::EXE_EXTENSION);
    if status.success() { Ok(program) } else { Err(format!("cargo build -p wb-cli: {status}")) }
}
