//! Runs the command, and locates test data.

pub(crate) mod home;
pub(crate) mod place;

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The output of the command.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `wb` at the root of the repository.
pub(crate) fn wb<S: AsRef<OsStr>>(args: &[S]) -> Answer {
    wb_with(args, b"")
}

/// Runs `wb` with a standard input.
pub(crate) fn wb_with<S: AsRef<OsStr>>(args: &[S], stdin: &[u8]) -> Answer {
    wb_of(Path::new("/nowhere"), args, stdin)
}

/// Runs `wb` for a user with this home.
pub(crate) fn wb_of<S: AsRef<OsStr>>(home: &Path, args: &[S], stdin: &[u8]) -> Answer {
    wb_in(home, &[], args, stdin)
}

/// Runs `wb` for a user with this home and these variables.
pub(crate) fn wb_in<S: AsRef<OsStr>>(
    home: &Path,
    variables: &[(&str, &str)],
    args: &[S],
    stdin: &[u8],
) -> Answer {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wb"));
    // Ignore the variables of the user or agent that runs the tests.
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    let mut child = command
        .args(args)
        .current_dir(root())
        .env("HOME", home)
        .envs(variables.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The command may refuse its arguments before it reads anything.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Answer {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Returns whether a screen differs from a wider one in its line ends, and in times, alone.
pub(crate) fn is_wrapped(narrow: &str, wide: &str) -> bool {
    let words = |text: &'_ str| -> Vec<String> {
        text.split_whitespace().filter(|word| !word.starts_with("20")).map(str::to_owned).collect()
    };
    words(narrow) == words(wide)
}

pub(crate) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}
