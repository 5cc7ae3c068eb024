//! The recorded answers of seed 4's truncation, previews and repair.

use serde_json::Value;
use wb_budget::{CONTEXT_WINDOW_POLICY, ContextWindowPolicy, LineageTariff, Weigher};
use wb_message::{Block, Message};
use wb_passes::ArtifactCompactionConfig;
use wb_passes::compat::policy::{
    Traced, adjust_split, artifact_preview, find_split, patch_dangling_tool_calls, preview_tool_results,
    strip_unpaired_tool_calls, tool_schema_tokens, truncate,
};
use wb_testkit::vectors::policy::{Row, is_text, rows, text_value};

const WEIGHER: &LineageTariff = &LineageTariff::POLICY;

/// Rows that our messages cannot express, each with the reason.
const INEXPRESSIBLE: [(u64, &str); 1] =
    [(110, "a tool message for the model alone retracts its call; our tool results are for everybody")];

fn number(value: &Value) -> usize {
    usize::try_from(value.as_u64().unwrap()).unwrap()
}

/// Checks that exactly the rows of the table differ.
fn check(op: &str, n_rows: usize, agrees: impl Fn(&Row) -> bool) {
    let rows = rows(op);
    assert_eq!(rows.len(), n_rows, "{op}");
    for row in rows {
        let known = INEXPRESSIBLE.iter().find(|(id, _)| *id == row.id);
        assert_eq!(agrees(&row), known.is_none(), "{op} {} {}: {known:?}", row.id, row.tag);
    }
}

fn config(value: &Value) -> ArtifactCompactionConfig {
    if value.is_null() {
        ArtifactCompactionConfig::default()
    } else {
        serde_json::from_value(value.clone()).unwrap()
    }
}

fn total(messages: &[Message]) -> u64 {
    messages.iter().map(|message| WEIGHER.weigh(message)).sum()
}

fn texts(message: &Message) -> String {
    match message {
        Message::Custom { content, .. } => content.texts().collect(),
        other => other.blocks().iter().filter_map(Block::as_text).collect(),
    }
}

/// Tells whether messages are the recorded ones: ids, roles, calls, answers and texts.
fn are_recorded(row: &Row, out: &Traced) -> bool {
    let recorded = row.output.as_array().unwrap();
    recorded.len() == out.len()
        && out.iter().zip(recorded).all(|(item, recorded)| is_message(row, item, recorded))
}

fn is_message(row: &Row, (from, message): &(Option<usize>, Message), recorded: &Value) -> bool {
    let input = from.map_or(Value::Null, |at| row.input["msgs"][at].clone());
    let id = if from.is_some() { input["id"].clone() } else { Value::from("*") };
    let role = if from.is_some() { input["r"].clone() } else { Value::from("t") };
    let calls: Vec<&str> = message.calls().map(|(id, _, _)| id).collect();
    let recorded_calls = recorded["tc"].as_array().cloned().unwrap_or_default();
    let answered: Vec<&str> = message.answered_ids().collect();
    let recorded_answered: Vec<&Value> = recorded.get("for").into_iter().collect();
    recorded["id"] == id
        && recorded["r"] == role
        && recorded_calls == calls
        && recorded_answered == answered
        && is_text(&texts(message), &recorded["t"])
}

fn traced(messages: Vec<Message>) -> Traced {
    messages.into_iter().enumerate().map(|(at, message)| (Some(at), message)).collect()
}

#[test]
fn every_recorded_split_is_equal() {
    check("aw.split", 10, |row| {
        let (budget, min_recent) = (row.input["budget"].as_u64().unwrap(), number(&row.input["min_recent"]));
        find_split(&row.messages(), budget, min_recent, WEIGHER) == number(&row.output)
    });
}

#[test]
fn every_recorded_adjustment_is_equal() {
    check("aw.adjust", 3, |row| {
        let messages = row.messages();
        let adjusted: Vec<usize> = (0..=messages.len()).map(|split| adjust_split(&messages, split)).collect();
        row.output == Value::from(adjusted)
    });
}

/// The ids that are kept, in the recorded form.
fn kept(row: &Row, out: &Traced) -> Vec<String> {
    let ids = row.ids();
    let id = |(from, message): &(Option<usize>, Message)| match (from, message) {
        (Some(at), _) => ids[*at].clone().unwrap(),
        (None, Message::ToolResult { tool_call_id, .. }) => format!("*t/{tool_call_id}"),
        (None, other) => panic!("not a synthetic result: {other:?}"),
    };
    out.iter().map(id).collect()
}

#[test]
fn every_recorded_truncation_is_equal() {
    check("aw.truncate", 25, |row| {
        let given = row.input["policy"].clone();
        let policy: ContextWindowPolicy = serde_json::from_value(given).unwrap();
        let tools = row.input["tools"].as_array().cloned().unwrap_or_default();
        let schema = |tool: &Value| {
            tool_schema_tokens(&text_value(&tool["n"]), &text_value(&tool["d"]), &tool["p"].to_string())
        };
        let tool_tokens: u64 = tools.iter().map(schema).sum();
        let available = policy.available_tokens(usize::try_from(tool_tokens).unwrap()) as u64;
        let messages = row.messages();
        let before = total(&messages);
        let artifact = config(&row.input["artifact"]);
        let out = truncate(messages, available, policy.min_recent_messages, &artifact, WEIGHER);
        let after: u64 = out.iter().map(|(_, message)| WEIGHER.weigh(message)).sum();
        row.output["available"] == available
            && row.output["total_before"] == before
            && row.output["total_after"] == after
            && row.output["kept"] == Value::from(kept(row, &out))
    });
}

#[test]
fn every_recorded_repair_is_equal() {
    check("aw.patch", 9, |row| are_recorded(row, &patch_dangling_tool_calls(row.messages())));
}

#[test]
fn every_recorded_stripping_is_equal_but_that_of_a_retracted_call() {
    check("aw.strip", 5, |row| are_recorded(row, &traced(strip_unpaired_tool_calls(row.messages()))));
}

#[test]
fn every_recorded_preview_is_equal() {
    check("aw.artifact", 15, |row| {
        let (text, config) = (text_value(&row.input["t"]), config(&row.input["cfg"]));
        let Ok(config) = config.validated() else { return row.output.get("invalid").is_some() };
        let preview = artifact_preview(&text, &config);
        let changed = preview.is_some();
        let (n_bytes, shown) = (text.len(), preview.unwrap_or(text));
        row.output["changed"] == changed
            && row.output["in_bytes"] == n_bytes
            && row.output["out_bytes"] == shown.len()
            && is_text(&shown, &row.output["t"])
    });
}

#[test]
fn every_recorded_preview_of_tool_results_is_equal() {
    check("aw.tool_results", 2, |row| {
        let mut messages = row.messages();
        preview_tool_results(&mut messages, &config(&row.input["cfg"]));
        are_recorded(row, &traced(messages))
    });
}

#[test]
fn a_schema_costs_a_token_for_each_byte_of_its_name_and_description() {
    assert_eq!(tool_schema_tokens("read", &"d".repeat(400), &"p".repeat(40)), 4 + 400 + 10 + 10);
    assert_eq!(CONTEXT_WINDOW_POLICY.available_tokens(424), 200_000 - 16_384 - 424);
}
