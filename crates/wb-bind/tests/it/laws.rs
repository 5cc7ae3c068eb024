//! No call panics, and each has one answer.

use proptest::prelude::*;
use serde_json::{Value, json};

const WORDS: [&str; 6] = ["user", "assistant", "tool", "text", "tool_use", "tool_result"];
const KEYS: [&str; 9] =
    ["role", "content", "type", "id", "tool_calls", "parts", "text", "name", "tool_call_id"];
const OPERATIONS: [&str; 8] =
    ["weigh", "compact", "facts", "audit", "validate", "repair", "convert", "recall"];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z {}\"é🦀\n]{0,20}".prop_map(Value::from),
        prop::sample::select(&WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        let field = (prop::sample::select(&KEYS).prop_map(ToOwned::to_owned), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::from),
            prop::collection::vec(field, 0..5).prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

fn reply() -> impl Strategy<Value = Value> {
    let text = prop::sample::select(&["", "# Objective\n- All tests pass.", "no"]);
    (prop::sample::select(&["text", "cut_off", "error"]), text).prop_map(|(kind, text)| json!({ kind: text }))
}

fn format() -> impl Strategy<Value = Option<&'static str>> {
    let names: Vec<&str> = wb_formats::FORMATS.iter().map(|row| row.format.name()).collect();
    prop::option::of(prop::sample::select(names))
}

proptest! {
    #[test]
    fn every_call_has_one_answer(
        operation in prop::sample::select(&OPERATIONS),
        format in format(),
        input in value(),
        key in prop::sample::select(&["messages", "body", "session"]),
        window in prop::option::of(0_u64..9_000),
        force in any::<bool>(),
        replies in prop::option::of(prop::collection::vec(reply(), 0..3)),
    ) {
        let mut call = json!({
            "operation": operation,
            "options": { "force": force },
            "summary": "- All tests pass.",
            "to": "gemini",
            "question": { "query": "text" },
        });
        call[key] = input;
        if let Some(format) = format {
            call["format"] = format.into();
        }
        if let Some(window) = window {
            call["options"]["window"] = window.into();
        }
        if let Some(replies) = replies {
            call["options"]["summarizer"] = json!({ "replies": replies });
        }
        let answer = wb_bind::call(&call.to_string());
        let read: Value = serde_json::from_str(&answer).unwrap();
        prop_assert_eq!(read.get("result").is_some(), read.get("error").is_none());
        prop_assert_eq!(wb_bind::is_error(&answer), read.get("error").is_some());
        prop_assert_eq!(wb_bind::call(&call.to_string()), answer);
    }

    #[test]
    fn any_text_has_an_answer(text in ".{0,200}") {
        prop_assert!(wb_bind::is_error(&wb_bind::call(&text)));
    }
}
