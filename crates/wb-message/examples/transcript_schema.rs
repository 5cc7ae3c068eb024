//! Prints the JSON Schema of a transcript, which `docs/reference` keeps: a list of messages, and a
//! conversation of turns.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use wb_message::{Conversation, Message};

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
    Ok(serde_json::to_string_pretty(&schemars::schema_for!(Transcript))? + "\n")
}

fn main() -> serde_json::Result<()> {
    print!("{}", schema()?);
    Ok(())
}

#[test]
fn the_reference_is_current() {
    assert_eq!(schema().unwrap(), include_str!("../../../docs/reference/transcript.schema.json"));
}
