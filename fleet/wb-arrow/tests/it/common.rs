use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use serde_json::{Value, json};
use wb_arrow::Options;

/// A session of some steps with the user's rules.
pub(crate) fn session(steps: usize) -> Value {
    let rule = "Fix the rounding in src/cart.rs. Never touch src/billing.rs, and always run the tests.";
    let mut messages = vec![json!({ "role": "user", "content": rule })];
    for step in 0..steps {
        let (id, path) = (format!("call_{step}"), format!("{{\"path\": \"src/part_{step}.rs\"}}"));
        let function = json!({ "name": "read_file", "arguments": path });
        let calls = json!([{ "id": id, "type": "function", "function": function }]);
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
        let text = format!("pub fn total_{step}(cents: u64) -> u64 {{ cents * 2 }}\n").repeat(20);
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
    }
    messages.push(json!({ "role": "assistant", "content": "All parts are read." }));
    Value::from(messages)
}

pub(crate) fn texts(name: &str, values: &[&str]) -> (String, ArrayRef) {
    (name.to_owned(), Arc::new(StringArray::from(values.to_vec())))
}

pub(crate) fn batch(columns: Vec<(String, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter(columns).unwrap()
}

pub(crate) fn options(value: &Value) -> Options {
    Options::parse(&value.to_string()).unwrap()
}

pub(crate) fn text<'a>(answer: &'a RecordBatch, column: &str, row: usize) -> Option<&'a str> {
    let column = answer[column].as_string::<i32>();
    column.is_valid(row).then(|| column.value(row))
}

pub(crate) fn number(answer: &RecordBatch, column: &str, row: usize) -> Option<i64> {
    let column = answer[column].as_primitive::<Int64Type>();
    column.is_valid(row).then(|| column.value(row))
}

/// Returns a field of the error of a row.
pub(crate) fn error<'a>(answer: &'a RecordBatch, field: &str, row: usize) -> Option<&'a str> {
    let error = answer["error"].as_struct();
    let column = error.column_by_name(field).unwrap().as_string::<i32>();
    error.is_valid(row).then(|| column.value(row))
}
