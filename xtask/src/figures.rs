//! `cargo xtask figures`: measures on real sessions what a compaction keeps, and writes that into the documentation.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How a program that measures is run, but for its name.
const WORDS: &str = "run --quiet --release -p wb-replay --example";
/// The programs that measure, and what is written from each.
const PROGRAMS: [(&str, &str); 2] =
    [("figures", "docs/evaluation/retention.md"), ("cost", "docs/evaluation/cost.md")];
/// The folders of sessions that what is kept is measured on.
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
    let shared = root.join(shared.unwrap_or_else(|| "../shared".into()));
    let folders = folders_of(&shared)?;
    let date = date.map_or_else(|| date_of_head(root), Ok)?;
    for (program, file) in PROGRAMS {
        // What a moment costs is measured on every session that can be read.
        let folders = if program == "cost" { all_folders(&shared)? } else { folders.clone() };
        write(root, (program, file), &date, &folders)?;
    }
    Ok(())
}

fn write(root: &Path, (program, file): (&str, &str), date: &str, folders: &[PathBuf]) -> Result<(), String> {
    let commit = commit_of_head(root, "docs/evaluation/")?;
    let words = [program, "--", date, &commit].map(OsStr::new);
    let arguments = words.into_iter().chain(folders.iter().map(|folder| folder.as_os_str()));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let text = output(Command::new(cargo).args(WORDS.split(' ')).args(arguments).current_dir(root))?;
    std::fs::write(root.join(file), text).map_err(|error| format!("{file}: {error}"))?;
    println!("{file}: written");
    Ok(())
}

/// Returns every folder of sessions, in order.
fn all_folders(shared: &Path) -> Result<Vec<PathBuf>, String> {
    let sessions = shared.join("sessions");
    let entries = sessions.read_dir().map_err(|error| format!("{}: {error}", sessions.display()))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.retain(|folder| folder.is_dir());
    folders.sort();
    Ok(folders)
}

/// Returns the folders of sessions that are there, or what to do if none is.
fn folders_of(shared: &Path) -> Result<Vec<PathBuf>, String> {
    let folders = FOLDERS.map(|folder| shared.join(folder));
    let there: Vec<PathBuf> = folders.iter().filter(|folder| folder.is_dir()).cloned().collect();
    if there.is_empty() {
        return Err(format!(
            "there is no {}\nhint: put session files of Claude Code and pi into {} of a folder, and name that folder: cargo xtask \
             figures FOLDER, or WB_SHARED=FOLDER",
            folders[0].display(),
            FOLDERS.join(" and ")
        ));
    }
    Ok(there)
}

/// Returns the last commit, and whether there are changes on top of it beside those of the file that tells it.
pub(crate) fn commit_of_head(root: &Path, file: &str) -> Result<String, String> {
    let git = |words: &str| output(Command::new("git").args(words.split(' ')).current_dir(root));
    let changes = git("status --porcelain --untracked-files=no")?;
    Ok(named(git("rev-parse --short HEAD")?.trim(), &changes, file))
}

fn named(commit: &str, changes: &str, file: &str) -> String {
    let is_other = |line: &str| !line.contains(file);
    if changes.lines().any(is_other) { format!("{commit} with changes") } else { commit.to_owned() }
}

/// Returns the day of the last commit.
pub(crate) fn date_of_head(root: &Path) -> Result<String, String> {
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

    #[test]
    fn one_folder_of_sessions_is_enough() {
        let shared = std::env::temp_dir().join(format!("wb-figures-{}", std::process::id()));
        let pi = shared.join(FOLDERS[1]);
        std::fs::create_dir_all(&pi).unwrap();
        assert_eq!(folders_of(&shared), Ok(vec![pi]));
        std::fs::remove_dir_all(shared).unwrap();
    }

    #[test]
    fn a_commit_with_changes_says_so_but_for_the_figures_themselves() {
        assert_eq!(named("0a1b2c3", " M docs/evaluation/retention.md\n", "docs/evaluation/"), "0a1b2c3");
        assert_eq!(named("0a1b2c3", " M README.md\n", "docs/evaluation/"), "0a1b2c3 with changes");
    }
}
