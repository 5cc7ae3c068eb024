//! Where test data lies.

use std::path::{Path, PathBuf};

use wb_formats::{Format, FormatError, View};
use wb_record::{MemoryParts, Probe};
pub(crate) use wb_testkit::shared::{bytes_of, shared};

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
    "opencode/session.json",
    "opencode/failures.json",
    "opencode/compacted.json",
    "opencode/digest.json",
    "opencode/reverted.json",
    "native/lines.jsonl",
    "native/object.json",
    "native/array.json",
    "native/bad-middle.jsonl",
    "native/truncated.jsonl",
];

pub(crate) fn fixture(name: &str) -> &'static [u8] {
    FIXTURES.iter().find(|(known, _)| *known == name).unwrap().1
}

pub(crate) fn open(mut bytes: &[u8]) -> Result<View, FormatError> {
    wb_formats::read(&mut bytes)
}

/// Returns the format that the bytes are recognized as.
pub(crate) fn detect(bytes: &[u8]) -> Option<&'static dyn Format> {
    wb_formats::detect(&Probe::of(&MemoryParts::of(bytes)).unwrap())
}

/// Returns the files of a folder in order, with their names.
pub(crate) fn files_of(folder: &Path) -> Vec<(String, PathBuf)> {
    let entries = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> =
        entries.map(|path| (path.file_name().unwrap().display().to_string(), path)).collect();
    files.sort();
    files
}
