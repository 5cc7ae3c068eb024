//! Document 4: the recorded preparation of requests.

use serde_json::Value;
use wb_compat::policy::{
    ArtifactCompactionConfig, adjust_split, artifact_preview, compact_tool_results, effective_messages,
    find_split, patch_dangling_tool_calls, strip_unpaired_tool_calls_from_view, tool_schema_tokens,
    total_tokens, truncate,
};
use wb_testkit::vectors::policy::{PolicyRow, is_text, rows, text_value};

use super::thread::{are_recorded, count, ids, new_id, policy, thread};

fn check(op: &str, n_rows: usize, agrees: impl Fn(&PolicyRow) -> bool) {
    let rows = rows(op);
    assert_eq!(rows.len(), n_rows, "{op}");
    for row in rows {
        assert!(agrees(&row), "{op} {} {}", row.id, row.tag);
    }
}

fn limits(value: &Value) -> ArtifactCompactionConfig {
    serde_json::from_value(if value.is_null() { serde_json::json!({}) } else { value.clone() }).unwrap()
}

#[test]
fn every_recorded_split_is_equal() {
    check("aw.split", 10, |row| {
        let (budget, min_recent) = (count(&row.input["budget"]), count(&row.input["min_recent"]));
        row.output == find_split(&thread(row), budget, min_recent)
    });
}

#[test]
fn every_recorded_adjustment_is_equal() {
    check("aw.adjust", 3, |row| {
        let messages = thread(row);
        let adjusted: Vec<usize> = (0..=messages.len()).map(|split| adjust_split(&messages, split)).collect();
        row.output == Value::from(adjusted)
    });
}

#[test]
fn every_recorded_truncation_is_equal() {
    check("aw.truncate", 25, |row| {
        let policy = policy(row);
        let tools = row.input["tools"].as_array().cloned().unwrap_or_default();
        let schema = |tool: &Value| {
            tool_schema_tokens(&text_value(&tool["n"]), &text_value(&tool["d"]), &tool["p"].to_string())
        };
        let available = policy.available_tokens(tools.iter().map(schema).sum());
        let messages = thread(row);
        let before = total_tokens(&messages);
        let artifact = limits(&row.input["artifact"]);
        let out = truncate(messages, available, policy.min_recent_messages, &artifact, &mut new_id);
        row.output["available"] == available
            && row.output["total_before"] == before
            && row.output["total_after"] == total_tokens(&out)
            && row.output["kept"] == Value::from(ids(&out))
    });
}

#[test]
fn every_recorded_repair_is_equal() {
    check("aw.patch", 9, |row| {
        are_recorded(&patch_dangling_tool_calls(thread(row), &mut new_id), &row.output)
    });
}

#[test]
fn every_recorded_stripping_is_equal() {
    check("aw.strip", 5, |row| are_recorded(&strip_unpaired_tool_calls_from_view(thread(row)), &row.output));
}

#[test]
fn every_recorded_view_of_a_log_is_equal() {
    check("aw.effective_view", 2, |row| row.output == Value::from(ids(&effective_messages(&thread(row)))));
}

#[test]
fn every_recorded_preview_is_equal() {
    check("aw.artifact", 15, |row| {
        let (text, limits) = (text_value(&row.input["t"]), limits(&row.input["cfg"]));
        let Ok(limits) = limits.validated() else { return row.output.get("invalid").is_some() };
        let preview = artifact_preview(&text, &limits);
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
        let mut messages = thread(row);
        compact_tool_results(&mut messages, &limits(&row.input["cfg"]));
        are_recorded(&messages, &row.output)
    });
}

#[test]
fn a_schema_costs_a_token_per_byte_of_name_and_description() {
    assert_eq!(tool_schema_tokens("read", &"d".repeat(400), &"p".repeat(40)), 4 + 400 + 10 + 10);
}
