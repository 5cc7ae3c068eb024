//! The four protocols, each with a key and generated streams.

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use wb_budget::Usage;
use wb_invoke::{Emission, InvokeError, ModelInvoker, Reply, StreamOptions};
use wb_message::{Conversation, Turn};
use wb_providers::{HttpInvoker, Key, ProviderOpts, RetryPolicy};
use wb_testkit::loopback::Loopback;

/// The secret, which may appear in its header only.
pub(crate) const KEY: &str = "sk-loopback-0123456789";
/// The models' answer; pieces of one byte split its characters.
pub(crate) const TEXT: &str = "# Objective\n- größe 🦀 prüfen";

/// A protocol with its requests and answers.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) name: &'static str,
    opts: fn(&str) -> ProviderOpts,
    /// The first line of a request.
    pub(crate) line: &'static str,
    /// The header with the key, and the prefix of its value.
    pub(crate) key_header: (&'static str, &'static str),
    /// The events of an answer: its text in two pieces, and the provider's stop reason.
    events_of: fn(&str, &str, &str) -> Vec<Value>,
    /// The provider's words for complete, length and refusal.
    pub(crate) words: [&'static str; 3],
    /// An error event of the stream.
    pub(crate) overloaded: fn() -> Value,
    /// The end of the stream.
    pub(crate) end: &'static str,
    pub(crate) usage: Usage,
}

pub(crate) const CASES: [Case; 4] = [
    Case {
        name: "anthropic",
        opts: |url| ProviderOpts::anthropic("claude-test").base_url(url),
        line: "POST /v1/messages",
        key_header: ("x-api-key", ""),
        events_of: anthropic,
        words: ["end_turn", "max_tokens", "refusal"],
        overloaded: || json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        end: "",
        usage: Usage {
            input_tokens: 20,
            output_tokens: 9,
            cache_read_tokens: Some(70),
            cache_write_tokens: Some(10),
        },
    },
    Case {
        name: "openai",
        opts: |url| ProviderOpts::openai("gpt-test").base_url(format!("{url}/v1")),
        line: "POST /v1/chat/completions",
        key_header: ("authorization", "Bearer "),
        events_of: chat,
        words: ["stop", "length", "content_filter"],
        overloaded: || json!({"error": {"code": 503, "message": "Overloaded", "type": "server_error"}}),
        end: "data: [DONE]\n\n",
        usage: CACHED,
    },
    Case {
        name: "openai-responses",
        opts: |url| ProviderOpts::openai_responses("gpt-test").base_url(format!("{url}/v1/")),
        line: "POST /v1/responses",
        key_header: ("authorization", "Bearer "),
        events_of: responses,
        words: ["", "max_output_tokens", "content_filter"],
        overloaded: || {
            let error = json!({"code": "server_error", "message": "Overloaded"});
            json!({"type": "response.failed", "response": {"status": "failed", "error": error}})
        },
        end: "",
        usage: CACHED,
    },
    Case {
        name: "gemini",
        opts: |url| ProviderOpts::gemini("gemini-test").base_url(url),
        line: "POST /v1beta/models/gemini-test:streamGenerateContent?alt=sse",
        key_header: ("x-goog-api-key", ""),
        events_of: gemini,
        words: ["STOP", "MAX_TOKENS", "SAFETY"],
        overloaded: || json!({"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}}),
        end: "",
        usage: CACHED,
    },
];

/// 70 of 100 tokens from a cache, and 9 of output.
const CACHED: Usage =
    Usage { input_tokens: 30, output_tokens: 9, cache_read_tokens: Some(70), cache_write_tokens: None };

fn anthropic(one: &str, two: &str, stop: &str) -> Vec<Value> {
    let usage = json!({"input_tokens": 20, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 10, "output_tokens": 1});
    let delta = |text| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    vec![
        json!({"type": "message_start", "message": {"model": "claude-test-1", "usage": usage}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "ping"}),
        delta(one),
        delta(two),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn chat(one: &str, two: &str, stop: &str) -> Vec<Value> {
    let chunk = |delta: Value, stop: Option<&str>| json!({"model": "gpt-test-1", "choices": [{"index": 0, "delta": delta, "finish_reason": stop}], "usage": null});
    let usage =
        json!({"prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 70}});
    vec![
        chunk(json!({"role": "assistant", "content": "", "refusal": null}), None),
        chunk(json!({"content": one}), None),
        chunk(json!({"content": two}), None),
        chunk(json!({}), Some(stop)),
        json!({"model": "gpt-test-1", "choices": [], "usage": usage}),
    ]
}

fn responses(one: &str, two: &str, stop: &str) -> Vec<Value> {
    let usage =
        json!({"input_tokens": 100, "input_tokens_details": {"cached_tokens": 70}, "output_tokens": 9});
    let delta = |text| json!({"type": "response.output_text.delta", "item_id": "msg_1", "delta": text});
    let (kind, why) = match stop {
        "" => ("completed", Value::Null),
        reason => ("incomplete", json!({"reason": reason})),
    };
    let response = json!({"model": "gpt-test-1", "status": kind, "incomplete_details": why, "usage": usage});
    vec![
        json!({"type": "response.created", "response": {"model": "gpt-test"}}),
        json!({"type": "response.output_item.added", "item": {"type": "message", "id": "msg_1"}}),
        delta(one),
        delta(two),
        json!({"type": format!("response.{kind}"), "response": response}),
    ]
}

fn gemini(one: &str, two: &str, stop: &str) -> Vec<Value> {
    let chunk = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}], "role": "model"}}], "modelVersion": "gemini-test-1"});
    let mut last = chunk(two);
    last["candidates"][0]["finishReason"] = stop.into();
    last["usageMetadata"] = json!({"promptTokenCount": 100, "cachedContentTokenCount": 70, "candidatesTokenCount": 4, "thoughtsTokenCount": 5});
    vec![chunk(one), last]
}

