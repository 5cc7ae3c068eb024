//! Damaged files give an error or a transcript, never a panic.

use std::path::Path;

use serde_json::Value;
use wb_formats::{Note, segments};
use wb_message::Message;

use crate::support::{FIXTURES, open};

fn try_all(name: &str, bytes: &[u8]) {
    if let Ok(opened) = open(bytes) {
        for request in opened.usage {
            let at = request.at;
            assert!(matches!(opened.messages[at], Message::Assistant { .. }), "{name}: {at} is no answer");
        }
    }
    if let Ok(segments) = segments(&mut &*bytes) {
        assert!(!segments.is_empty());
    }
}

#[test]
fn a_file_that_is_cut_anywhere_is_opened_or_refused() {
    for (name, bytes) in FIXTURES {
        for end in 0..bytes.len() {
            try_all(name, &bytes[..end]);
        }
    }
}

#[test]
fn lines_before_a_cut_are_always_read() {
    let is_log = |name: &str| Path::new(name).extension().is_some_and(|extension| extension == "jsonl");
    for (name, bytes) in FIXTURES.iter().filter(|(name, bytes)| is_log(name) && open(bytes).is_ok()) {
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in first..bytes.len() {
            let opened = open(&bytes[..end]).unwrap();
            let is_noted = opened.notes.iter().any(|note| matches!(note, Note::TruncatedLastLine { .. }));
            let is_cut = !matches!(bytes[end - 1], b'\n' | b'}') && bytes[end] != b'\n';
            assert!(is_noted || !is_cut || bytes[..end].ends_with(b"\n4"), "{name} cut at {end}");
        }
    }
}

#[test]
fn one_document_that_is_cut_anywhere_is_refused() {
    let is_document = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).is_ok();
    for (name, bytes) in FIXTURES.iter().filter(|(_, bytes)| is_document(bytes)) {
        for end in 1..bytes.trim_ascii_end().len() {
            assert!(open(&bytes[..end]).is_err(), "{name} cut at {end}");
        }
    }
}

#[test]
fn a_file_with_a_byte_changed_is_opened_or_refused() {
    for (name, bytes) in FIXTURES {
        for at in 0..bytes.len() {
            let mut bytes = bytes.to_vec();
            bytes[at] = [b'"', b'}', b'[', b'\n', b'9', b',', 0xFF][at % 7];
            try_all(name, &bytes);
        }
    }
}

#[test]
fn lines_in_any_order_are_opened_or_refused() {
    for (name, bytes) in FIXTURES {
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for from in 0..lines.len() {
            let mut rotated = lines.clone();
            rotated.rotate_left(from);
            try_all(name, &rotated.concat());
            rotated.reverse();
            try_all(name, &rotated.concat());
            rotated.remove(0);
            try_all(name, &rotated.concat());
        }
    }
}

#[test]
fn deep_nesting_and_endless_lists_are_refused() {
    for text in ["[".repeat(100_000), "{\"messages\":".repeat(100_000), "{\"a\":[".repeat(1000)] {
        assert!(open(text.as_bytes()).is_err());
    }
}
