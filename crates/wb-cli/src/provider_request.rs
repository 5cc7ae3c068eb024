//! Requests to providers, which are taken for sessions by mistake.

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
