//! Inference of a missing role, for messages of any format.

use serde_json::Value;

/// The speaker of a message in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The user, or a tool.
    User,
    /// The model.
    Model,
    /// The model, waiting for results.
    Calls,
    /// Unknown.
    Lost,
}

/// Infers the role of a record from its fields, else from its neighbours: the two sides take turns.
pub fn infer_role(record: &Value, before: Option<Side>, after: Option<Side>) -> Option<&'static str> {
    role_from_fields(record).or(match (before, after) {
        (Some(Side::User), Some(Side::User) | None) => Some("assistant"),
        (Some(Side::Model), Some(Side::Model | Side::Calls) | None)
        | (None, Some(Side::Model | Side::Calls)) => Some("user"),
        _ => None,
    })
}

fn role_from_fields(record: &Value) -> Option<&'static str> {
    let has = |key: &str| record.get(key).is_some_and(|it| !it.is_null());
    let blocks = record.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let has_block =
        |kinds: &[&str]| blocks.iter().any(|it| it["type"].as_str().is_some_and(|it| kinds.contains(&it)));
    match () {
        () if RESULT_KEYS.into_iter().any(has) || has_block(&["tool-result"]) => Some("tool"),
        () if has_block(&["tool_result", "toolResponse"]) => Some("user"),
        () if ["tool_calls", "function_call", "reasoning_content"].into_iter().any(has)
            || has_block(&MODEL_BLOCKS) =>
        {
            Some("assistant")
        }
        () => None,
    }
}

/// The keys that only a result message has; the last is from tau2-bench.
const RESULT_KEYS: [&str; 3] = ["tool_call_id", "tool_call_ids", "requestor"];

/// The kinds of blocks that only a model writes.
const MODEL_BLOCKS: [&str; 7] =
    ["tool_use", "tool-call", "toolRequest", "thinking", "redacted_thinking", "reasoning", "think"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_is_inferred_from_fields_or_from_neighbours() {
        use Side::{Calls, Lost, Model, User};
        for (record, before, after, expected) in [
            (r#"{"tool_call_id":"c","content":"x"}"#, None, None, Some("tool")),
            (r#"{"tool_calls":[{"id":"c"}],"content":null}"#, Some(Lost), None, Some("assistant")),
            (r#"{"tool_calls":null,"content":"x"}"#, Some(Model), None, Some("user")),
            (r#"{"content":[{"type":"text"},{"type":"tool_use"}]}"#, None, None, Some("assistant")),
            (r#"{"content":[{"type":"tool_result"}]}"#, Some(User), Some(User), Some("user")),
            (r#"{"content":"x"}"#, Some(User), Some(User), Some("assistant")),
            (r#"{"content":"x"}"#, Some(User), None, Some("assistant")),
            (r#"{"content":"x"}"#, None, Some(Model), Some("user")),
            (r#"{"content":"x"}"#, Some(Model), Some(Calls), Some("user")),
            (r#"{"content":"x"}"#, Some(Calls), Some(Model), None),
            (r#"{"content":"x"}"#, Some(Model), Some(User), None),
            (r#"{"content":"x"}"#, Some(User), Some(Lost), None),
            (r#"{"content":"x"}"#, None, None, None),
        ] {
            assert_eq!(
                infer_role(&serde_json::from_str(record).unwrap(), before, after),
                expected,
                "{record}"
            );
        }
    }
}
