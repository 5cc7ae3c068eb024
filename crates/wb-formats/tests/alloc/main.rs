//! Limits on the memory held while a log is read.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test of files fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use wb_formats::{Document, open_path};
use wb_record::{Access, ONLY_CONVERSATION};
use wb_testkit::logs::{TURNS_SEEN, write_log};

/// The formats whose lines are read again where they are needed.
const BOUND: [&str; 5] = ["claude-code", "codex", "gemini-cli", "copilot-cli", "pi"];
/// Turns of the shorter log and of the longer one. Both end at the same distance after a
/// compaction, so that both show the same messages.
const TURNS: [usize; 2] = [TURNS_SEEN * 5 / 2, TURNS_SEEN * 25 / 2];
/// The part of a line that its place may take.
const PLACE: u64 = 4;

/// Writes a log and returns it with its size.
fn written(what: &str, format: &str, n_turns: usize) -> (PathBuf, u64) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{what} of {format} {n_turns}.jsonl"));
    let mut log = Vec::new();
    write_log(format, n_turns, &mut log).unwrap();
    fs::write(&path, &log).unwrap();
    (path, log.len() as u64)
}

/// Checks that a longer log needs more memory only for the positions of its lines.
fn check(what: &str, read: impl Fn(&dyn Document)) {
    for format in BOUND {
        let [short, long] = TURNS.map(|n_turns| {
            let (path, n_bytes) = written(what, format, n_turns);
            let held = allocation_counter::measure(|| read(open_path(&path, Access::Read).unwrap().as_ref()));
            fs::remove_file(path).unwrap();
            (held.bytes_max, n_bytes)
        });
        let (more, longer) = (long.0.saturating_sub(short.0), long.1 - short.1);
        assert!(more < longer / PLACE, "{what} of {format}: {more} bytes more of {longer}");
    }
}

#[test]
fn of_what_is_no_longer_seen_only_the_places_of_lines_are_held() {
    check("the view", |document| drop(document.view(ONLY_CONVERSATION).unwrap()));
}

#[test]
fn of_segments_that_were_seen_nothing_is_held() {
    check("the segments", |document| {
        for segment in document.segments(ONLY_CONVERSATION).unwrap() {
            drop(segment.unwrap());
        }
    });
}
