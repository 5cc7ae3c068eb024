//! Answers of `wb hook` are what its schema says.

use std::fs;

use serde_json::{Value, json};

use super::hook::{SHORT, ask, messages};
use crate::support::{root, wb_of};

/// Checks a value against as much of JSON Schema as the reference uses.
fn check(all: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let Some(rules) = schema.as_object() else {
        return if schema == &json!(true) { Ok(()) } else { Err(format!("nothing is allowed: {value}")) };
    };
    rules.iter().try_for_each(|(rule, of)| keeps(all, schema, value, rule, of))
}

fn keeps(all: &Value, schema: &Value, value: &Value, rule: &str, of: &Value) -> Result<(), String> {
    let none = Vec::new();
    let schemas = of.as_array().unwrap_or(&none);
    let n_right = || schemas.iter().filter(|schema| check(all, schema, value).is_ok()).count();
    let is_right = match rule {
        "$schema" | "$defs" | "title" | "description" | "format" | "default" => true,
        "$ref" => {
            let name = of.as_str().and_then(|name| name.strip_prefix('#')).unwrap();
            return check(all, all.pointer(name).unwrap(), value);
        }
        "type" => schemas.iter().chain([of]).any(|of| is_of_type(value, of)),
        "const" => value == of,
        "enum" => schemas.contains(value),
        "minimum" => value.as_f64() >= of.as_f64(),
        "oneOf" => n_right() == 1,
        "anyOf" => n_right() > 0,
        "required" => schemas.iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
        "items" => return value.as_array().unwrap().iter().try_for_each(|item| check(all, of, item)),
        "properties" => {
            let known = of.as_object().unwrap().iter().filter_map(|(key, of)| Some((of, value.get(key)?)));
            return known.into_iter().try_for_each(|(of, value)| check(all, of, value));
        }
        "additionalProperties" => {
            let known = |key: &String| schema["properties"].get(key).is_some();
            *of != json!(false) || value.as_object().unwrap().keys().all(known)
        }
        _ => return Err(format!("the rule {rule} is not checked here")),
    };
    if is_right { Ok(()) } else { Err(format!("{rule} {of} does not hold for {value}")) }
}

fn is_of_type(value: &Value, name: &Value) -> bool {
    match name.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64() || value.is_i64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    }
}

#[test]
fn answers_are_what_the_schema_says() {
    let home = tempfile::tempdir().unwrap();
    let file = fs::read_to_string(root().join("crates/wb-cli/hook.schema.json")).unwrap();
    let schema: Value = serde_json::from_str(&file).unwrap();
    assert_eq!(wb_of(home.path(), &["hook", "--schema"], b"").stdout, file);
    let questions = [
        (json!({"version": 1, "session": {"messages": messages(30)}}), "replace"),
        (json!({"version": 1, "session": {"messages": messages(30)}, "keep_from": 102}), "pass"),
        (serde_json::from_str(SHORT).unwrap(), "pass"),
    ];
    for (question, action) in questions {
        let answer = ask(home.path(), &question);
        assert_eq!(answer["action"], action);
        let both = json!({"request": question, "answer": answer});
        check(&schema, &schema, &both).unwrap();
    }
    let answer: Value = serde_json::from_str(&wb_of(home.path(), &["hook"], b"[]").stdout).unwrap();
    check(&schema, &schema["$defs"]["Answer"], &answer).unwrap();
    for wrong in [json!({"version": 1}), json!({"version": 1, "action": "replace", "digest": "d"})] {
        check(&schema, &schema["$defs"]["Answer"], &wrong).unwrap_err();
    }
}
