//! `OpenAI`'s Responses.

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

    fn fill(&self, body: &mut Map<String, Value>, ask: &Ask<'_>) {
        body.insert("model".into(), ask.model.into());
        body.insert("stream".into(), true.into());
        // What is asked is nobody's to keep.
        body.insert("store".into(), false.into());
        if let Some(max_tokens) = ask.max_tokens() {
            // Fewer are refused.
            body.insert("max_output_tokens".into(), max_tokens.max(MIN_OUTPUT_TOKENS).into());
        }
        if ask.reasons {
            // What it thought can be sent back then, though nothing is kept.
            body.insert("include".into(), json!(["reasoning.encrypted_content"]));
        }
        if let Some(effort) = ask.effort() {
            body.insert("reasoning".into(), json!({"effort": effort}));
        }
    }

    fn read(&self, event: &SseEvent, answer: &mut Answer) -> Result<(), Failure> {
        let event = json_of(event)?;
        let (delta, item) = (text_at(&event, "/delta"), text_at(&event, "/item_id"));
        match text_at(&event, "/type") {
            "response.created" => answer.of_model(text_at(&event, "/response/model")),
            "response.output_text.delta" => answer.text(delta),
            "response.refusal.delta" => answer.refusal(delta),
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                answer.thinking(delta);
            }
            "response.output_item.added" => begun(&event["item"], answer),
            "response.output_item.done" => answer.signature(text_at(&event, "/item/encrypted_content")),
            "response.function_call_arguments.delta" => answer.arguments(item, delta),
            "response.completed" | "response.incomplete" => ended(&event["response"], answer),
            "response.failed" | "error" => return Err(Failure::of_event(&event)),
            _ => {}
        }
        Ok(())
    }
}

/// The fewest tokens that a request may ask for.
const MIN_OUTPUT_TOKENS: u64 = 16;

fn begun(item: &Value, answer: &mut Answer) {
    if text_at(item, "/type") == "function_call" {
        let key = text_at(item, "/id");
        answer.call(key, text_at(item, "/call_id"), text_at(item, "/name"));
        answer.arguments(key, text_at(item, "/arguments"));
    }
}

fn ended(response: &Value, answer: &mut Answer) {
    answer.of_model(text_at(response, "/model"));
    let number = |path| number_at(response, path);
    if let Some(prompt) = number("/usage/input_tokens") {
        let cached = number("/usage/input_tokens_details/cached_tokens");
        answer.count(usage_of(prompt, cached, number("/usage/output_tokens").unwrap_or(0)));
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
