//! Anthropic's Messages API.

use reqwest::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value, json};
use wb_budget::Usage;
use wb_dialect::Dialect;
use wb_invoke::{StopReason, ThinkingLevel};

use crate::answer::Answer;
use crate::failure::Failure;
use crate::key::Key;
use crate::protocol::{Protocol, RequestParams, number_at, parse_json, text_at};
use crate::sse::SseEvent;

/// The default limit for the visible answer; a request must have a limit.
const DEFAULT_VISIBLE_TOKENS: u64 = 8_192;

/// Name prefixes of models without reasoning.
const WITHOUT_REASONING: [&str; 3] = ["claude-2", "claude-instant", "claude-3-"];
/// Name prefixes of models with a thinking budget in tokens. Later ones take an effort level
/// instead and refuse a budget (Anthropic's notes on extended and adaptive thinking, as of 2026).
const WITH_BUDGET: [&str; 9] = [
    "claude-3-7",
    "claude-opus-4-0",
    "claude-opus-4-1",
    "claude-opus-4-2",
    "claude-opus-4-5",
    "claude-sonnet-4-0",
    "claude-sonnet-4-2",
    "claude-sonnet-4-5",
    "claude-haiku-4-",
];
/// The smallest thinking budget that the API accepts.
const MIN_BUDGET_TOKENS: u64 = 1_024;

#[derive(Debug)]
pub(crate) struct Anthropic;

impl Protocol for Anthropic {
    fn dialect(&self) -> Dialect {
        Dialect::Anthropic
    }

    fn key_names(&self) -> &'static [&'static str] {
        &["ANTHROPIC_API_KEY"]
    }

    fn base_url(&self) -> &'static str {
        "https://api.anthropic.com"
    }

    fn path(&self, _: &str) -> (Vec<String>, Option<&'static str>) {
        (vec!["v1".to_owned(), "messages".to_owned()], None)
    }

    fn key_header(&self, key: &Key) -> Option<(HeaderName, HeaderValue)> {
        Some((HeaderName::from_static("x-api-key"), key.header("")?))
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn reasons(&self, model: &str) -> bool {
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        model.starts_with("claude-") && (begins(&WITH_BUDGET) || !begins(&WITHOUT_REASONING))
    }

    fn fill(&self, body: &mut Map<String, Value>, params: &RequestParams<'_>) {
        let params = RequestParams {
            visible_tokens: params.visible_tokens.or(Some(DEFAULT_VISIBLE_TOKENS)),
            ..*params
        };
        let max_tokens = params.max_tokens().unwrap_or(DEFAULT_VISIBLE_TOKENS);
        body.insert("model".into(), params.model.into());
        body.insert("max_tokens".into(), max_tokens.into());
        body.insert("stream".into(), true.into());
        if params.prompt_cache {
            // The breakpoint is then the last block of the prompt.
            body.insert("cache_control".into(), json!({"type": "ephemeral"}));
        }
        for (name, value) in thinking(&params, max_tokens) {
            body.insert(name.into(), value);
        }
    }

    fn read(&self, event: &SseEvent, answer: &mut Answer) -> Result<(), Failure> {
        let event = parse_json(event)?;
        let key = event["index"].to_string();
        match text_at(&event, "/type") {
            "message_start" => {
                answer.set_model(text_at(&event, "/message/model"));
                count(&event["message"]["usage"], answer);
            }
            "content_block_start" => block(&event["content_block"], &key, answer),
            "content_block_delta" => delta(&event["delta"], &key, answer),
            "message_delta" => {
                count(&event["usage"], answer);
                stop(text_at(&event, "/delta/stop_reason"), answer);
            }
            "message_stop" => answer.end(),
            "error" => return Err(Failure::from_event(&event)),
            _ => {}
        }
        Ok(())
    }
}

/// Returns the fields for thinking: a budget, or an effort level.
fn thinking(params: &RequestParams<'_>, max_tokens: u64) -> Vec<(&'static str, Value)> {
    let Some(level) = params.level() else { return Vec::new() };
    let takes_budget =
        !params.model.starts_with("claude-") || WITH_BUDGET.iter().any(|name| params.model.starts_with(name));
    if takes_budget {
        // The budget must be less than the limit of the whole answer.
        let tokens = params.thinking_tokens().min(max_tokens.saturating_sub(1));
        let is_on = level != ThinkingLevel::Off && tokens >= MIN_BUDGET_TOKENS;
        let field = is_on.then(|| ("thinking", json!({"type": "enabled", "budget_tokens": tokens})));
        return field.into_iter().collect();
    }
    let effort = if level == ThinkingLevel::Max { "max" } else { params.effort().unwrap_or("high") };
    let effort = ("output_config", json!({"effort": effort}));
    match level {
        ThinkingLevel::Off => vec![effort],
        _ => vec![("thinking", json!({"type": "adaptive"})), effort],
    }
}

