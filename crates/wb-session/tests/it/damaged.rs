//! Damaged logs give an error or a log, never a panic.

use std::fmt::Write as _;

use wb_session::{SessionLog, build_context};

use crate::support::FIXTURES;

fn open(bytes: &[u8]) {
    if let Ok(log) = SessionLog::read(bytes) {
        let middle = log.entries().get(log.entries().len() / 2).map(|entry| &entry.id);
        let _ = build_context(&log, middle);
        let leaf = log.leaf().cloned();
        let _ = log.segment_ends(leaf.as_ref());
        let _ = log.into_context(leaf.as_ref());
    }
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_up_to_the_cut() {
    for (name, text) in FIXTURES {
        let full = SessionLog::read(text.as_bytes());
        for end in 0..text.len() {
            let bytes = &text.as_bytes()[..end];
            open(bytes);
            let is_past_header = bytes.contains(&b'\n');
            if full.is_ok() && is_past_header {
                assert!(SessionLog::read(bytes).is_ok(), "{name} cut at {end}");
            }
        }
    }
}

#[test]
fn a_log_with_a_byte_changed_is_an_error_or_a_log() {
    for (_, text) in FIXTURES {
        for at in 0..text.len() {
            for with in [0x00, b'"', b'{', b']', b'\n', b'9', 0x80, 0xFF] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = with;
                open(&bytes);
            }
        }
    }
}

#[test]
fn deep_nesting_hides_no_other_entry() {
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
    let deep =
        format!("{header}{{\"type\":\"x\",\"id\":\"a\",\"v\":{}{}}}\n", "[".repeat(5000), "]".repeat(5000));
    let log = SessionLog::read(deep.as_bytes()).unwrap();
    assert_eq!((log.entries().len(), log.notes().len()), (1, 1));
}

/// A chain of many entries is walked in linear time, and cut lines never hide a cycle.
#[test]
fn a_long_chain_is_walked() {
    let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    for at in 0..50_000 {
        let _ = writeln!(text, "{{\"type\":\"custom\",\"id\":\"e{}\",\"parentId\":\"e{at}\"}}", at + 1);
    }
    let log = SessionLog::read(text.as_bytes()).unwrap();
    assert_eq!(log.path(log.leaf()).unwrap().len(), 50_000);
}
