//! The bodies of requests to providers.

use serde_json::Value;
use wb_budget::Family;
use wb_dialect::Dialect;
use wb_formats::has_anthropic_part;
use wb_record::ProbedValue;

/// Returns the dialects that a request body can be in; empty if it is not a request.
pub(crate) fn dialects_of_request(text: &[u8], body: &Value) -> Vec<Dialect> {
    let list =
        |key: &str| body.get(key).and_then(Value::as_array).filter(|list| list.iter().all(Value::is_object));
    if list("contents").is_some() {
        return vec![Dialect::Gemini];
    }
    let Some(messages) = list("messages") else {
        return list("input").map(|_| Dialect::OpenaiResponses).into_iter().collect();
    };
    let parts = || messages.iter().filter_map(|each| each.get("content")?.as_array()).flatten();
    let is_part =
        |kinds: &[&str]| parts().any(|part| kinds.contains(&part["type"].as_str().unwrap_or_default()));
    let is_ours = messages.iter().any(|each| OUR_ROLES.contains(&each["role"].as_str().unwrap_or_default()))
        || parts().any(|part| part.get("kind").is_some());
    let has_key = |key: &&str| messages.iter().any(|each| each.get(key).is_some());
    let has_calls = CHAT_KEYS.iter().any(has_key) || is_part(&CHAT_PARTS);
    let has_roles =
        messages.iter().any(|each| ["system", "developer", "tool"].iter().any(|role| each["role"] == *role));
    let has_schema =
        body["tools"].as_array().is_some_and(|it| it.iter().any(|tool| tool.get("input_schema").is_some()));
    // Keys that chat never has are stronger evidence than a role that is only refused.
    let is_sure = ["system", "anthropic_version"].iter().any(|key| body.get(key).is_some())
        || has_schema
        || is_part(&["tool_use", "tool_result"]);
    let is_chat = has_calls || has_roles && !is_sure;
    let has_own = || ProbedValue::all(text).first().is_some_and(has_anthropic_part);
    let is_anthropic = is_sure || is_part(&["image"]) || has_own();
    let asks = ["model", "max_tokens", "tools", "stream"].iter().any(|key| body.get(key).is_some());
    match () {
        () if is_ours => Vec::new(),
        () if is_anthropic && !is_chat => vec![Dialect::Anthropic],
        () if is_chat || is_of_openai(body) => vec![Dialect::OpenaiChat],
        () if asks || is_part(&["text"]) => vec![Dialect::Anthropic, Dialect::OpenaiChat],
        () => Vec::new(),
    }
}

/// Returns whether a body names a model that only `OpenAI` offers.
fn is_of_openai(body: &Value) -> bool {
    body["model"].as_str().is_some_and(|model| Family::from_model_id(model) == Some(Family::OpenAi))
}

/// Keys and parts of messages that only chat has.
const CHAT_KEYS: [&str; 4] = ["tool_calls", "function_call", "refusal", "audio"];
const CHAT_PARTS: [&str; 4] = ["image_url", "input_audio", "file", "refusal"];

/// Roles that only our own messages have.
const OUR_ROLES: [&str; 5] = ["toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_is_known_by_keys_roles_and_parts() {
        use Dialect::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
        for (body, expected) in [
            (r#"{"contents":[{"role":"user","parts":[]}]}"#, &[Gemini][..]),
            (r#"{"input":[{"type":"message","role":"user"}]}"#, &[OpenaiResponses]),
            (r#"{"system":"x","messages":[{"role":"user","content":"y"}]}"#, &[Anthropic]),
            (r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#, &[Anthropic]),
            (r#"{"messages":[{"role":"system","content":"x"}]}"#, &[OpenaiChat]),
            (r#"{"messages":[{"role":"assistant","tool_calls":[]}]}"#, &[OpenaiChat]),
            (r#"{"system":"x","messages":[{"role":"assistant","tool_calls":[]}]}"#, &[OpenaiChat]),
            (r#"{"messages":[{"role":"tool","content":[{"type":"thinking"}]}]}"#, &[OpenaiChat]),
            (r#"{"system":"x","messages":[{"role":"system","content":"y"}]}"#, &[Anthropic]),
            (
                r#"{"messages":[{"role":"tool","content":"y"},{"content":[{"type":"tool_use"}]}]}"#,
                &[Anthropic],
            ),
            (r#"{"tools":[{"input_schema":{}}],"messages":[{"role":"system","content":"y"}]}"#, &[Anthropic]),
            (r#"{"model":"m","messages":[{"role":"user","content":"y"}]}"#, &[Anthropic, OpenaiChat]),
            (r#"{"model":"gpt-4.1","messages":[{"role":"user","content":"y"}]}"#, &[OpenaiChat]),
            (r#"{"messages":[{"role":"user","content":"y"}]}"#, &[]),
            (r#"{"model":"m","messages":[{"role":"toolResult","content":"y"}]}"#, &[]),
            (
                r#"{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url"}}]}]}"#,
                &[Anthropic],
            ),
            (r#"{"messages":[{"role":"assistant","content":[{"type":"server_tool_use"}]}]}"#, &[Anthropic]),
            (r#"{"container":"c","messages":[{"role":"user","content":"y"}]}"#, &[Anthropic]),
            (
                r#"{"tools":[{"type":"web_search_20250305"}],"messages":[{"role":"user","content":"y"}]}"#,
                &[Anthropic],
            ),
            (r#"{"messages":[{"role":"user","content":[{"type":"file","file":{}}]}]}"#, &[OpenaiChat]),
            (r#"{"messages":[{"role":"assistant","content":null,"audio":{"id":"a"}}]}"#, &[OpenaiChat]),
            (r#"{"input":"text"}"#, &[]),
            ("[]", &[]),
        ] {
            let value = serde_json::from_str(body).unwrap();
            assert_eq!(dialects_of_request(body.as_bytes(), &value), expected, "{body}");
        }
    }
}