/// Starts a block, which may already have content.
fn block(block: &Value, key: &str, answer: &mut Answer) {
    match text_at(block, "/type") {
        "text" => answer.text(text_at(block, "/text")),
        "thinking" => {
            answer.thinking(text_at(block, "/thinking"));
            answer.signature(text_at(block, "/signature"));
        }
        "tool_use" => answer.call(key, text_at(block, "/id"), text_at(block, "/name")),
        _ => {}
    }
}

fn delta(delta: &Value, key: &str, answer: &mut Answer) {
    match text_at(delta, "/type") {
        "text_delta" => answer.text(text_at(delta, "/text")),
        "thinking_delta" => answer.thinking(text_at(delta, "/thinking")),
        "signature_delta" => answer.signature(text_at(delta, "/signature")),
        "input_json_delta" => answer.arguments(key, text_at(delta, "/partial_json")),
        _ => {}
    }
}

/// Updates the usage; an event reports totals and omits unchanged ones.
fn count(usage: &Value, answer: &mut Answer) {
    let known = answer.usage();
    let cache = |name: &str, known: Option<u64>| number_at(usage, name).or(known);
    answer.count(Usage {
        input_tokens: number_at(usage, "/input_tokens").unwrap_or(known.input_tokens),
        output_tokens: number_at(usage, "/output_tokens").unwrap_or(known.output_tokens),
        cache_read_tokens: cache("/cache_read_input_tokens", known.cache_read_tokens),
        cache_write_tokens: cache("/cache_creation_input_tokens", known.cache_write_tokens),
    });
}

fn stop(reason: &str, answer: &mut Answer) {
    answer.stop(match reason {
        "" => return,
        "max_tokens" | "model_context_window_exceeded" => StopReason::MaxOutput,
        "tool_use" => StopReason::ToolCalls,
        "refusal" => StopReason::Refusal,
        _ => StopReason::Complete,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(model: &str, thinking: Option<ThinkingLevel>) -> Value {
        let reasons = Anthropic.reasons(model);
        let (visible_tokens, prompt_cache) = (Some(1_000), false);
        let params =
            RequestParams { model, visible_tokens, thinking, reasons, prompt_cache, max_output_tokens: 0 };
        let mut body = Map::new();
        Anthropic.fill(&mut body, &params);
        body.into()
    }

    #[test]
    fn the_limit_includes_room_for_thinking() {
        let high = Some(ThinkingLevel::High);
        let body = filled("claude-sonnet-4-5-20250929", high);
        assert_eq!(body["max_tokens"], 17_384);
        assert_eq!(body["thinking"], json!({"type": "enabled", "budget_tokens": 16_384}));
        let body = filled("claude-opus-4-7", high);
        assert_eq!((&body["max_tokens"], &body["thinking"]), (&json!(17_384), &json!({"type": "adaptive"})));
        assert_eq!(body["output_config"], json!({"effort": "high"}));
        assert_eq!(filled("claude-opus-5", Some(ThinkingLevel::Max))["output_config"]["effort"], "max");
    }

    #[test]
    fn a_model_without_reasoning_gets_no_thinking_fields() {
        for model in ["claude-3-5-haiku-latest", "claude-3-opus-20240229", "somebody-elses-model"] {
            let body = filled(model, Some(ThinkingLevel::High));
            assert_eq!((&body["max_tokens"], &body["thinking"]), (&json!(1_000), &Value::Null), "{model}");
        }
        let off = filled("claude-haiku-4-5", Some(ThinkingLevel::Off));
        assert_eq!((&off["max_tokens"], &off["thinking"]), (&json!(1_000), &Value::Null));
    }

    #[test]
    fn the_budget_is_below_the_limit_of_the_answer() {
        let params = RequestParams {
            model: "claude-3-7-sonnet",
            visible_tokens: Some(1_000),
            thinking: Some(ThinkingLevel::High),
            reasons: true,
            prompt_cache: false,
            max_output_tokens: 4_000,
        };
        let mut body = Map::new();
        Anthropic.fill(&mut body, &params);
        assert_eq!((&body["max_tokens"], &body["thinking"]["budget_tokens"]), (&json!(4_000), &json!(3_999)));
    }
}
