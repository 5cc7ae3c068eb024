//! Requests and complete answers.

use serde_json::{Value, json};
use wb_budget::{ModelCard, Usage};
use wb_dialect::Dialect;
use wb_invoke::{Emission, ModelInvoker, StopReason, StreamOptions, ThinkingLevel};
use wb_message::{Block, Conversation, Turn};
use wb_testkit::loopback::{Loopback, begun, ended, piece, stream};

use crate::cases::{
    CASES, Case, KEY, TEXT, conversation, emissions, error, is_disconnected, reply, sse, text,
};

fn limited() -> StreamOptions {
    StreamOptions { max_output_tokens: Some(500), ..StreamOptions::default() }
}

#[tokio::test]
async fn an_answer_does_not_depend_on_its_pieces() {
    for case in CASES {
        for n_bytes in [1, 2, 3, 64, 100_000] {
            let server = Loopback::start([stream(&case.answer(TEXT, 0), n_bytes)]);
            let emissions = emissions(&case.invoker(&server.url()), limited()).await;
            assert_eq!(text(&emissions), TEXT, "{} in pieces of {n_bytes}", case.name);
            let reply = reply(&emissions);
            assert_eq!(
                (reply.blocks.as_slice(), reply.stop),
                (&[Block::text(TEXT)][..], StopReason::Complete)
            );
            assert_eq!((reply.usage, reply.model.ends_with("-test-1")), (case.usage, true), "{}", case.name);
            let counted = emissions.iter().rev().find_map(|emission| match emission {
                Emission::Usage { usage } => Some(*usage),
                _ => None,
            });
            assert_eq!(counted, Some(case.usage), "usage is emitted as it arrives");
        }
    }
}

#[tokio::test]
async fn windows_line_ends_are_read() {
    for case in CASES {
        let server = Loopback::start([stream(&case.answer(TEXT, 0).replace('\n', "\r\n"), 5)]);
        let emissions = emissions(&case.invoker(&server.url()), limited()).await;
        assert_eq!(text(&emissions), TEXT, "{}", case.name);
    }
}

#[tokio::test]
async fn a_request_has_its_path_key_and_limit() {
    for case in CASES {
        let server = Loopback::start([stream(&case.answer(TEXT, 0), 64)]);
        let invoker = case.opts(&server.url()).header("x-title", "digest").field("seed", 7).build().unwrap();
        reply(&emissions(&invoker, limited()).await);
        let request = &server.asked()[0];
        assert_eq!(request.line, case.line);
        let (name, scheme) = case.key_header;
        assert_eq!(request.header(name), format!("{scheme}{KEY}"), "{}", case.name);
        assert_eq!(
            (request.header("content-type"), request.header("accept")),
            ("application/json", "text/event-stream")
        );
        assert_eq!((request.header("x-title"), &request.body["seed"]), ("digest", &json!(7)));
        assert!(request.header("user-agent").starts_with("window-budget/"));
        assert_eq!(request.header("anthropic-version").is_empty(), case.name != "anthropic");
        let body = &request.body;
        let limit = match case.name {
            "anthropic" => &body["max_tokens"],
            "openai" => &body["max_completion_tokens"],
            "openai-responses" => &body["max_output_tokens"],
            _ => &body["generationConfig"]["maxOutputTokens"],
        };
        let is_named_as_one_that_reasons = case.name == "anthropic" || case.name == "gemini";
        assert_eq!(limit, if is_named_as_one_that_reasons { 8_692 } else { 500 }, "{}", case.name);
        let is_streamed = body["stream"] == true || request.line.contains("stream");
        assert!(
            is_streamed
                && body.to_string().contains("It is late.")
                && body.to_string().contains("Write a digest.")
        );
        assert_eq!(*body, invoker.body(&conversation(), &limited()));
    }
}

#[tokio::test]
async fn options_may_override_the_model() {
    for case in CASES {
        let server = Loopback::start([stream(&case.answer(TEXT, 0), 64)]);
        let options = StreamOptions { model: Some("other-model".to_owned()), ..limited() };
        reply(&emissions(&case.invoker(&server.url()), options).await);
        let request = &server.asked()[0];
        let named = request.line.contains("/other-model:") || request.body["model"] == "other-model";
        assert!(named, "{}: {}", case.name, request.line);
    }
}

