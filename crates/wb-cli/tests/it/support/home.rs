//! An empty home with a project in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::Answer;

/// The agents that `wb` can be installed in.
pub(crate) const HOSTS: [&str; 5] = ["claude-code", "codex", "gemini-cli", "opencode", "pi"];

/// Returns the options for the destination.
pub(crate) fn scopes(host: &str) -> &'static [&'static str] {
    if host == "gemini-cli" { &[""] } else { &["", " --project"] }
}

/// A home, a project in it, and a program to run.
pub(crate) struct Home {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) wb: PathBuf,
    /// The working folder below it.
    pub(crate) project: PathBuf,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        Self { folder, wb: env!("CARGO_BIN_EXE_wb").into(), project: "project".into() }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().join(below)
    }

    pub(crate) fn lay(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).unwrap()
    }

    pub(crate) fn run(&self, line: &str) -> Answer {
        self.run_at("100", line)
    }

    pub(crate) fn run_at(&self, columns: &str, line: &str) -> Answer {
        self.run_in(&[("COLUMNS", columns)], line)
    }

    /// Runs it where programs are found in the folder `bin` of the home.
    pub(crate) fn run_with_path(&self, line: &str) -> Answer {
        let bin = self.path("bin");
        self.run_in(&[("COLUMNS", "100"), ("PATH", bin.to_str().unwrap())], line)
    }

    /// Runs it with these variables.
    pub(crate) fn run_with(&self, variables: &[(&str, &str)], line: &str) -> Answer {
        self.run_in(variables, line)
    }

    fn run_in(&self, variables: &[(&str, &str)], line: &str) -> Answer {
        self.run_words(variables, &line.split_whitespace().collect::<Vec<_>>())
    }

    fn run_words(&self, variables: &[(&str, &str)], words: &[&str]) -> Answer {
        let mut command = Command::new(&self.wb);
        let output = command
            .args(words)
            .current_dir(self.folder.path().join(&self.project))
            .env_clear()
            .env("HOME", self.folder.path())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Answer {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    pub(crate) fn done(&self, line: &str) -> String {
        let answer = self.run(line);
        assert_eq!(answer.code, 0, "wb {line}: {}{}", answer.stdout, answer.stderr);
        answer.stdout
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.done(&format!("{line} --json"))).unwrap()
    }

    /// Runs what fails and changes nothing.
    pub(crate) fn refused(&self, line: &str) -> String {
        let before = self.files();
        let answer = self.run(line);
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "wb {line}: {}", answer.stderr);
        assert!(answer.stderr.contains("\nhint: "), "{}", answer.stderr);
        assert_eq!(self.files(), before);
        answer.stderr
    }

    /// Runs words that no session is found for, and returns the error.
    pub(crate) fn refused_words(&self, words: &[&str]) -> String {
        let answer = self.run_words(&[("COLUMNS", "100")], words);
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "wb {words:?}: {}", answer.stderr);
        answer.stderr
    }

    /// Returns the content of every file below the home.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for path in folder.read_dir().unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else if let Ok(text) = fs::read_to_string(&path) {
                    files.insert(path, text);
                }
            }
        }
        files
    }
}
