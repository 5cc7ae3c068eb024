//! The calls of `wb`: to compact a session in its file, to undo that, and to repair one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::stage::Stage;

/// The `wb` to be tested.
#[derive(Debug)]
pub(crate) struct Wb {
    program: PathBuf,
}

impl Wb {
    pub(crate) fn new(program: PathBuf) -> Self {
        Self { program }
    }

    /// Returns where it is.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Compacts a session; that its host wrote to it just now is known.
    pub(crate) fn compact(&self, stage: &Stage, file: &Path) -> Result<(), String> {
        self.run(stage, "compact", &["compact", "--in-place", "--allow-open", "--force"], file)
    }

    /// Undoes the compaction.
    pub(crate) fn undo(&self, stage: &Stage, file: &Path) -> Result<(), String> {
        self.run(stage, "undo", &["undo", "--allow-open"], file)
    }

    /// Does the compaction again that was undone.
    pub(crate) fn redo(&self, stage: &Stage, file: &Path) -> Result<(), String> {
        self.run(stage, "redo", &["redo", "--allow-open"], file)
    }

    /// Repairs a session.
    pub(crate) fn repair(&self, stage: &Stage, file: &Path) -> Result<(), String> {
        self.run(stage, "repair", &["repair", "--in-place", "--allow-open"], file)
    }

    /// Puts it into an agent, or takes it out again, as its user would.
    pub(crate) fn put(&self, stage: &Stage, word: &str, host: &str) -> Result<(), String> {
        self.run(stage, word, &[word], host)
    }

    fn run(&self, stage: &Stage, label: &str, words: &[&str], last: impl AsRef<OsStr>) -> Result<(), String> {
        let mut command = stage.command(&self.program);
        command.args(words).arg(last);
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