/// Writes events as a stream that starts with a comment.
pub(crate) fn sse(events: &[Value]) -> String {
    let event = |event: &Value| match event["type"].as_str() {
        Some(name) => format!("event: {name}\ndata: {event}\n\n"),
        None => format!("data: {event}\n\n"),
    };
    std::iter::once(": begin\n\n".to_owned()).chain(events.iter().map(event)).collect()
}

impl Case {
    /// Returns options for a server, with immediate retries.
    pub(crate) fn opts(&self, url: &str) -> ProviderOpts {
        let retry = RetryPolicy { first_delay: Duration::from_millis(2), ..RetryPolicy::default() };
        (self.opts)(url).key(Key::new(KEY).unwrap()).retry(retry)
    }

    pub(crate) fn invoker(&self, url: &str) -> HttpInvoker {
        self.opts(url).build().unwrap()
    }

    /// Returns the events of an answer that stops with the nth word.
    pub(crate) fn events(&self, text: &str, stop: usize) -> Vec<Value> {
        let mid = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
        (self.events_of)(&text[..mid], &text[mid..], self.words[stop])
    }

    /// Returns the stream of a complete answer.
    pub(crate) fn answer(&self, text: &str, stop: usize) -> String {
        sse(&self.events(text, stop)) + self.end
    }

    /// Returns the stream up to the second half of the text.
    pub(crate) fn half(&self, text: &str) -> String {
        let events = self.events(text, 0);
        let is_text = |event: &Value| event.to_string().contains("# Objective");
        let end = events.iter().position(is_text).unwrap() + 1;
        sse(&events[..end])
    }
}

pub(crate) fn conversation() -> Conversation {
    Conversation {
        system: Some("Write a digest.".to_owned()),
        turns: vec![Turn::user("It is late.")],
        tools: None,
    }
}

/// Collects the emissions of a request.
pub(crate) async fn emissions(invoker: &HttpInvoker, options: StreamOptions) -> Vec<Emission> {
    invoker.invoke(conversation(), options).collect().await
}

/// Returns the streamed text.
pub(crate) fn text(emissions: &[Emission]) -> String {
    let delta = |emission: &Emission| match emission {
        Emission::Text { delta } => Some(delta.clone()),
        _ => None,
    };
    emissions.iter().filter_map(delta).collect()
}

/// Returns the answer that ends a stream; nothing else may end it.
pub(crate) fn reply(emissions: &[Emission]) -> &Reply {
    assert_eq!(emissions.iter().filter(|it| it.is_terminal()).count(), 1, "{emissions:?}");
    let Some(Emission::Done { reply }) = emissions.last() else { panic!("{emissions:?}") };
    reply
}

/// Returns the error that ends a stream; nothing else may end it.
pub(crate) fn error(emissions: &[Emission]) -> &InvokeError {
    assert_eq!(emissions.iter().filter(|it| it.is_terminal()).count(), 1, "{emissions:?}");
    let Some(Emission::Error { error }) = emissions.last() else { panic!("{emissions:?}") };
    error
}

/// Returns whether the client disconnects within five seconds; the test's runtime closes the
/// connection.
pub(crate) async fn is_disconnected(server: &Loopback) -> bool {
    for _ in 0..500 {
        if server.n_left() > 0 {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}
