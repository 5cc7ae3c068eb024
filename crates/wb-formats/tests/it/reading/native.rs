//! Our own format.

use wb_formats::write_jsonl;
use wb_message::{Block, Message};
use wb_record::{BorrowedPart, MemoryParts, ONLY_CONVERSATION, Parts};

use crate::support::{fixture, open};

#[test]
fn what_is_written_is_read_back() {
    let messages = [
        Message::user("a\nb"),
        Message::assistant_blocks(vec![
            Block::Thinking { text: String::new(), signature: Some("s".into()) },
            Block::call("c", "read", serde_json::json!({"z": 1, "a": [null, 1.5]})),
        ]),
        Message::tool_error("c", "read", "no"),
        Message::bash("ls", "", None),
        Message::custom("hint", vec![Block::image("image/png", "aGk=")]),
        Message::BranchSummary { summary: "b".into(), from_id: "x".into() },
        Message::CompactionSummary { summary: "c".into(), tokens_before: 7 },
    ];
    for messages in [&messages[..], &[]] {
        let mut out = Vec::new();
        write_jsonl(messages, &mut out).unwrap();
        let opened = open(&out).unwrap();
        assert_eq!((opened.format, opened.messages.as_slice()), ("native", messages));
    }
}

#[test]
fn many_messages_are_read_in_their_order_and_every_view_has_them() {
    const N_MESSAGES: usize = 2_501;
    let messages: Vec<Message> = (0..N_MESSAGES).map(|at| Message::user(format!("message {at}"))).collect();
    let text = serde_json::to_string(&messages).unwrap();
    let parts: [Box<dyn Parts>; 2] =
        [Box::new(MemoryParts::from_bytes(text.clone())), Box::new(BorrowedPart(text.leak().as_bytes()))];
    for parts in parts {
        let document = wb_formats::open(parts).unwrap();
        for _ in 0..2 {
            let view = document.view(ONLY_CONVERSATION).unwrap();
            assert_eq!((&view.messages, view.provenance.len()), (&messages, N_MESSAGES));
        }
    }
}

#[test]
fn the_header_names_the_model_and_its_window() {
    let opened = open(fixture("native/lines.jsonl")).unwrap();
    assert_eq!((opened.model.as_deref(), opened.context_window), (Some("claude-x"), Some(200_000)));
    assert_eq!(open(fixture("native/object.json")).unwrap().model.as_deref(), Some("claude-x"));
}

#[test]
fn errors_say_what_is_expected() {
    for (text, message) in [
        (
            r#"{"type":"window-budget","version":2}"#,
            "line 1: not a message: unsupported header version 2 (expected 1)",
        ),
        (
            "[{\"role\":\"user\",\"content\":\"a\"},\n{\"role\":\"user\"}\n]",
            "line 2: not a message: missing field `content`",
        ),
        (
            "{\"messages\":[\n{\"role\":\"user\",\"content\":[{\"kind\":\"sound\"}]}]}",
            "line 2: not a message: block 0: unknown variant `sound`, expected one of `text`, ",
        ),
        ("{\"role\":\"user\",\"content\":\"a\"}\n[]\n", "line 2: not a message: "),
        ("[{\"role\":\"user\",\"content\":\"a\"}", "line 1, column 30: not JSON: EOF while parsing a list"),
    ] {
        let error = open(text.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
        assert!(!error.hint().is_empty());
    }
    let hint = open(fixture("native/bad-middle.jsonl")).unwrap_err().hint().to_owned();
    assert!(hint.contains("toolResult {toolCallId, toolName, content}"));
}
