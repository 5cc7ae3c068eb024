//! A session of Codex whose last compaction its provider cannot decrypt.

use serde_json::{Value, json};
use wb_formats::Note;
use wb_message::outline::outline;

use crate::damage::corrupted::written;
use crate::support::{claude::lines, open};

fn line(kind: &str, payload: &Value) -> Value {
    json!({ "timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload })
}

fn message_item(role: &str, text: &str) -> Value {
    let kind = if role == "user" { "input_text" } else { "output_text" };
    json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] })
}

#[test]
fn the_messages_that_an_undecryptable_compaction_replaced_come_back() {
    let opaque = json!({ "type": "compaction", "encrypted_content": "gAAA" });
    let history = json!({ "message": "", "replacement_history": [message_item("user", "Sow."), opaque] });
    let refused = json!({ "type": "error", "message":
        "{\"error\":{\"code\":\"invalid_encrypted_content\",\"message\":\"Encrypted content could not be decrypted\"}}" });
    let bytes = lines(&[
        line("session_meta", &json!({ "id": "s", "cwd": "/w", "cli_version": "0.171.0" })),
        line("response_item", &message_item("user", "Sow.")),
        line("response_item", &message_item("assistant", "Sown.")),
        line("compacted", &history),
        line("response_item", &message_item("user", "And now?")),
        line("event_msg", &refused),
    ]);
    let is_noted = |notes: &[Note]| notes.iter().any(|it| matches!(it, Note::UndecryptableCompaction { .. }));
    assert!(is_noted(&open(&bytes).unwrap().notes));
    let (now, is_written) = written(&bytes).unwrap();
    assert!(is_written && !is_noted(&now.notes), "{:?}", now.notes);
    assert_eq!(
        outline(&now.messages),
        "   0 user      \"Sow.\"\n   1 assistant \"Sown.\"\n   2 user      \"And now?\"\n"
    );
}
