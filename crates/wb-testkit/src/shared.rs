//! Real sessions and recorded answers beside the repository; a checkout without them skips what needs them.

use std::path::{Path, PathBuf};

/// Returns a file or folder of those beside the repository, nothing where it is absent; the skip is printed.
#[expect(clippy::print_stderr, reason = "says what was not tested")]
pub fn shared(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

/// Returns the files of such a folder in order, none where it is absent.
///
/// # Panics
/// Panics where the folder cannot be listed.
pub fn shared_files(folder: &str) -> Vec<PathBuf> {
    let Some(folder) = shared(folder) else { return Vec::new() };
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort();
    files
}

/// Returns the bytes of a file.
///
/// # Panics
/// Panics where the file cannot be read.
#[expect(clippy::disallowed_methods, reason = "a test is at the edge")]
pub fn bytes_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