#[test]
fn the_card_overrides_the_name_on_reasoning() {
    let options = StreamOptions { thinking: Some(ThinkingLevel::Low), ..limited() };
    for case in CASES {
        let body = |opts: wb_providers::ProviderOpts| {
            opts.build().unwrap().body(&conversation(), &options).to_string()
        };
        let card = ModelCard { reasoning: true, max_output_tokens: 2_000, ..ModelCard::with_window(50_000) };
        let sent = body(case.opts("http://127.0.0.1:9").card(card));
        assert!(sent.contains(":2000"), "no more than the model can write: {sent}");
        let low = ["\"low\"", "\"thinkingBudget\""].iter().any(|word| sent.contains(word));
        assert!(low || case.name == "gemini", "{sent}");
        let silent = body(case.opts("http://127.0.0.1:9").reasons(false));
        assert!(silent.contains(":500") && !silent.contains("low"), "{silent}");
    }
}

#[tokio::test]
async fn limits_and_refusals_are_reported() {
    for case in CASES {
        for (nth, stop) in [(1, StopReason::MaxOutput), (2, StopReason::Refusal)] {
            let server = Loopback::start([stream(&case.answer(TEXT, nth), 64)]);
            let emissions = emissions(&case.invoker(&server.url()), limited()).await;
            assert_eq!((reply(&emissions).stop, text(&emissions).as_str()), (stop, TEXT), "{}", case.name);
            assert!(emissions.contains(&Emission::Stop { stop }));
        }
    }
}

async fn answered(case: &Case, events: &[Value]) -> Vec<Emission> {
    let server = Loopback::start([stream(&(sse(events) + case.end), 11)]);
    emissions(&case.invoker(&server.url()), limited()).await
}

#[tokio::test]
async fn a_refusal_text_overrides_the_stop_reason() {
    let refusal = json!({"choices": [{"delta": {"refusal": "No."}, "finish_reason": "stop"}]});
    assert_eq!(reply(&answered(&CASES[1], &[refusal]).await).stop, StopReason::Refusal);
    let mut events = CASES[2].events("x", 0);
    events.insert(2, json!({"type": "response.refusal.delta", "delta": "No."}));
    assert_eq!(reply(&answered(&CASES[2], &events).await).stop, StopReason::Refusal);
    let blocked =
        json!({"promptFeedback": {"blockReason": "OTHER"}, "usageMetadata": {"promptTokenCount": 3}});
    let emissions = answered(&CASES[3], &[blocked]).await;
    assert_eq!(reply(&emissions).stop, StopReason::Refusal);
    assert_eq!(reply(&emissions).usage, Usage { input_tokens: 3, ..Usage::EMPTY });
}

/// The events of an answer with reasoning, a text and a tool call.
fn calling(case: &Case) -> Vec<Value> {
    let part = |value: Value| json!({"candidates": [{"content": {"parts": [value]}}]});
    let chunk = |delta: Value| json!({"choices": [{"delta": delta}]});
    let block = |delta: Value| json!({"type": "content_block_delta", "index": 1, "delta": delta});
    let call = |delta: Value| json!({"type": "content_block_delta", "index": 2, "delta": delta});
    match case.name {
        "anthropic" => vec![
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "thinking", "thinking": ""}}),
            block(json!({"type": "thinking_delta", "thinking": "Look."})),
            block(json!({"type": "signature_delta", "signature": "c2ln"})),
            json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "t1", "name": "read", "input": {}}}),
            call(json!({"type": "input_json_delta", "partial_json": "{\"path\""})),
            call(json!({"type": "input_json_delta", "partial_json": ":\"a\"}"})),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}}),
            json!({"type": "message_stop"}),
        ],
        "openai" => vec![
            chunk(json!({"reasoning_content": "Look."})),
            chunk(
                json!({"tool_calls": [{"index": 0, "id": "t1", "function": {"name": "read", "arguments": ""}}]}),
            ),
            chunk(json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"path\":\"a\"}"}}]})),
            json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
        ],
        "openai-responses" => vec![
            json!({"type": "response.reasoning_summary_text.delta", "delta": "Look."}),
            json!({"type": "response.output_item.done", "item": {"type": "reasoning", "encrypted_content": "c2ln"}}),
            json!({"type": "response.output_item.added", "item": {"type": "function_call", "id": "fc_1", "call_id": "t1", "name": "read", "arguments": ""}}),
            json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "delta": "{\"path\":\"a\"}"}),
            json!({"type": "response.completed", "response": {"status": "completed"}}),
        ],
        _ => vec![
            part(json!({"text": "Look.", "thought": true})),
            part(
                json!({"functionCall": {"name": "read", "args": {"path": "a"}, "id": "t1"}, "thoughtSignature": "c2ln"}),
            ),
            json!({"candidates": [{"finishReason": "STOP"}]}),
        ],
    }
}

