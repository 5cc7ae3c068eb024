//! Requests of genai are read, compacted and written.
#![cfg(feature = "genai")]

use genai::chat::{ChatMessage, ChatRequest, ChatRole, ContentPart, ToolCall, ToolResponse};
use wb_conductor::{Compactor, CondenseOpts, ModelCard};
use wb_interop::genai::{from_genai, to_genai};
use wb_interop::{Transcript, compact};
use wb_message::{Block, Message, json};

/// A compaction that the user asked for.
fn force() -> CondenseOpts {
    CondenseOpts { force: true, ..CondenseOpts::default() }
}

fn request() -> ChatRequest {
    let mut messages = vec![ChatMessage::user("Port the importer. Never touch the parser.")];
    for n in 0..40 {
        let call = |part: &str| ToolCall {
            call_id: format!("{part}{n}"),
            fn_name: "read".into(),
            fn_arguments: json!({ "path": format!("{part}{n}.rs") }),
            thought_signatures: None,
        };
        messages.push(ChatMessage::from(vec![call("a"), call("b")]));
        let result = |part: &str| {
            let text = format!("// {part}{n}\n{}", "fn main() {}\n".repeat(40));
            ContentPart::ToolResponse(ToolResponse::new(format!("{part}{n}"), text))
        };
        messages.push(ChatMessage::tool(vec![result("a"), result("b")]));
    }
    messages.push(ChatMessage::user("Go on."));
    ChatRequest::from_messages(messages).with_system("Be brief.")
}

#[test]
fn roles_and_parts_survive_both_ways() {
    let messages = [
        Message::custom("system", "Be brief."),
        Message::user("hi"),
        Message::user(vec![Block::text("see"), Block::image("image/png", "QUJD")]),
        Message::assistant_blocks(vec![Block::text("ok"), Block::call("c1", "read", json!({ "path": "a" }))]),
        Message::tool_result("c1", "read", "text"),
    ];
    let native: Vec<ChatMessage> = messages.iter().map(to_genai).collect();
    assert!(matches!(native[0].role, ChatRole::System));
    assert_eq!(native.iter().flat_map(from_genai).collect::<Vec<_>>(), messages);
}

#[tokio::test]
async fn a_request_is_compacted_and_keeps_its_system_text_its_pairs_and_its_own_messages() {
    let mut request = request();
    let before = serde_json::to_value(&request).unwrap();
    let compactor = Compactor::new().card(ModelCard::with_window(12_000));
    let report = compact(&mut request, &compactor, &force()).await.unwrap();
    assert!(report.tokens_after <= report.target_tokens.unwrap(), "{report}");
    let after = serde_json::to_value(&request).unwrap();
    assert_eq!(after["system"], "Be brief.");
    let (old, new) = (before["messages"].as_array().unwrap(), after["messages"].as_array().unwrap());
    assert!(new.len() < old.len() && new.last() == old.last());
    let digest = new[0].to_string();
    assert!(digest.contains("Never touch the parser."), "{digest}");
    let messages = request.messages().unwrap();
    let calls = messages.iter().flat_map(Message::calls).count();
    let results = messages.iter().filter(|it| matches!(it, Message::ToolResult { .. })).count();
    assert_eq!(calls, results);

    let same = after.clone();
    let again = compact(&mut request, &compactor, &CondenseOpts::default()).await.unwrap();
    assert!(!again.is_changed());
    assert_eq!(serde_json::to_value(&request).unwrap(), same);
}
