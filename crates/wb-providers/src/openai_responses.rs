//! `OpenAI`'s Responses API.

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

#[derive(Debug)]
pub(crate) struct Responses;

impl Protocol for Responses {
    fn dialect(&self) -> Dialect {
        Dialect::OpenaiResponses
    }

    fn key_names(&self) -> &'static [&'static str] {
        &["OPENAI_API_KEY"]
    }

    fn base_url(&self) -> &'static str {
        "https://api.openai.com/v1"
    }

    fn path(&self, _: &str) -> (Vec<String>, Option<&'static str>) {
        (vec!["responses".to_owned()], None)
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
        // Requests are not stored.
        body.insert("store".into(), false.into());
        if let Some(max_tokens) = params.max_tokens() {
            // A smaller limit is refused.
            body.insert("max_output_tokens".into(), max_tokens.max(MIN_OUTPUT_TOKENS).into());
        }
        if params.reasons {
            // Reasoning can be sent back although nothing is stored.
            body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        }
        if let Some(effort) = params.effort() {
            body.insert("reasoning".into(), json!({"effort": effort}));
        }
    }

    fn read(&self, event: &SseEvent, answer: &mut Answer) -> Result<(), Failure> {
        let event = parse_json(event)?;
        let (delta, item) = (text_at(&event, "/delta"), text_at(&event, "/item_id"));
        match text_at(&event, "/type") {
            "response.created" => answer.set_model(text_at(&event, "/response/model")),
            "response.output_text.delta" => answer.text(delta),
            "response.refusal.delta" => answer.refusal(delta),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                answer.thinking(delta);
            }
            "response.output_item.added" => start_item(&event["item"], answer),
            "response.output_item.done" => answer.signature(text_at(&event, "/item/encrypted_content")),
            "response.function_call_arguments.delta" => answer.arguments(item, delta),
            "response.completed" | "response.incomplete" => complete(&event["response"], answer),
            "response.failed" | "error" => return Err(Failure::from_event(&event)),
            _ => {}
        }
        Ok(())
    }
}

/// The smallest output limit that the API accepts.
const MIN_OUTPUT_TOKENS: u64 = 16;

fn start_item(item: &Value, answer: &mut Answer) {
    if text_at(item, "/type") == "function_call" {
        let key = text_at(item, "/id");
        answer.call(key, text_at(item, "/call_id"), text_at(item, "/name"));
        answer.arguments(key, text_at(item, "/arguments"));
    }
}

fn complete(response: &Value, answer: &mut Answer) {
    answer.set_model(text_at(response, "/model"));
    let number = |path| number_at(response, path);
    if let Some(prompt) = number("/usage/input_tokens") {
        let cached = number("/usage/input_tokens_details/cached_tokens");
        answer.count(usage_with_cached(prompt, cached, number("/usage/output_tokens").unwrap_or(0)));
    }
    answer.stop(match text_at(response, "/incomplete_details/reason") {
        "max_output_tokens" => StopReason::MaxOutput,
        "content_filter" => StopReason::Refusal,
        _ if text_at(response, "/status") == "incomplete" => StopReason::Error,
        _ if answer.n_calls() > 0 => StopReason::ToolCalls,
        _ => StopReason::Complete,
    });
    answer.end();
}
