//! The role of a message that does not say it, whatever its format calls what is in it.

use serde_json::Value;

/// Who speaks in a message of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The user, or a tool.
    User,
    /// The model.
    Model,
    /// The model, which waits for results.
    Calls,
    /// It does not say.
    Lost,
}

/// Returns the role that a record had, given who speaks before it and behind it: what is in it tells, or that the two
/// sides take turns.
pub fn role_of(record: &Value, before: Option<Side>, behind: Option<Side>) -> Option<&'static str> {
    told_role(record).or(match (before, behind) {
        (Some(Side::User), Some(Side::User) | None) => Some("assistant"),
        (Some(Side::Model), Some(Side::Model | Side::Calls) | None)
        | (None, Some(Side::Model | Side::Calls)) => Some("user"),
        _ => None,
    })
}

/// Returns the role that only such a record has.
fn told_role(record: &Value) -> Option<&'static str> {
    let has = |key: &str| record.get(key).is_some_and(|it| !it.is_null());
    let blocks = record.get("content").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let has_block =
        |kinds: &[&str]| blocks.iter().any(|it| it["type"].as_str().is_some_and(|it| kinds.contains(&it)));
    match () {
        () if OF_RESULT.into_iter().any(has) || has_block(&["tool-result"]) => Some("tool"),
        () if has_block(&["tool_result", "toolResponse"]) => Some("user"),
        () if ["tool_calls", "function_call", "reasoning_content"].into_iter().any(has)
            || has_block(&OF_MODEL) =>
        {
            Some("assistant")
        }
        () => None,
    }
}

/// The keys that only a result has as a message of its own; the last is that of tau2-bench.
const OF_RESULT: [&str; 3] = ["tool_call_id", "tool_call_ids", "requestor"];

/// The blocks that only a model says.
const OF_MODEL: [&str; 7] =
    ["tool_use", "tool-call", "toolRequest", "thinking", "redacted_thinking", "reasoning", "think"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_is_told_by_what_is_said_or_by_who_speaks_before_and_behind() {
        use Side::{Calls, Lost, Model, User};
        for (record, before, behind, expected) in [
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
            assert_eq!(role_of(&serde_json::from_str(record).unwrap(), before, behind), expected, "{record}");
        }
    }
}
