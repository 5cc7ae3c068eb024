//! Prints the JSON Schema of a transcript, which `docs/reference` keeps: a list of messages, and a
//! conversation of turns.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use wb_message::{Conversation, Message, Value};

/// The two forms of a transcript.
#[derive(schemars::JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "its schema is printed")]
enum Transcript {
    /// Messages, in order.
    Messages(Vec<Message>),
    /// A request to a model.
    Conversation(Conversation),
}

fn schema() -> serde_json::Result<String> {
    let mut schema = schemars::schema_for!(Transcript);
    schema.ensure_object().values_mut().for_each(drop_examples);
    Ok(serde_json::to_string_pretty(&schema)? + "\n")
}

/// Shortens each description to the text before its example, which is code of Rust.
fn drop_examples(schema: &mut Value) {
    match schema {
        Value::String(text) => text.truncate(text.find("\n\n```").unwrap_or(text.len())),
        Value::Array(values) => values.iter_mut().for_each(drop_examples),
        Value::Object(members) => members.values_mut().for_each(drop_examples),
        _ => {}
    }
}

fn main() -> serde_json::Result<()> {
    print!("{}", schema()?);
    Ok(())
}

#[test]
fn the_reference_is_current() {
    assert_eq!(schema().unwrap(), include_str!("../../../docs/reference/transcript.schema.json"));
}
