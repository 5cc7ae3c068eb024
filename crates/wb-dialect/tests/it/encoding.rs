//! Encoding of conversations in each dialect.

use serde_json::{Value, json};
use wb_dialect::{Dialect, EncodedRequest, VerbatimParts, encode};
use wb_message::{Block, Conversation, Message, ToolDescriptor, Turn};

fn result(id: &str, output: Value) -> Block {
    Block::ToolResult { call_id: id.into(), output, is_error: None }
}

fn thinking(text: &str, signature: &str) -> Block {
    Block::Thinking { text: text.into(), signature: Some(signature.into()) }
}

/// A prompt, reasoning and two calls, a user text before their results, and an answer.
fn conversation(signature: &str) -> Conversation {
    let calls = vec![
        thinking("Look.", signature),
        Block::call("c1", "read", json!({ "path": "a.rs" })),
        Block::call("c2", "patch", json!("*** Begin")),
    ];
    let tools =
        vec![ToolDescriptor { name: "read".into(), description: "Reads.".into(), parameters: json!({}) }];
    Conversation {
        system: Some("Be short.".into()),
        turns: vec![
            Turn::user("Fix it."),
            Turn::Assistant { blocks: calls },
            Turn::user("Quick!"),
            Turn::Tool { blocks: vec![result("c1", json!("fn a() {}")), result("c2", Value::Null)] },
            Turn::Assistant { blocks: vec![Block::text(" "), Block::text("Done.")] },
        ],
        tools: Some(tools),
    }
}

#[test]
fn anthropic_gets_results_first_and_signed_reasoning() {
    let read = json!({ "type": "tool_use", "id": "c1", "name": "read", "input": { "path": "a.rs" } });
    let patch = json!({ "type": "tool_use", "id": "c2", "name": "patch", "input": { "input": "*** Begin" } });
    let text = json!([{ "type": "text", "text": "fn a() {}" }]);
    assert_eq!(
        encode(&conversation("Eu8="), Dialect::Anthropic),
        json!({
            "tools": [{ "name": "read", "description": "Reads.", "input_schema": {} }],
            "system": "Be short.",
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Fix it." }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "Look.", "signature": "Eu8=" }, read, patch
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "c1", "content": text },
                    { "type": "tool_result", "tool_use_id": "c2" },
                    { "type": "text", "text": "Quick!" }
                ] },
                { "role": "assistant", "content": [{ "type": "text", "text": "Done." }] }
            ]
        })
    );
}

