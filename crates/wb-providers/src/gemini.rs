//! Google's Gemini.

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use wb_budget::Usage;
use wb_dialect::Dialect;
use wb_invoke::{StopReason, ThinkingLevel};

use crate::answer::Answer;
use crate::failure::Failure;
use crate::key::Key;
use crate::protocol::{
    Protocol, RequestParams, number_at, parse_json, text_at, usage_with_cached, version_after,
};
use crate::sse::SseEvent;

/// The smallest thinking budget of Gemini 2.5 Pro, which cannot be turned off.
const MIN_PRO_TOKENS: u64 = 128;

#[derive(Debug)]
pub(crate) struct Gemini;

impl Protocol for Gemini {
    fn dialect(&self) -> Dialect {
        Dialect::Gemini
    }

    fn key_names(&self) -> &'static [&'static str] {
        &["GEMINI_API_KEY", "GOOGLE_API_KEY"]
    }

    fn base_url(&self) -> &'static str {
        "https://generativelanguage.googleapis.com"
    }

    fn path(&self, model: &str) -> (Vec<String>, Option<&'static str>) {
        let call = format!("{}:streamGenerateContent", without_prefix(model));
        (vec!["v1beta".to_owned(), "models".to_owned(), call], Some("alt=sse"))
    }

    fn key_header(&self, key: &Key) -> Option<(HeaderName, HeaderValue)> {
        Some((HeaderName::from_static("x-goog-api-key"), key.header("")?))
    }

    fn reasons(&self, model: &str) -> bool {
        let model = without_prefix(model);
        // A name without a number, such as `gemini-flash-latest`, is a new model's.
        let is_later = || version_after(model, "gemini-").is_none_or(|version| version >= 3);
        model.starts_with("gemini-2.5") || (model.starts_with("gemini-") && is_later())
    }

    fn fill(&self, body: &mut Map<String, Value>, params: &RequestParams<'_>) {
        let mut config = Map::new();
        let max_tokens = params.max_tokens();
        if let Some(max_tokens) = max_tokens {
            config.insert("maxOutputTokens".into(), max_tokens.into());
        }
        if let Some(thinking) = thinking(params) {
            config.insert("thinkingConfig".into(), thinking);
        }
        if !config.is_empty() {
            body.insert("generationConfig".into(), config.into());
        }
    }

    fn read(&self, event: &SseEvent, answer: &mut Answer) -> Result<(), Failure> {
        let event = parse_json(event)?;
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Err(Failure::from_event(&event));
        }
        answer.set_model(text_at(&event, "/modelVersion"));
        let candidate = &event["candidates"][0];
        for piece in candidate["content"]["parts"].as_array().into_iter().flatten() {
            part(piece, answer);
        }
        if let Some(usage) = usage(&event["usageMetadata"]) {
            answer.count(usage);
        }
        if event["promptFeedback"]["blockReason"].is_string() {
            answer.stop(StopReason::Refusal);
        }
        stop(text_at(candidate, "/finishReason"), answer);
        Ok(())
    }
}

fn without_prefix(model: &str) -> &str {
    model.strip_prefix("models/").unwrap_or(model)
}

/// Returns the thinking configuration: a budget for Gemini 2.5, a level for later models.
fn thinking(params: &RequestParams<'_>) -> Option<Value> {
    let level = params.level()?;
    let model = without_prefix(params.model);
    if model.starts_with("gemini-2.5") {
        let least = if model.contains("-pro") { MIN_PRO_TOKENS } else { 0 };
        return Some(json!({"thinkingBudget": params.thinking_tokens().max(least)}));
    }
    version_after(model, "gemini-").filter(|version| *version >= 3)?;
    let is_little = matches!(level, ThinkingLevel::Off | ThinkingLevel::Low);
    Some(json!({"thinkingLevel": if is_little { "low" } else { "high" }}))
}

fn part(part: &Value, answer: &mut Answer) {
    let text = text_at(part, "/text");
    if part["thought"] == true {
        answer.thinking(text);
    } else {
        answer.text(text);
    }
    answer.signature(text_at(part, "/thoughtSignature"));
    let call = &part["functionCall"];
    if call.is_object() {
        let key = answer.n_calls().to_string();
        answer.call(&key, text_at(call, "/id"), text_at(call, "/name"));
        if call["args"].is_object() {
            answer.arguments(&key, &call["args"].to_string());
        }
    }
}

/// Returns the usage; Gemini counts reasoning apart from output, and cached tokens in the prompt.
fn usage(metadata: &Value) -> Option<Usage> {
    let number = |path| number_at(metadata, path);
    let prompt = number("/promptTokenCount")? + number("/toolUsePromptTokenCount").unwrap_or(0);
    let output = number("/candidatesTokenCount").unwrap_or(0) + number("/thoughtsTokenCount").unwrap_or(0);
    Some(usage_with_cached(prompt, number("/cachedContentTokenCount"), output))
}

fn stop(reason: &str, answer: &mut Answer) {
    answer.stop(match reason {
        "" | "FINISH_REASON_UNSPECIFIED" => return,
        "STOP" if answer.n_calls() > 0 => StopReason::ToolCalls,
        "STOP" => StopReason::Complete,
        "MAX_TOKENS" => StopReason::MaxOutput,
        "SAFETY" | "RECITATION" | "LANGUAGE" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" => {
            StopReason::Refusal
        }
        _ => StopReason::Error,
    });
}
