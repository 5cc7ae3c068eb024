//! Damaged files give an error or a transcript, never a panic.

use std::path::Path;

use serde_json::Value;
use wb_formats::{FormatError, Note, View, segments};
use wb_message::Message;
use wb_testkit::depth::{is_deep, places};

use crate::support::{fixtures, open};

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
    for (name, bytes) in fixtures() {
        for end in places(0..bytes.len()) {
            try_all(name, &bytes[..end]);
        }
    }
}

#[test]
fn lines_before_a_cut_are_always_read() {
    for (name, bytes) in fixtures().iter().filter(|(name, bytes)| is_log(name) && open(bytes).is_ok()) {
        let first = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in places(first..bytes.len()) {
            let opened = open(&bytes[..end]).unwrap();
            let is_noted = opened.notes.iter().any(|note| matches!(note, Note::TruncatedLastLine { .. }));
            let is_cut = !matches!(bytes[end - 1], b'\n' | b'}') && bytes[end] != b'\n';
            assert!(is_noted || !is_cut || bytes[..end].ends_with(b"\n4"), "{name} cut at {end}");
        }
    }
}

#[test]
fn a_first_line_that_cannot_be_read_is_named_and_hides_no_other() {
    for (name, bytes) in fixtures().iter().filter(|(name, bytes)| is_log(name) && open(bytes).is_ok()) {
        let whole = open(bytes).unwrap();
        let (first, behind) = bytes.split_at(bytes.iter().position(|byte| *byte == b'\n').unwrap());
        let garbage = [b"garbage \xFF\0\n", *bytes].concat();
        let cut_off = [&first[..first.len() / 2], behind].concat();
        let next = behind[1..].split(|byte| *byte == b'\n').next().unwrap();
        for (broken, n_gone) in [(garbage, 0), (cut_off, 1)] {
            let opened = open(&broken);
            if name.starts_with("pi/") {
                // Its header determines how all others are read.
                assert_eq!(opened.unwrap_err().line(), Some(1), "{name}");
                continue;
            }
            if n_gone > 0 && !is_document(next) {
                continue;
            }
            let opened = opened.unwrap();
            let is_named = |note: &Note| matches!(note, Note::UnreadableRecords { line: 1, .. });
            assert_eq!(opened.format, whole.format, "{name}");
            assert!(opened.notes.iter().any(is_named), "{name}: {:?}", opened.notes);
            assert!(opened.messages.len() + n_gone >= whole.messages.len(), "{name}");
        }
    }
}

#[test]
fn one_document_that_is_cut_anywhere_is_refused() {
    for (name, bytes) in fixtures().iter().filter(|(_, bytes)| is_document(bytes)) {
        for end in places(1..bytes.trim_ascii_end().len()) {
            assert!(open(&bytes[..end]).is_err(), "{name} cut at {end}");
        }
    }
}

fn is_log(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "jsonl")
}

fn is_document(bytes: &[u8]) -> bool {
    serde_json::from_slice::<Value>(bytes).is_ok()
}

#[test]
fn a_document_that_is_not_utf8_is_refused_with_the_line() {
    let mut n_reported = 0;
    for (name, bytes) in fixtures().iter().filter(|(_, bytes)| is_document(bytes)) {
        for at in places((0..bytes.len()).filter(|at| bytes[*at].is_ascii_alphabetic())) {
            let mut bytes = bytes.to_vec();
            bytes[at] = 0xFF;
            let line = bytes[..at].split(|byte| *byte == b'\n').count();
            match open(&bytes) {
                Err(FormatError::NotUtf8 { line: told, .. }) => {
                    assert_eq!(told, line, "{name} at {at}");
                    n_reported += 1;
                }
                Err(FormatError::Unknown { .. }) => {}
                other => panic!("{name} at {at}: {other:?}"),
            }
        }
    }
    assert!(n_reported > if is_deep() { 10_000 } else { 1_000 }, "{n_reported}");
}

fn n_unreadable(view: &View) -> usize {
    let n = view.notes.iter().find_map(|note| match note {
        Note::UnreadableRecords { n, .. } => Some(*n),
        _ => None,
    });
    n.unwrap_or(0)
}

#[test]
fn a_line_that_is_not_utf8_cannot_be_read() {
    let mut n_reported = 0;
    // In a tree, only lines that the conversation would contain are reported.
    let is_log = |name: &str, bytes: &[u8]| {
        !is_document(bytes) && !name.starts_with("pi/") && !name.starts_with("qwen-code/")
    };
    for (name, bytes) in fixtures().iter().filter(|(name, bytes)| is_log(name, bytes)) {
        let Ok(whole) = open(bytes) else { continue };
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        for at in 1..lines.len() {
            let mut line = lines[at].to_vec();
            let Some(letter) = line.iter().rposition(u8::is_ascii_alphabetic) else { continue };
            line[letter] = 0xFF;
            let damaged = [&lines[..at].concat()[..], &line, &lines[at + 1..].concat()].concat();
            let Ok(view) = open(&damaged) else { continue };
            let was_read = serde_json::from_slice::<serde::de::IgnoredAny>(lines[at]).is_ok();
            assert_eq!(
                n_unreadable(&view),
                n_unreadable(&whole) + usize::from(was_read),
                "{name} line {}",
                at + 1
            );
            n_reported += 1;
        }
    }
    assert!(n_reported > 200, "{n_reported}");
}

#[test]
fn a_message_of_a_log_that_does_not_say_who_speaks_is_named_by_its_line() {
    let codex = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s"}}
{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]}}
{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"message","content":[{"type":"output_text","text":"I look."}]}}
"#;
    let gemini = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00.000Z"}
{"id":"u1","timestamp":"2026-01-01T00:00:01.000Z","type":"user","content":[{"text":"Look."}]}
{"id":"m1","timestamp":"2026-01-01T00:00:02.000Z","content":"I look."}
"#;
    let (lost, unreadable) =
        (Note::MissingRoles { n: 1, line: 3 }, Note::UnreadableRecords { n: 1, line: 3 });
    for (log, note) in [(codex, lost), (gemini, unreadable)] {
        let view = open(log.as_bytes()).unwrap();
        assert_eq!(view.messages.len(), 1, "{log}");
        assert_eq!(view.notes, [note], "{log}");
    }
}

#[test]
fn the_first_line_that_is_ignored_is_named() {
    let codex = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s"}}
7
{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]}}
{"timestamp":"2026-01-01T00:00:02Z","type":"unheard_of","payload":{}}
"#;
    let notes = open(codex.as_bytes()).unwrap().notes;
    assert_eq!(
        notes.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["lines ignored: 2, the first is line 2"]
    );
}

#[test]
fn a_file_with_a_byte_changed_is_opened_or_refused() {
    for (name, bytes) in fixtures() {
        for at in places(0..bytes.len()) {
            let mut bytes = bytes.to_vec();
            bytes[at] = [b'"', b'}', b'[', b'\n', b'9', b',', 0xFF][at % 7];
            try_all(name, &bytes);
        }
    }
}

#[test]
fn lines_in_any_order_are_opened_or_refused() {
    for (name, bytes) in fixtures() {
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
