//! Sessions from which a line is gone, or which a compaction parts in the wrong place: what no provider takes is found
//! and mended.

use wb_formats::{dialects_of, violations_of};
use wb_message::Message;

use crate::corrupted::written;
use crate::support::open;

/// A session of pi whose compaction stands between a call and its result, as after a resume.
const PARTED: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"start"}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs"}}],"stopReason":"toolUse"}}
{"type":"compaction","id":"k1","parentId":"a1","summary":"Read a.rs.","firstKeptEntryId":"r1","tokensBefore":100}
{"type":"message","id":"r1","parentId":"k1","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"fn a() {}"}],"isError":false}}
{"type":"message","id":"u2","parentId":"r1","message":{"role":"user","content":"go on"}}
"#;

fn n_results(messages: &[Message]) -> usize {
    messages.iter().filter(|message| matches!(message, Message::ToolResult { .. })).count()
}

#[test]
fn a_result_that_a_compaction_parts_from_its_call_is_told_and_hidden() {
    let view = open(PARTED.as_bytes()).unwrap();
    let found = violations_of(&view.messages, dialects_of("pi"));
    assert!(found.iter().all(|it| it.rule == "result-orphan") && !found.is_empty(), "{found:?}");
    assert_eq!(n_results(&view.messages), 1);
    let (now, is_written) = written(PARTED.as_bytes()).unwrap();
    assert!(is_written && n_results(&now.messages) == 0, "{:?}", now.messages);
    assert_eq!(now.messages.len(), view.messages.len() - 1);
}
