//! Blocks that Anthropic's servers write: compactions, and the tools that run there.

use serde_json::{Value, json};
use wb_formats::SentAs;
use wb_message::Message;
use wb_message::outline::outline;

use crate::support::{detect, open};

fn request(answer: &Value) -> Vec<u8> {
    let body = json!({ "max_tokens": 100, "messages": [
        { "role": "user", "content": "Never touch the roof." },
        { "role": "assistant", "content": answer },
        { "role": "user", "content": "And then?" },
    ] });
    body.to_string().into_bytes()
}

fn messages(answer: &Value) -> Vec<Message> {
    open(&request(answer)).expect("a request").messages
}

#[test]
fn a_compaction_that_failed_replaces_nothing() {
    let text = json!({ "type": "text", "text": "Go on." });
    for (content, n_messages) in [(json!(null), 3), (json!(""), 3), (json!("So far."), 3)] {
        let block = json!({ "type": "compaction", "content": content });
        let read = messages(&json!([block, text]));
        assert_eq!(read.len(), n_messages, "{read:?}");
        let is_whole = outline(&read).contains("Never touch the roof.");
        assert_eq!(is_whole, content != "So far.", "{content}");
    }
}

#[test]
fn what_only_anthropic_is_asked_for_identifies_its_requests() {
    for (key, value) in [
        ("compaction", json!({ "type": "summarize" })),
        ("container", json!("c1")),
        ("mcp_servers", json!([])),
        ("tools", json!([{ "name": "read", "defer_loading": true }])),
        ("tools", json!([{ "type": "memory_20250818", "name": "memory" }])),
    ] {
        let body = json!({ key: value, "messages": [
            { "role": "user", "content": "a" }, { "role": "assistant", "content": "b" },
        ] });
        let format = detect(body.to_string().as_bytes()).expect("a format");
        assert_eq!(format.name(), "anthropic-messages", "{body}");
    }
}

#[test]
fn any_single_block_of_anthropic_identifies_its_requests() {
    for block in [
        json!({ "type": "image", "source": { "type": "url", "url": "https://a.example" } }),
        json!({ "type": "document", "source": { "type": "file", "file_id": "f" } }),
        json!({ "type": "search_result", "source": "s", "title": "t", "content": [] }),
        json!({ "type": "container_upload", "file_id": "f" }),
        json!({ "type": "server_tool_use", "id": "s", "name": "web_fetch", "input": {} }),
        json!({ "type": "mcp_tool_result", "tool_use_id": "s", "content": [] }),
        json!({ "type": "compaction", "content": null }),
        json!({ "type": "text", "text": "hi", "citations": [] }),
    ] {
        let format = detect(&request(&json!([block]))).expect("a format");
        assert_eq!(format.name(), "anthropic-messages", "{block}");
    }
}

#[test]
fn encrypted_content_of_servers_is_no_text() {
    let answer = json!([
        { "type": "text", "text": "I look." },
        { "type": "server_tool_use", "id": "s1", "name": "web_search", "input": { "query": "fair" } },
        { "type": "web_search_tool_result", "tool_use_id": "s1", "content": [
            { "type": "web_search_result", "title": "Fair", "url": "https://a.example",
              "encrypted_content": "Eq8CEq8C" },
        ] },
        { "type": "text", "text": "Hilda won.", "citations": [
            { "type": "web_search_result_location", "encrypted_index": "Eo8B", "url": "https://a.example" },
        ] },
    ]);
    let read = messages(&answer);
    let all = format!("{read:?}");
    assert!(!all.contains("Eq8C") && !all.contains("Eo8B"), "{all}");
    assert!(all.contains("[server tool web_search: fair]") && all.contains("https://a.example"), "{all}");
    let sent = SentAs::from_format("anthropic-messages", None);
    assert_eq!(sent.violations(&read), []);
}
