//! The schema of answers.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

/// The version of the schema: columns are added to a version, and neither renamed nor removed.
pub const SCHEMA_VERSION: &str = "1";
/// The key of the version in the metadata of a schema.
pub const VERSION_KEY: &str = "window_budget.version";

/// Returns the schema of answers.
pub fn schema() -> SchemaRef {
    let fields = vec![
        text("id"),
        text("format"),
        text("model"),
        number("n_messages"),
        number("tokens"),
        structure("tokens_by_kind", kinds()),
        number("window"),
        number("token_limit"),
        boolean("fits"),
        number("n_violations"),
        list("violations", DataType::Struct(violation())),
        text("facts"),
        list("rules", DataType::Utf8),
        number("n_findings"),
        list("findings", DataType::Struct(finding())),
        number("n_summaries"),
        number("n_untrue"),
        text("strategy"),
        boolean("compacted"),
        text("reason"),
        number("tokens_after"),
        text("digest"),
        text("compacted_messages"),
        list("lost_rules", DataType::Utf8),
        list("strategies", DataType::Struct(compared())),
        structure("error", Fields::from(["part", "kind", "message", "hint"].map(text).to_vec())),
    ];
    let metadata = [(VERSION_KEY.to_owned(), SCHEMA_VERSION.to_owned())].into();
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

fn kinds() -> Fields {
    let names = [
        "user",
        "assistant",
        "tool_results",
        "shell",
        "custom",
        "digests_and_restored_files",
        "system_prompt_and_tools",
    ];
    Fields::from(names.map(number).to_vec())
}

fn violation() -> Fields {
    Fields::from(vec![
        text("dialect"),
        text("rule"),
        number("message"),
        text("at"),
        text("what"),
        text("fix"),
    ])
}

fn finding() -> Fields {
    let place = [number("message"), number("summary")];
    Fields::from([&[text("kind"), number("line"), text("text"), text("why")], &place[..]].concat())
}

fn compared() -> Fields {
    let lost = list("lost_rules", DataType::Utf8);
    let figures = [text("strategy"), boolean("compacted"), text("reason"), number("tokens_after"), lost];
    Fields::from([&figures[..], &[text("error")]].concat())
}

fn text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true)
}

fn number(name: &str) -> Field {
    Field::new(name, DataType::Int64, true)
}

fn boolean(name: &str) -> Field {
    Field::new(name, DataType::Boolean, true)
}

fn structure(name: &str, fields: Fields) -> Field {
    Field::new(name, DataType::Struct(fields), true)
}

fn list(name: &str, item: DataType) -> Field {
    Field::new(name, DataType::List(Arc::new(Field::new("item", item, true))), true)
}
