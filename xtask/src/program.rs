//! The programs that the checks run, what git says of the checkout, and the files that are written.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns cargo in the checkout.
pub(crate) fn cargo(root: &Path, words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(words).current_dir(root);
    cargo
}

/// Runs a program that prints to the terminal.
pub(crate) fn run(program: &mut Command) -> Result<(), String> {
    let line = line(program);
    let status = program.stdin(Stdio::null()).status().map_err(|error| format!("{line}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{line}: {status}")) }
}

/// Runs a program and returns what it printed; its errors go to the terminal.
pub(crate) fn output(program: &mut Command) -> Result<String, String> {
    let line = line(program);
    let output = program.stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{line}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{line}: {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns a program with its words, as they are typed.
pub(crate) fn line(program: &Command) -> String {
    let name = Path::new(program.get_program()).file_stem().unwrap_or_default();
    let words = std::iter::once(name).chain(program.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// Runs git and returns what it printed.
pub(crate) fn git(root: &Path, words: &str) -> Result<String, String> {
    output(Command::new("git").args(words.split(' ')).current_dir(root))
}

/// Returns the files of the checkout that git tracks.
pub(crate) fn files(root: &Path) -> Result<Vec<String>, String> {
    let files = git(root, "ls-files")?;
    Ok(files.lines().filter(|file| root.join(file).is_file()).map(str::to_owned).collect())
}

/// Returns the last commit, marked if files other than the named one have uncommitted changes.
pub(crate) fn commit_of_head(root: &Path, file: &str) -> Result<String, String> {
    let changes = git(root, "status --porcelain --untracked-files=no")?;
    Ok(named(git(root, "rev-parse --short HEAD")?.trim(), &changes, file))
}

fn named(commit: &str, changes: &str, file: &str) -> String {
    let is_other = |line: &str| !line.contains(file);
    if changes.lines().any(is_other) { format!("{commit} with changes") } else { commit.to_owned() }
}

/// Returns the day of the last commit.
pub(crate) fn date_of_head(root: &Path) -> Result<String, String> {
    let date = git(root, "log -1 --format=%cs");
    let date = date.map_err(|why| format!("{why}\nhint: name the date: cargo xtask figures FOLDER DATE"))?;
    Ok(date.trim().to_owned())
}

/// Writes a file of the checkout and says so.
pub(crate) fn write(root: &Path, file: &str, text: impl AsRef<[u8]>) -> Result<(), String> {
    std::fs::write(root.join(file), text).map_err(|error| format!("{file}: {error}"))?;
    println!("{file}: written");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_with_changes_says_so_but_for_the_figures_themselves() {
        assert_eq!(named("0a1b2c3", " M docs/evaluation/retention.md\n", "docs/evaluation/"), "0a1b2c3");
        assert_eq!(named("0a1b2c3", " M README.md\n", "docs/evaluation/"), "0a1b2c3 with changes");
    }
}
