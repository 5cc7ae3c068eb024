//! `wb fleet`: runs the program `wb-fleet` in place of this one.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::args::Fleet;
use crate::terminal::exit_code::Exit;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

const PROGRAM: &str = "wb-fleet";

/// Runs `wb-fleet` from next to this program, or from PATH, with the same words.
pub(crate) fn fleet(shell: &Shell, args: &Fleet) -> Result<Exit> {
    let mut command = Command::new(program());
    command.args(&args.words);
    if shell.is_json && !args.words.iter().any(|word| word == OsStr::new("--json")) {
        command.arg("--json");
    }
    run(&mut command).map_err(|error| {
        let what = format!("{PROGRAM} cannot be run: {error}");
        let hint =
            format!("`cargo install --path fleet/{PROGRAM}` in the source of wb installs it next to wb");
        UserError::new(what, hint).into()
    })
}

fn program() -> PathBuf {
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let here = std::env::current_exe().ok().map(|wb| wb.with_file_name(&name));
    here.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

#[cfg(unix)]
fn run(command: &mut Command) -> std::io::Result<Exit> {
    // It returns only if the program cannot be started.
    Err(std::os::unix::process::CommandExt::exec(command))
}

#[cfg(not(unix))]
fn run(command: &mut Command) -> std::io::Result<Exit> {
    command.status().map(|status| if status.success() { Exit::Done } else { Exit::Failed })
}
