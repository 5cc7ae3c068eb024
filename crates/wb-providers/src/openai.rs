//! `OpenAI`'s chat completions, also of compatible servers.

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use wb_dialect::Dialect;
use wb_invoke::StopReason;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::key::Key;
use crate::openai_models::reasons;
use crate::protocol::{Protocol, RequestParams, number_at, parse_json, text_at, usage_with_cached};
use crate::sse::SseEvent;

/// The data of the last event.
const DONE: &str = "[DONE]";

#[derive(Debug)]
pub(crate) struct Chat {
    /// The field for the output limit; only `OpenAI` includes reasoning and has another name for
    /// it.
    pub(crate) limit: &'static str,
    /// The environment variable for the key; `OpenAI`'s key must not go to other servers.
    key_names: &'static [&'static str],
    /// True if requests need a key.
    needs_key: bool,
}

pub(crate) const OPENAI: Chat =
    Chat { limit: "max_completion_tokens", key_names: &["OPENAI_API_KEY"], needs_key: true };
pub(crate) const COMPATIBLE: Chat =
    Chat { limit: "max_tokens", key_names: &["OPENAI_COMPATIBLE_API_KEY"], needs_key: false };

impl Protocol for Chat {
    fn dialect(&self) -> Dialect {
        Dialect::OpenaiChat
    }

    fn key_names(&self) -> &'static [&'static str] {
        self.key_names
    }

    fn needs_key(&self) -> bool {
        self.needs_key
    }

    fn base_url(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn path(&self, _: &str) -> (Vec<String>, Option<&'static str>) {
        (vec!["chat".to_owned(), "completions".to_owned()], None)
    }

    fn key_header(&self, key: &Key) -> Option<(HeaderName, HeaderValue)> {
        Some((AUTHORIZATION, key.header("Bearer ")?))
    }

    fn reasons(&self, model: &str) -> bool {
        reasons(model)
    }

    fn fill(&self, body: &mut Map<String, Value>, params: &RequestParams<'_>) {
        body.insert("model".into(), params.model.into());
        body.insert("stream".into(), true.into());
        body.insert("stream_options".into(), json!({"include_usage": true}));
        if let Some(max_tokens) = params.max_tokens() {
            body.insert(self.limit.into(), max_tokens.into());
        }
        if let Some(effort) = params.effort() {
            body.insert("reasoning_effort".into(), effort.into());
        }
    }

    fn read(&self, event: &SseEvent, answer: &mut Answer) -> Result<(), Failure> {
        if event.data.trim() == DONE {
            answer.end();
            return Ok(());
        }
        let event = parse_json(event)?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Failure::from_event(&event));
        }
        answer.set_model(text_at(&event, "/model"));
        let choice = &event["choices"][0];
        delta(&choice["delta"], answer);
        stop(text_at(choice, "/finish_reason"), answer);
        if let Some(prompt) = number_at(&event, "/usage/prompt_tokens") {
            let cached = number_at(&event, "/usage/prompt_tokens_details/cached_tokens");
            let output = number_at(&event, "/usage/completion_tokens").unwrap_or(0);
            answer.count(usage_with_cached(prompt, cached, output));
        }
        Ok(())
    }
}

fn delta(delta: &Value, answer: &mut Answer) {
    // Servers use either name for visible reasoning.
    answer.thinking(text_at(delta, "/reasoning_content"));
    answer.thinking(text_at(delta, "/reasoning"));
    answer.text(text_at(delta, "/content"));
    answer.refusal(text_at(delta, "/refusal"));
    for (nth, call) in delta["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let key = number_at(call, "/index").unwrap_or(nth as u64).to_string();
        if call["id"].is_string() || call["function"]["name"].is_string() {
            answer.call(&key, text_at(call, "/id"), text_at(call, "/function/name"));
        }
        answer.arguments(&key, text_at(call, "/function/arguments"));
    }
}

fn stop(reason: &str, answer: &mut Answer) {
    answer.stop(match reason {
        "" => return,
        "length" => StopReason::MaxOutput,
        "tool_calls" | "function_call" => StopReason::ToolCalls,
        "content_filter" => StopReason::Refusal,
        "error" => StopReason::Error,
        _ => StopReason::Complete,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use wb_invoke::ThinkingLevel;

    #[test]
    fn each_server_gets_the_limit_under_its_name() {
        let params = |model| RequestParams {
            model,
            visible_tokens: Some(900),
            thinking: Some(ThinkingLevel::Low),
            reasons: reasons(model),
            prompt_cache: false,
            max_output_tokens: 0,
        };
        let filled = |chat: &Chat, model| {
            let mut body = Map::new();
            chat.fill(&mut body, &params(model));
            Value::from(body)
        };
        let body = filled(&OPENAI, "gpt-5");
        assert_eq!(
            (&body["max_completion_tokens"], &body["reasoning_effort"]),
            (&json!(2_948), &json!("low"))
        );
        let body = filled(&COMPATIBLE, "llama3");
        assert_eq!((&body["max_tokens"], &body["reasoning_effort"]), (&json!(900), &Value::Null));
    }
}
