//! Bounds the memory for collecting the facts of a session.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test of files fails by panicking")]

use std::fs;
use std::path::Path;

use wb_facts::Facts;
use wb_formats::open_path;
use wb_record::{Access, ONLY_CONVERSATION};
use wb_replay::collect_facts;
use wb_testkit::logs::{TURNS_SEEN, write_log};

/// Returns the peak memory while the facts of a log are collected, and the size of the log.
fn held(format: &str, n_turns: usize) -> (u64, u64) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("facts of {format} {n_turns}.jsonl"));
    let mut log = Vec::new();
    write_log(format, n_turns, &mut log).unwrap();
    fs::write(&path, &log).unwrap();
    let held = allocation_counter::measure(|| {
        let document = open_path(&path, Access::Read).unwrap();
        let vocabulary = document.view(ONLY_CONVERSATION).unwrap().vocabulary;
        let facts =
            collect_facts(Facts::default(), document.as_ref(), ONLY_CONVERSATION, &vocabulary).unwrap();
        assert!(facts.n_messages() as usize > 3 * n_turns);
    });
    fs::remove_file(path).unwrap();
    (held.bytes_max, log.len() as u64)
}

/// Only codex repeats earlier messages without marking them.
#[test]
fn texts_before_a_compaction_are_not_held() {
    for format in ["codex", "pi"] {
        let [short, long] = [5, 25].map(|n_segments| held(format, TURNS_SEEN * n_segments / 2));
        let (more, longer) = (long.0.saturating_sub(short.0), long.1 - short.1);
        // The user's own words are held, up to 256 KiB.
        assert!(more < longer * 2 / 5, "{format}: {more} bytes more of {longer}");
    }
}