#[test]
fn chat_gets_results_after_their_calls_and_no_reasoning() {
    let call = |id: &str, name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        json!({ "id": id, "type": "function", "function": function })
    };
    let calls = [call("c1", "read", r#"{"path":"a.rs"}"#), call("c2", "patch", r#"{"input":"*** Begin"}"#)];
    let body = encode(&conversation("Eu8="), Dialect::OpenaiChat);
    assert_eq!(
        body["messages"],
        json!([
            { "role": "system", "content": "Be short." },
            { "role": "user", "content": "Fix it." },
            { "role": "assistant", "content": null, "tool_calls": calls },
            { "role": "tool", "tool_call_id": "c1", "content": "fn a() {}" },
            { "role": "tool", "tool_call_id": "c2", "content": "" },
            { "role": "user", "content": "Quick!" },
            { "role": "assistant", "content": "Done." }
        ])
    );
    assert_eq!(body["tools"][0]["function"]["name"], "read");
}

#[test]
fn responses_gets_items_in_order_with_its_reasoning() {
    let body = encode(&conversation("gAAAAB"), Dialect::OpenaiResponses);
    let message = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let summary = json!([{ "type": "summary_text", "text": "Look." }]);
    assert_eq!(body["instructions"], "Be short.");
    assert_eq!(
        body["input"],
        json!([
            message("user", "input_text", "Fix it."),
            { "type": "reasoning", "summary": summary, "encrypted_content": "gAAAAB" },
            { "type": "function_call", "call_id": "c1", "name": "read", "arguments": "{\"path\":\"a.rs\"}" },
            { "type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "*** Begin" },
            message("user", "input_text", "Quick!"),
            { "type": "function_call_output", "call_id": "c1", "output": "fn a() {}" },
            { "type": "custom_tool_call_output", "call_id": "c2", "output": "" },
            message("assistant", "output_text", "Done.")
        ])
    );
}

#[test]
fn gemini_gets_a_response_per_call_and_signed_thoughts() {
    let body = encode(&conversation("Eu8="), Dialect::Gemini);
    let read = json!({ "id": "c1", "name": "read", "args": { "path": "a.rs" } });
    let patch = json!({ "id": "c2", "name": "patch", "args": { "input": "*** Begin" } });
    let response = |id: &str, name: &str, output: &str| json!({ "functionResponse": { "id": id, "name": name, "response": { "output": output } } });
    assert_eq!(body["systemInstruction"], json!({ "parts": [{ "text": "Be short." }] }));
    assert_eq!(
        body["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "Fix it." }] },
            { "role": "model", "parts": [
                { "text": "Look.", "thought": true, "thoughtSignature": "Eu8=" },
                { "functionCall": read }, { "functionCall": patch }
            ] },
            { "role": "user", "parts": [
                response("c1", "read", "fn a() {}"), response("c2", "patch", ""), { "text": "Quick!" }
            ] },
            { "role": "model", "parts": [{ "text": "Done." }] }
        ])
    );
}

#[test]
fn a_gemini_signature_without_a_thought_joins_the_next_part() {
    let calls = vec![
        thinking("", "AAAA"),
        Block::call("c1", "read", json!({})),
        Block::call("c2", "read", json!({})),
        thinking("", "BBBB"),
        thinking("", "CCCC"),
    ];
    let encoded = EncodedRequest::from_messages(&[Message::assistant_blocks(calls)], Dialect::Gemini);
    let call = |id: &str| json!({ "id": id, "name": "read", "args": {} });
    assert_eq!(
        encoded.body["contents"][0]["parts"],
        json!([
            { "functionCall": call("c1"), "thoughtSignature": "AAAA" },
            { "functionCall": call("c2") },
            { "text": "", "thoughtSignature": "BBBB" },
            { "text": "", "thoughtSignature": "CCCC" }
        ])
    );
}

#[test]
fn redacted_reasoning_is_sent_to_anthropic_only() {
    let messages =
        [Message::assistant_blocks(vec![Block::redacted_thinking("b3BhcXVl"), Block::text("Done.")])];
    let [anthropic, others @ ..] =
        Dialect::ALL.map(|dialect| EncodedRequest::from_messages(&messages, dialect).body);
    let redacted = json!({ "type": "redacted_thinking", "data": "b3BhcXVl" });
    assert_eq!(anthropic["messages"][0]["content"], json!([redacted, { "type": "text", "text": "Done." }]));
    for other in others.map(|other| other.to_string()) {
        assert!(
            other.contains("Done.") && !other.contains("b3BhcXVl") && !other.contains("redacted"),
            "{other}"
        );
    }
}

#[test]
fn reasoning_of_another_provider_is_left_out() {
    let has =
        |signature: &str, dialect| encode(&conversation(signature), dialect).to_string().contains(signature);
    let by_dialect = |signature| Dialect::ALL.map(|dialect| has(signature, dialect));
    assert_eq!(by_dialect("Eu8="), [true, false, false, true]);
    assert_eq!(by_dialect("gAAAAB"), [false, false, true, false]);
    assert_eq!(by_dialect("EqoBCkgIARABGAIi"), [true, false, false, false], "Anthropic");
    assert_eq!(by_dialect("EuYBCuMBAb4+9vth"), [false, false, false, true], "Gemini");
}

#[test]
fn pictures_of_results_are_placed_where_the_dialect_allows() {
    let picture = Block::image("image/png", "iVBORw0K");
    let messages = [
        Message::user("Look."),
        Message::assistant_blocks(vec![Block::call("c1", "look", json!({}))]),
        Message::ToolResult {
            tool_call_id: "c1".into(),
            tool_name: "look".into(),
            content: vec![Block::text("seen"), picture],
            is_error: false,
            is_refusal: false,
        },
    ];
    let at = |dialect, pointer: &str| {
        let encoded = EncodedRequest::from_messages(&messages, dialect);
        encoded.body.pointer(pointer).cloned().unwrap_or_default()
    };
    assert_eq!(at(Dialect::Anthropic, "/messages/2/content/0/content/1/source/data"), "iVBORw0K");
    let url = "data:image/png;base64,iVBORw0K";
    assert_eq!(at(Dialect::OpenaiChat, "/messages/3/content/0/image_url/url"), url);
    assert_eq!(at(Dialect::OpenaiResponses, "/input/2/output/1/image_url"), url);
    assert_eq!(at(Dialect::Gemini, "/contents/2/parts/1/inlineData/data"), "iVBORw0K");
}

#[test]
fn each_part_of_a_request_has_its_source_message() {
    let messages = [
        Message::custom("system", "Be short."),
        Message::user("Go."),
        Message::assistant_blocks(vec![
            Block::call("c1", "read", json!({})),
            Block::call("c2", "read", json!({})),
        ]),
        Message::user("Quick!"),
        Message::tool_result("c1", "read", "x"),
        Message::tool_result("c2", "read", "y"),
    ];
    let origins = |dialect, at: usize| {
        let encoded = EncodedRequest::from_messages(&messages, dialect);
        [0, 1, 2].map(|part| encoded.origin(at, Some(part)))
    };
    assert_eq!(origins(Dialect::Anthropic, 2), [Some(4), Some(5), Some(3)]);
    assert_eq!(origins(Dialect::Gemini, 2), [Some(4), Some(5), Some(3)]);
    assert_eq!(origins(Dialect::OpenaiChat, 4), [Some(5); 3]);
    assert_eq!(origins(Dialect::OpenaiResponses, 3), [Some(3); 3]);
    assert_eq!(origins(Dialect::Anthropic, 9), [None; 3]);
}

#[test]
fn call_names_are_reshaped_unless_the_tool_is_offered() {
    let messages = [
        Message::user("Go."),
        Message::assistant_blocks(vec![Block::call("c1", "fs.read file", json!({}))]),
        Message::tool_result("c1", "fs.read file", "x"),
    ];
    for (dialect, name) in
        Dialect::ALL.into_iter().zip(["fs_read_file", "fs_read_file", "fs_read_file", "fs.read_file"])
    {
        let encoded = EncodedRequest::from_messages(&messages, dialect);
        let n_named = encoded.body.to_string().matches(&format!("\"name\":\"{name}\"")).count();
        assert_eq!(n_named, if dialect == Dialect::Gemini { 2 } else { 1 }, "{}", encoded.body);
        assert_eq!(encoded.validate(), []);
        let verbatim = EncodedRequest::next_request_with(
            &messages,
            dialect,
            VerbatimParts { names: true, ..VerbatimParts::default() },
        );
        assert_eq!(verbatim.validate().iter().map(|it| it.rule.as_ref()).collect::<Vec<_>>(), ["tool-name"]);
    }
    let tool =
        ToolDescriptor { name: "fs.read file".into(), description: "Reads.".into(), parameters: json!({}) };
    let offered = Conversation {
        turns: vec![Turn::Assistant { blocks: messages[1].blocks().to_vec() }],
        tools: Some(vec![tool]),
        ..Conversation::default()
    };
    let body = encode(&offered, Dialect::Anthropic);
    assert_eq!(body["messages"][0]["content"][0]["name"], body["tools"][0]["name"]);
}

#[test]
fn an_answer_without_content_is_refused_in_chat_if_the_agent_sends_it() {
    let empty = [vec![], vec![Block::text("")]].map(Message::assistant_blocks);
    for answer in empty {
        let messages = [Message::user("Go."), answer, Message::user("Well?")];
        for dialect in [Dialect::OpenaiChat, Dialect::OpenaiResponses, Dialect::Gemini] {
            let found = |empty_texts| {
                let verbatim = VerbatimParts { empty_texts, ..VerbatimParts::default() };
                let found = EncodedRequest::next_request_with(&messages, dialect, verbatim).validate();
                found.into_iter().map(|it| (it.rule.into_owned(), it.message)).collect::<Vec<_>>()
            };
            let is_chat = dialect == Dialect::OpenaiChat;
            let refused = is_chat.then(|| ("message-empty".to_owned(), Some(1)));
            assert_eq!(found(true), refused.into_iter().collect::<Vec<_>>(), "{dialect}");
            assert_eq!(found(false), [], "{dialect}");
        }
    }
}

#[test]
fn the_order_of_a_session_is_kept_if_its_agent_sends_it() {
    let messages = [
        Message::user("Go."),
        Message::assistant_blocks(vec![
            Block::call("c1", "ls", json!({})),
            Block::call("c2", "ls", json!({})),
        ]),
        Message::tool_result("c1", "ls", "x"),
        Message::user("Wait."),
        Message::tool_result("c2", "ls", "y"),
    ];
    let roles = |order| {
        let verbatim = VerbatimParts { order, ..VerbatimParts::default() };
        let encoded = EncodedRequest::next_request_with(&messages, Dialect::OpenaiChat, verbatim);
        let all = encoded.body["messages"].as_array().into_iter().flatten();
        let roles =
            all.map(|it| it["role"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>().join(" ");
        (
            roles,
            encoded.validate().into_iter().map(|it| (it.rule.into_owned(), it.message)).collect::<Vec<_>>(),
        )
    };
    assert_eq!(roles(false), ("user assistant tool tool user".to_owned(), vec![]));
    let late = vec![("result-misplaced".to_owned(), Some(4))];
    assert_eq!(roles(true), ("user assistant tool user tool".to_owned(), late));
}
