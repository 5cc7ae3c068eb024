//! Requests of async-openai are read, compacted and written.
#![cfg(feature = "async-openai")]

use async_openai::types::chat::CreateChatCompletionRequest;
use async_openai::types::responses::CreateResponse;
use serde_json::{Value, json};
use wb_conductor::{Compactor, CondenseOpts, ModelCard};
use wb_interop::openai::{to_chat, to_items};
use wb_interop::{Transcript, compact};
use wb_message::Message;

/// A compaction that the user asked for.
fn force() -> CondenseOpts {
    CondenseOpts { force: true, ..CondenseOpts::default() }
}

fn output(n: usize) -> String {
    format!("// {n}\n{}", "fn main() {}\n".repeat(80))
}

fn chat() -> CreateChatCompletionRequest {
    let mut messages = vec![
        json!({ "role": "system", "content": "Be brief." }),
        json!({ "role": "user", "content": "Port the importer. Never touch the parser." }),
    ];
    for n in 0..40 {
        let arguments = json!({ "path": format!("{n}.rs") }).to_string();
        let call = json!({ "id": format!("c{n}"), "type": "function", "function": { "name": "read", "arguments": arguments } });
        messages.push(json!({ "role": "assistant", "tool_calls": [call] }));
        messages.push(json!({ "role": "tool", "tool_call_id": format!("c{n}"), "content": output(n) }));
    }
    messages.push(json!({ "role": "user", "content": "Go on.", "name": "eva" }));
    let body = json!({ "model": "gpt-5.4", "messages": messages, "temperature": 0.5 });
    serde_json::from_value(body).unwrap()
}

fn response() -> CreateResponse {
    let mut input = vec![json!({ "role": "user", "content": "Port the importer. Never touch the parser." })];
    for n in 0..40 {
        let arguments = json!({ "path": format!("{n}.rs") }).to_string();
        input.push(json!({ "type": "function_call", "call_id": format!("c{n}"), "name": "read", "arguments": arguments }));
        input
            .push(json!({ "type": "function_call_output", "call_id": format!("c{n}"), "output": output(n) }));
    }
    input.push(json!({ "role": "user", "content": "Go on." }));
    let body = json!({ "model": "gpt-5.4", "instructions": "Be brief.", "input": input });
    serde_json::from_value(body).unwrap()
}

async fn check<T: Transcript + serde::Serialize>(mut request: T, key: &str) -> (Value, Value) {
    let before = serde_json::to_value(&request).unwrap();
    let compactor = Compactor::new().card(ModelCard::with_window(12_000));
    let report = compact(&mut request, &compactor, &force()).await.unwrap();
    assert!(report.tokens_after <= report.target_tokens.unwrap(), "{report}");
    let after = serde_json::to_value(&request).unwrap();
    let (old, new) = (before[key].as_array().unwrap(), after[key].as_array().unwrap());
    assert!(new.len() < old.len() && new.last() == old.last(), "the last message is kept as it was");
    assert!(after[key].to_string().contains("Never touch the parser."));
    let messages = request.messages().unwrap();
    let calls = messages.iter().flat_map(Message::calls).count();
    let results = messages.iter().filter(|it| matches!(it, Message::ToolResult { .. })).count();
    assert_eq!(calls, results);
    (before, after)
}

#[tokio::test]
async fn a_chat_is_compacted_and_all_else_of_the_request_stays() {
    let (before, after) = check(chat(), "messages").await;
    assert_eq!(after["messages"][0], before["messages"][0], "the system text");
    assert_eq!((&after["model"], &after["temperature"]), (&before["model"], &before["temperature"]));
}

#[tokio::test]
async fn a_response_is_compacted_and_all_else_of_the_request_stays() {
    let (before, after) = check(response(), "input").await;
    assert_eq!(after["instructions"], before["instructions"]);
}

#[test]
fn messages_become_those_of_a_request() {
    let messages = chat().messages().unwrap();
    let body = json!({ "model": "m", "messages": to_chat(&messages).unwrap() });
    let read: CreateChatCompletionRequest = serde_json::from_value(body).unwrap();
    assert_eq!(read.messages().unwrap()[1..10], messages[1..10]);
    assert_eq!(to_items(&messages[1..4]).unwrap().len(), 3);
}
