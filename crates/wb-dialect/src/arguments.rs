//! Call arguments as the JSON object that providers want.

use serde_json::{Value, json};

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
