//! The JSON Schema of calls and answers.

use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

use crate::call::{Call, CallError, VERSION};
use crate::compaction_progress::Progress;
use crate::operations::compact::CompactStep;
use crate::operations::convert::Converted;
use crate::operations::facts::FactList;
use crate::operations::provider_rules::{Repaired, Validated};
use crate::operations::recall::LookedUp;
use crate::operations::weigh::Weighed;

/// Returns the JSON Schema of a call under `Call`, and of the result of each operation.
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let roots = [
        ("Call", generator.subschema_for::<Call<'static>>()),
        ("CallError", generator.subschema_for::<CallError>()),
        ("Progress", generator.subschema_for::<Progress>()),
        ("weigh", generator.subschema_for::<Weighed>()),
        ("compact", generator.subschema_for::<CompactStep>()),
        ("facts", generator.subschema_for::<FactList>()),
        ("audit", generator.subschema_for::<Vec<Map<String, Value>>>()),
        ("validate", generator.subschema_for::<Validated>()),
        ("repair", generator.subschema_for::<Repaired>()),
        ("convert", generator.subschema_for::<Converted>()),
        ("recall", generator.subschema_for::<LookedUp>()),
    ];
    let operations: Map<String, Value> =
        roots.into_iter().map(|(name, schema)| (name.to_owned(), schema.to_value())).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Calls and answers of window-budget",
        "version": VERSION,
        "oneOf": [
            { "type": "object", "properties": { "version": { "const": VERSION }, "result": {} }, "required": ["result"] },
            { "type": "object", "properties": { "version": { "const": VERSION }, "error": operations["CallError"] }, "required": ["error"] },
        ],
        "operations": operations,
        "$defs": generator.take_definitions(true),
    })
}
