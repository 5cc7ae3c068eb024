//! Where test data lies.

use std::path::{Path, PathBuf};

use wb_formats::{FormatError, Opened};

macro_rules! fixtures {
    ($($name:literal),* $(,)?) => {
        /// The composed files by their path.
        pub(crate) const FIXTURES: &[(&str, &[u8])] = &[$(($name, include_bytes!(concat!("../fixtures/", $name)))),*];
    };
}

fixtures![
    "claude-code/split.jsonl",
    "claude-code/sidechain.jsonl",
    "claude-code/subagent.jsonl",
    "claude-code/compact.jsonl",
    "claude-code/microcompact.jsonl",
    "claude-code/rewound.jsonl",
    "claude-code/bad-middle.jsonl",
    "claude-code/truncated.jsonl",
    "claude-code/unlinked.json",
    "pi/tree.jsonl",
    "pi/compactions.jsonl",
    "pi/v1.jsonl",
    "pi/truncated.jsonl",
    "pi/bad-middle.jsonl",
    "native/lines.jsonl",
    "native/object.json",
    "native/array.json",
    "native/bad-middle.jsonl",
    "native/truncated.jsonl",
];

pub(crate) fn fixture(name: &str) -> &'static [u8] {
    FIXTURES.iter().find(|(known, _)| *known == name).unwrap().1
}

pub(crate) fn open(mut bytes: &[u8]) -> Result<Opened, FormatError> {
    wb_formats::read(&mut bytes)
}

/// Returns a file or folder beside the repository, nothing where it is absent.
#[expect(clippy::print_stderr, reason = "says what was not tested")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(path);
    if !path.exists() {
        eprintln!("skipped: there is no {}", path.display());
        return None;
    }
    Some(path)
}

#[expect(clippy::disallowed_methods, reason = "a test is at the edge")]
pub(crate) fn bytes_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// Returns the files of a folder in order, with their names.
pub(crate) fn files_of(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.file_name().unwrap().display().to_string(), path)).collect();
    files.sort();
    files
}
