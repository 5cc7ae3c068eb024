//! Messages of logs without a role: a role that their shape identifies is restored, and nothing
//! else changes.

use wb_formats::Note;

use crate::damage::corrupted::written;
use crate::support::open;

const PI: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"Look."}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs"}}],"usage":{"input":1,"output":1}}}
{"type":"message","id":"r1","parentId":"a1","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"fn a() {}"}],"isError":false}}
{"type":"message","id":"a2","parentId":"r1","message":{"role":"assistant","content":[{"type":"text","text":"One function."}],"usage":{"input":1,"output":1}}}
{"type":"message","id":"u2","parentId":"a2","message":{"role":"user","content":"Well?"}}
{"type":"message","id":"a3","parentId":"u2","message":{"role":"assistant","content":[{"type":"text","text":"Well."}],"usage":{"input":1,"output":1}}}
"#;

const CODEX: &str = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/w"}}
{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"developer","content":[{"type":"input_text","text":"<rules>be brief</rules>"}]}}
{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Look."}]}}
{"timestamp":"2026-01-01T00:00:03Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]}}
"#;

/// Takes the role off the line of a log.
fn without_role(log: &str, nth: usize) -> String {
    let without = |(at, line): (usize, &str)| {
        let place = line.find("\"role\":").filter(|_| at == nth);
        let place = place.map(|start| start..start + line[start..].find(',').unwrap() + 1);
        let mut line = line.to_owned();
        if let Some(place) = place {
            line.replace_range(place, "");
        }
        line + "\n"
    };
    log.lines().enumerate().map(without).collect()
}

#[test]
fn each_message_whose_shape_or_neighbours_identify_it_gets_its_role_back() {
    for (log, known, left) in [(PI, &[1, 2, 3, 4, 5, 6][..], &[][..]), (CODEX, &[2, 3], &[1])] {
        for at in known.iter().chain(left) {
            let damaged = without_role(log, *at);
            let view = open(damaged.as_bytes()).unwrap();
            let note = Note::MissingRoles { n: 1, line: at + 1 };
            assert!(view.notes.contains(&note), "line {}: {:?}", at + 1, view.notes);
            let (now, is_written) = written(damaged.as_bytes()).unwrap();
            assert_eq!(is_written, known.contains(at), "line {}", at + 1);
            if is_written {
                assert_eq!(now.messages, open(log.as_bytes()).unwrap().messages, "line {}", at + 1);
            }
        }
    }
}
