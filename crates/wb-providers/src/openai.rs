//! `OpenAI`'s chat completions, and every server that speaks them.

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use wb_dialect::Dialect;
use wb_invoke::StopReason;

use crate::answer::Answer;
use crate::failure::Failure;
use crate::key::Key;
use crate::openai_models::reasons;
use crate::protocol::{Ask, Protocol, json_of, number_at, text_at, usage_of};
use crate::sse::SseEvent;

/// What ends a stream.
const DONE: &str = "[DONE]";

#[derive(Debug)]
pub(crate) struct Chat {
    /// The field that limits the answer: `OpenAI` counts reasoning by it and has another name for it than all others.
    pub(crate) limit: &'static str,
    /// The environment variable that holds the key: that of `OpenAI` must not go elsewhere.
    key_names: &'static [&'static str],
    /// Whether nobody is served without one.
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

    fn fill(&self, body: &mut Map<String, Value>, ask: &Ask<'_>) {
        body.insert("model".into(), ask.model.into());
        body.insert("stream".into(), true.into());
        body.insert("stream_options".into(), json!({"include_usage": true}));
        if let Some(max_tokens) = ask.max_tokens() {
            body.insert(self.limit.into(), max_tokens.into());
        }
        if let Some(effort) = ask.effort() {
            body.insert("reasoning_effort".into(), effort.into());
        }
    }

    fn read(&self, event: &SseEvent, answer: &mut Answer) -> Result<(), Failure> {
        if event.data.trim() == DONE {
            answer.end();
            return Ok(());
        }
        let event = json_of(event)?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Failure::of_event(&event));
        }
        answer.of_model(text_at(&event, "/model"));
        let choice = &event["choices"][0];
        delta(&choice["delta"], answer);
        stop(text_at(choice, "/finish_reason"), answer);
        if let Some(prompt) = number_at(&event, "/usage/prompt_tokens") {
            let cached = number_at(&event, "/usage/prompt_tokens_details/cached_tokens");
            let output = number_at(&event, "/usage/completion_tokens").unwrap_or(0);
            answer.count(usage_of(prompt, cached, output));
        }
        Ok(())
    }
}

fn delta(delta: &Value, answer: &mut Answer) {
    // Two names are in use for reasoning that is shown.
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
    fn each_server_is_told_the_limit_by_the_name_that_it_knows() {
        let ask = |model| Ask {
            model,
            visible_tokens: Some(900),
            thinking: Some(ThinkingLevel::Low),
            reasons: reasons(model),
            prompt_cache: false,
            most_tokens: 0,
        };
        let filled = |chat: &Chat, model| {
            let mut body = Map::new();
            chat.fill(&mut body, &ask(model));
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
