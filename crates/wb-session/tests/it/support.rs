//! Paths and helpers of test data.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

use wb_session::{SessionError, SessionLog};
pub(crate) use wb_testkit::shared::{bytes_of, shared};

/// The composed logs.
pub(crate) const FIXTURES: [(&str, &str); 8] = [
    ("v1", include_str!("../fixtures/v1.jsonl")),
    ("v2", include_str!("../fixtures/v2.jsonl")),
    ("branches", include_str!("../fixtures/branches.jsonl")),
    ("compactions", include_str!("../fixtures/compactions.jsonl")),
    ("aborted", include_str!("../fixtures/aborted.jsonl")),
    ("edits", include_str!("../fixtures/edits.jsonl")),
    ("truncated", include_str!("../fixtures/truncated.jsonl")),
    ("bad-middle", include_str!("../fixtures/bad-middle.jsonl")),
];

pub(crate) fn read(name: &str) -> Result<SessionLog, SessionError> {
    let fixture = FIXTURES.iter().find(|(known, _)| *known == name);
    SessionLog::read(fixture.map_or("", |(_, text)| text).as_bytes())
}

/// Returns a log of the given entries, one JSON object each.
pub(crate) fn log_of(entries: &[&str]) -> SessionLog {
    let header = r#"{"type":"session","version":3,"id":"s"}"#;
    SessionLog::read([&[header], entries].concat().join("\n").as_bytes()).unwrap()
}

/// Returns the path of a new file in a folder for test output.
pub(crate) fn fresh(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    for end in ["", ".torn", "-wal", "-shm"] {
        let _ = std::fs::remove_file(folder.join(format!("{name}{end}")));
    }
    folder.join(name)
}

/// Appends to a file as a foreign program would.
pub(crate) fn append_bytes(path: &Path, bytes: &[u8]) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

/// Estimates a message as document 2 does.
pub(crate) fn estimate_tokens(message: &wb_message::Message) -> u64 {
    wb_session::SESSION_PRESET.message_tokens(message)
}
