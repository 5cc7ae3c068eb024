//! The mock provider of the SDKs: it judges each request, and gives the smallest valid answer or a
//! refusal.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use wb_testkit::loopback::{self, Loopback};

use super::rules;

/// The text of every answer.
pub(super) const WORD: &str = "Fine.";

/// A server that records what it receives.
pub(super) struct CheckingProvider {
    server: Loopback,
    received: Arc<Mutex<Received>>,
}

/// The bodies that arrived, and the paths that no provider has.
#[derive(Debug, Default)]
pub(super) struct Received {
    pub(super) bodies: Vec<Value>,
    pub(super) strays: Vec<String>,
}

impl CheckingProvider {
    /// Starts to listen on a free port.
    pub(super) fn start() -> Self {
        let received = Arc::new(Mutex::new(Received::default()));
        let its_own = Arc::clone(&received);
        let server = Loopback::with_handler(move |_, request| {
            let path =
                request.line.split_once(' ').map_or("", |(_, url)| url.split('?').next().unwrap_or(url));
            let (status, body) = answer(&mut locked(&its_own), path, &request.body);
            loopback::error(status, &[], &body.to_string())
        });
        Self { server, received }
    }

    /// Returns the base of its addresses.
    pub(super) fn url(&self) -> String {
        self.server.url()
    }

    /// Returns what arrived since this was called last.
    pub(super) fn take(&self) -> Received {
        std::mem::take(&mut locked(&self.received))
    }
}

fn locked(received: &Mutex<Received>) -> MutexGuard<'_, Received> {
    received.lock().unwrap_or_else(PoisonError::into_inner)
}

fn answer(received: &mut Received, path: &str, body: &Value) -> (u16, Value) {
    let Some((dialect, model)) = addressed(path, body) else {
        received.strays.push(path.to_owned());
        return (404, refusal("openai", &format!("no such path: {path}")));
    };
    let body = if dialect == "gemini" { camel(body) } else { body.clone() };
    let found = rules::findings(dialect, model, &body);
    received.bodies.push(body);
    if found.is_empty() {
        return (200, smallest(dialect));
    }
    let why: Vec<String> = found.iter().map(|it| format!("{}: {}: {}", it.at, it.word, it.why)).collect();
    (400, refusal(dialect, &why.join("; ")))
}

/// Returns the dialect of a path, and the model.
fn addressed<'a>(path: &'a str, body: &'a Value) -> Option<(&'static str, &'a str)> {
    let model = body["model"].as_str().unwrap_or_default();
    match path {
        "/v1/chat/completions" => Some(("openai", model)),
        "/v1/responses" => Some(("openai-responses", model)),
        "/v1/messages" => Some(("anthropic", model)),
        _ => {
            let path = path.strip_prefix("/v1beta/models/").or(path.strip_prefix("/v1/models/"))?;
            Some(("gemini", path.strip_suffix(":generateContent")?))
        }
    }
}

/// Keys in the words of the caller.
const FREE: [&str; 4] = ["args", "response", "parameters", "parametersJsonSchema"];

/// Accepts names with underscores, as providers that read protocol buffers do.
fn camel(value: &Value) -> Value {
    match value {
        Value::Array(list) => list.iter().map(camel).collect(),
        Value::Object(map) => {
            let renamed = map.iter().map(|(key, inner)| (camel_key(key), inner));
            let renamed = renamed.map(|(key, inner)| {
                let inner = if FREE.contains(&key.as_str()) { inner.clone() } else { camel(inner) };
                (key, inner)
            });
            Value::Object(renamed.collect())
        }
        other => other.clone(),
    }
}

fn camel_key(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |camel, word| {
        let mut letters = word.chars();
        camel + &letters.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    })
}

fn refusal(dialect: &str, why: &str) -> Value {
    match dialect {
        "anthropic" => json!({"type": "error", "error": {"type": "invalid_request_error", "message": why}}),
        "gemini" => json!({"error": {"code": 400, "message": why, "status": "INVALID_ARGUMENT"}}),
        _ => json!({"error": {"message": why, "type": "invalid_request_error", "param": null, "code": null}}),
    }
}

fn smallest(dialect: &str) -> Value {
    match dialect {
        "openai" => json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{
                "index": 0, "finish_reason": "stop", "logprobs": null,
                "message": {"role": "assistant", "content": WORD, "refusal": null}
            }],
            "usage": {"prompt_tokens": 9, "completion_tokens": 2, "total_tokens": 11}
        }),
        "openai-responses" => json!({
            "id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "error": null,
            "incomplete_details": null, "instructions": null, "metadata": {}, "model": "m",
            "output": [{
                "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": WORD, "annotations": []}]
            }],
            "parallel_tool_calls": true, "temperature": 1.0, "tool_choice": "auto", "tools": [], "top_p": 1.0
        }),
        "anthropic" => json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": WORD}], "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": 9, "output_tokens": 2}
        }),
        _ => json!({
            "candidates": [
                {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [{"text": WORD}]}}
            ],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2, "totalTokenCount": 11},
            "modelVersion": "m", "responseId": "r"
        }),
    }
}
