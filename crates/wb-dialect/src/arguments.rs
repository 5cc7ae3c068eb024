//! Call arguments as the JSON object that providers want.

use serde_json::{Value, json};

/// Returns arguments as the text of an object.
pub(crate) fn arguments_text(input: &Value) -> String {
    match input {
        Value::Object(_) => input.to_string(),
        other => arguments_object(other).to_string(),
    }
}

/// Returns arguments as an object; any other value is wrapped under `input`.
pub(crate) fn arguments_object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        Value::Null => json!({}),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => json!({ "input": text }),
        },
        other => json!({ "input": other }),
    }
}
