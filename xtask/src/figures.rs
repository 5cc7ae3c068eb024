//! `cargo xtask figures`: measures on real sessions what a compaction keeps, and writes that into the documentation.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program that measures.
const WORDS: &str = "run --quiet --release -p wb-replay --example figures --";
const FILE: &str = "docs/evaluation/retention.md";
/// The folders of sessions that it can read.
const FOLDERS: [&str; 2] = ["sessions/claude-code", "sessions/pi"];

/// Writes the figures; the words are the folder of the shared data and the date, both of which may be left out.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let (folder, date) = match words {
        [] => (None, None),
        [folder] => (Some(PathBuf::from(folder)), None),
        [folder, date] => (Some(PathBuf::from(folder)), Some((*date).to_owned())),
        _ => return Err("usage: cargo xtask figures [FOLDER [DATE]]".to_owned()),
    };
    let shared = folder.or_else(|| std::env::var_os("WB_SHARED").map(PathBuf::from));
    let folders = folders_of(&root.join(shared.unwrap_or_else(|| "../shared".into())))?;
    let date = date.map_or_else(|| date_of_head(root), Ok)?;
    let arguments = std::iter::once(OsStr::new(&date)).chain(folders.iter().map(|folder| folder.as_os_str()));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let text = output(Command::new(cargo).args(WORDS.split(' ')).args(arguments).current_dir(root))?;
    std::fs::write(root.join(FILE), text).map_err(|error| format!("{FILE}: {error}"))?;
    println!("{FILE}: written");
    Ok(())
}

/// Returns the folders of sessions, or what to do if they are not there.
fn folders_of(shared: &Path) -> Result<Vec<PathBuf>, String> {
    let folders = FOLDERS.map(|folder| shared.join(folder));
    match folders.iter().find(|folder| !folder.is_dir()) {
        None => Ok(folders.into()),
        Some(missing) => Err(format!(
            "there is no {}\nhint: put session files of Claude Code and pi into {} of a folder, and name that folder: cargo xtask \
             figures FOLDER, or WB_SHARED=FOLDER",
            missing.display(),
            FOLDERS.join(" and ")
        )),
    }
}

/// Returns the day of the last commit.
fn date_of_head(root: &Path) -> Result<String, String> {
    let date = output(Command::new("git").args(["log", "-1", "--format=%cs"]).current_dir(root));
    let date = date.map_err(|why| format!("{why}\nhint: name the date: cargo xtask figures FOLDER DATE"))?;
    Ok(date.trim().to_owned())
}

/// Runs a program and returns what it printed.
fn output(program: &mut Command) -> Result<String, String> {
    let shown = program.get_program().display().to_string();
    let output = program.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{shown}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{shown}: {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| format!("{shown}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_that_are_not_there_are_named_with_what_to_do() {
        let why = folders_of(Path::new("no such folder")).unwrap_err();
        assert!(
            why.starts_with("there is no no such folder/sessions/claude-code\nhint: put session files"),
            "{why}"
        );
    }
}