#[tokio::test]
async fn reasoning_and_calls_carry_what_must_be_sent_back() {
    for case in CASES {
        let emissions = answered(&case, &calling(&case)).await;
        assert!(emissions.contains(&Emission::Thinking { delta: "Look.".to_owned() }), "{}", case.name);
        assert!(emissions.contains(&Emission::ToolCallStart { id: "t1".into(), name: "read".into() }));
        let signature = (case.name != "openai").then(|| "c2ln".to_owned());
        let thinking = Block::Thinking { text: "Look.".to_owned(), signature };
        let reply = reply(&emissions);
        assert_eq!(
            reply.blocks,
            [thinking, Block::call("t1", "read", json!({"path": "a"}))],
            "{}",
            case.name
        );
        assert_eq!(reply.stop, StopReason::ToolCalls, "{}", case.name);
    }
}

#[tokio::test]
async fn an_answer_sent_back_breaks_no_rule() {
    for case in CASES {
        let reply = reply(&answered(&case, &calling(&case)).await).clone();
        let result =
            Block::ToolResult { call_id: "t1".to_owned(), output: json!("fn a() {}"), is_error: None };
        let turns = [
            conversation().turns,
            vec![Turn::Assistant { blocks: reply.blocks }, Turn::Tool { blocks: vec![result] }],
        ];
        let conversation = Conversation { turns: turns.concat(), ..conversation() };
        let body = case.invoker("http://127.0.0.1:9").body(&conversation, &limited());
        let dialect: Dialect = case.name.parse().unwrap();
        assert_eq!(wb_dialect::validate(&body, dialect), [], "{}: {body}", case.name);
        let shown = body.to_string();
        assert!(shown.contains("fn a() {}") && shown.contains("read"), "{shown}");
        assert_eq!(shown.contains("c2ln"), matches!(case.name, "anthropic" | "gemini"), "{shown}");
    }
}

#[tokio::test]
async fn a_call_without_an_id_gets_one() {
    let call = json!({"functionCall": {"name": "ls", "args": {}}});
    let parts = json!({"candidates": [{"content": {"parts": [call, call]}, "finishReason": "STOP"}]});
    let emissions = answered(&CASES[3], &[parts]).await;
    let ids = reply(&emissions).blocks.iter().map(|block| match block {
        Block::ToolCall { id, .. } => id.as_str(),
        _ => "",
    });
    assert_eq!(ids.collect::<Vec<_>>(), ["call_1", "call_2"]);
}

#[tokio::test]
async fn a_stream_may_end_without_a_mark_after_the_stop_reason() {
    let server = Loopback::start([stream(&sse(&CASES[1].events(TEXT, 0)), 64)]);
    assert_eq!(reply(&emissions(&CASES[1].invoker(&server.url()), limited()).await).usage, CASES[1].usage);
}

#[tokio::test]
async fn a_response_that_is_not_a_stream_is_an_error() {
    for case in CASES {
        let server = Loopback::start([wb_testkit::loopback::error(200, &[], "{\"choices\":[]}")]);
        let emissions = emissions(&case.invoker(&server.url()), limited()).await;
        assert_eq!(
            error(&emissions).message,
            "the server answered with application/jsoninstead of an event stream"
        );
    }
}

#[tokio::test]
async fn an_answer_is_emitted_as_it_arrives() {
    use futures::StreamExt;
    for case in CASES {
        let mut plays = vec![begun(), piece(case.half(TEXT).as_bytes()), wb_testkit::loopback::Play::Hang];
        plays.push(ended());
        let server = Loopback::start([plays]);
        let mut stream = case.invoker(&server.url()).invoke(conversation(), limited());
        let mut seen = String::new();
        while seen.is_empty() {
            if let Some(Emission::Text { delta }) = stream.next().await {
                seen.push_str(&delta);
            }
        }
        assert!(TEXT.starts_with(&seen), "{}", case.name);
        drop(stream);
        assert!(
            is_disconnected(&server).await,
            "{}: a stream that is dropped closes the connection",
            case.name
        );
    }
}
