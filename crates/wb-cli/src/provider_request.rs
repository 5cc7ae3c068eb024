//! Requests to providers, which are taken for sessions by mistake.

use serde_json::Value;
use wb_dialect::Dialect;

/// Returns the dialects that a request body can be in; none for what is no request.
pub(crate) fn dialects_of_request(body: &Value) -> Vec<Dialect> {
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
    let is_chat = messages.iter().any(|each| {
        each.get("tool_calls").is_some()
            || ["system", "developer", "tool"].iter().any(|role| each["role"] == *role)
    }) || is_part(&["image_url"]);
    let is_anthropic = ["system", "anthropic_version"].iter().any(|key| body.get(key).is_some())
        || is_part(&["tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document"]);
    let asks = ["model", "max_tokens", "tools", "stream"].iter().any(|key| body.get(key).is_some());
    match () {
        () if is_ours => Vec::new(),
        () if is_anthropic && !is_chat => vec![Dialect::Anthropic],
        () if is_chat => vec![Dialect::OpenaiChat],
        () if asks || is_part(&["text"]) => vec![Dialect::Anthropic, Dialect::OpenaiChat],
        () => Vec::new(),
    }
}

/// Roles that only our own messages have.
const OUR_ROLES: [&str; 5] = ["toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"];

/// Returns which request the start of a file looks like, in words that follow "looks like".
pub(crate) fn provider_request(head: &[u8]) -> Option<&'static str> {
    let head = String::from_utf8_lossy(head);
    let has = |key: &str| head.contains(&format!("\"{key}\""));
    let is_type = |name: &str| has_pair(&head, "type", name);
    let is_role = |name: &str| has_pair(&head, "role", name);
    let is_json = head.trim_start().starts_with(['{', '[']);
    if !is_json {
        return None;
    }
    if !has("role") {
        return None;
    }
    let is_responses = has("input") || has("instructions") || is_type("input_text");
    let is_anthropic =
        is_type("tool_use") || is_type("tool_result") || has("cache_control") || has("anthropic_version");
    let is_chat =
        has("tool_calls") || ["system", "developer", "tool"].into_iter().any(is_role) || is_type("image_url");
    match () {
        () if is_responses && !has("messages") => Some("a request body of OpenAI (Responses)"),
        () if is_anthropic => Some("a request body of Anthropic (Messages)"),
        () if is_chat => Some("a request body of OpenAI (Chat Completions)"),
        () if has("messages") && is_type("text") => Some("a request body of Anthropic or OpenAI"),
        () => None,
    }
}

/// Returns whether a key stands somewhere with this text as its value.
fn has_pair(text: &str, key: &str, value: &str) -> bool {
    let (key, value) = (format!("\"{key}\""), format!("\"{value}\""));
    text.match_indices(&key).any(|(at, _)| {
        let rest = text[at + key.len()..].trim_start().strip_prefix(':');
        rest.is_some_and(|rest| rest.trim_start().starts_with(&value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dialect_of_a_body_is_told_from_its_keys_roles_and_parts() {
        use Dialect::{Anthropic, Gemini, OpenaiChat, OpenaiResponses};
        for (body, expected) in [
            (r#"{"contents":[{"role":"user","parts":[]}]}"#, &[Gemini][..]),
            (r#"{"input":[{"type":"message","role":"user"}]}"#, &[OpenaiResponses]),
            (r#"{"system":"x","messages":[{"role":"user","content":"y"}]}"#, &[Anthropic]),
            (r#"{"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#, &[Anthropic]),
            (r#"{"messages":[{"role":"system","content":"x"}]}"#, &[OpenaiChat]),
            (r#"{"messages":[{"role":"assistant","tool_calls":[]}]}"#, &[OpenaiChat]),
            (r#"{"model":"m","messages":[{"role":"user","content":"y"}]}"#, &[Anthropic, OpenaiChat]),
            (r#"{"messages":[{"role":"user","content":"y"}]}"#, &[]),
            (r#"{"model":"m","messages":[{"role":"toolResult","content":"y"}]}"#, &[]),
            (r#"{"input":"text"}"#, &[]),
            ("[]", &[]),
        ] {
            let value = serde_json::from_str(body).unwrap();
            assert_eq!(dialects_of_request(&value), expected, "{body}");
        }
    }

    #[test]
    fn requests_are_known_by_their_words() {
        let anthropic =
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"tool_result"}]}]}"#;
        let chat =
            r#"{"model":"m","messages":[{"role" : "system","content":"x"},{"role":"user","content":"y"}]}"#;
        let responses = r#"{"model":"m","instructions":"x","input":[{"role":"user","content":"y"}]}"#;
        let either = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]}]}"#;
        for (head, expected) in [
            (anthropic, Some("a request body of Anthropic (Messages)")),
            (chat, Some("a request body of OpenAI (Chat Completions)")),
            (responses, Some("a request body of OpenAI (Responses)")),
            (either, Some("a request body of Anthropic or OpenAI")),
            ("{\"a\":1}", None),
            ("\"role\" of a text", None),
            ("", None),
        ] {
            assert_eq!(provider_request(head.as_bytes()), expected, "{head}");
        }
    }
}
