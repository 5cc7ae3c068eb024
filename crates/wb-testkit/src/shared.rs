//! Real sessions and recorded answers next to the repository.
//!
//! `WB_SHARED` names their folder, `../shared` by default; a relative path starts at the root of
//! the repository. If it is set, missing data fails the test; otherwise the test skips. Each skip
//! appends a line to the file named by `WB_SKIPPED`.

use std::io::Write;
use std::path::{Path, PathBuf};

const SHARED: &str = "WB_SHARED";
const SKIPPED: &str = "WB_SKIPPED";

/// Returns the path of a file or folder of the shared data; prints a skip and returns `None` if it
/// is absent.
///
/// # Panics
/// Panics if it is absent and `WB_SHARED` is set.
pub fn shared(path: &str) -> Option<PathBuf> {
    let path = place(path);
    if !path.exists() {
        skip(&format!("there is no {}", path.display()));
        return None;
    }
    Some(path)
}

/// Returns the path of a file or folder of the shared data if it is there, for a test that goes on
/// without it.
///
/// # Panics
/// Panics if it is absent and `WB_SHARED` is set.
pub fn more_shared(path: &str) -> Option<PathBuf> {
    Some(place(path)).filter(|path| path.exists())
}

fn place(path: &str) -> PathBuf {
    locate(variable(SHARED).as_deref(), path).unwrap_or_else(|why| panic!("{why}"))
}

#[expect(clippy::disallowed_methods, reason = "a test is at the edge")]
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the expected path of the data; an error if its folder was named and the data is missing.
fn locate(folder: Option<&Path>, path: &str) -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let Some(folder) = folder else { return Ok(root.join("../shared").join(path)) };
    let found = root.join(folder).join(path);
    if !found.exists() {
        return Err(format!("{SHARED} is set to {}, but there is no {}", folder.display(), found.display()));
    }
    Ok(found)
}

/// Reports that the running test skips the parts that need something.
#[expect(clippy::print_stderr, reason = "reports a skipped test")]
pub(crate) fn skip(why: &str) {
    eprintln!("skipped: {why}");
    if let Some(list) = variable(SKIPPED) {
        add_line(&list, &test_name()).unwrap_or_else(|error| panic!("{}: {error}", list.display()));
    }
}

/// Returns the test binary and the name of the test, which is the name of its thread.
fn test_name() -> String {
    let binary = std::env::current_exe().unwrap_or_default();
    let binary = binary.file_stem().unwrap_or_default().display().to_string();
    format!("{binary} {}", std::thread::current().name().unwrap_or("?"))
}

fn add_line(list: &Path, line: &str) -> std::io::Result<()> {
    let mut list = std::fs::OpenOptions::new().create(true).append(true).open(list)?;
    list.write_all(format!("{line}\n").as_bytes())
}

/// Returns the files of a folder of the shared data in order, none if it is absent.
///
/// # Panics
/// Panics if the folder is empty or cannot be listed, and as [`shared`] does.
pub fn shared_files(folder: &str) -> Vec<PathBuf> {
    let Some(folder) = shared(folder) else { return Vec::new() };
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    files.sort();
    files
}

/// Returns the bytes of a file.
///
/// # Panics
/// Panics if the file cannot be read.
#[expect(clippy::disallowed_methods, reason = "a test is at the edge")]
pub fn bytes_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_a_named_folder_must_exist() {
        let named = Path::new("no such folder");
        let why = locate(Some(named), "sessions").unwrap_err();
        assert!(why.starts_with("WB_SHARED is set to no such folder, but there is no "), "{why}");
        assert!(locate(Some(Path::new("fixtures")), "no such file").is_err());
        assert!(locate(Some(Path::new("fixtures")), "vectors").is_ok());
    }

    #[test]
    fn data_in_the_default_folder_may_be_absent() {
        assert!(locate(None, "no such file").unwrap().ends_with("../shared/no such file"));
    }
}
