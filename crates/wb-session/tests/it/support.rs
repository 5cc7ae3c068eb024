//! Where test data lies.

use std::path::PathBuf;

use wb_session::{SessionError, SessionLog};

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
pub(crate) fn bytes_of(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}
