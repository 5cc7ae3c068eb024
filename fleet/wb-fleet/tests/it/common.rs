use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use serde_json::{Value, json};

pub(crate) const ROWS: usize = 40;
/// A window in which some sessions are over budget.
pub(crate) const OPTIONS: &str = r#"{"options": {"window": 8000}}"#;

/// A session; every tenth cannot be read.
fn session(nth: usize) -> String {
    let rule = "Fix the rounding in src/cart.rs. Never touch src/billing.rs, and always run the tests.";
    let mut messages = vec![json!({ "role": "user", "content": rule })];
    for step in 0..nth * 7 % 50 {
        let id = format!("call_{step}");
        let function = json!({ "name": "read_file", "arguments": "{\"path\": \"src/a.rs\"}" });
        let calls = json!([{ "id": id, "type": "function", "function": function }]);
        messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
        let text = format!("pub fn total_{step}(cents: u64) -> u64 {{ cents * 2 }}\n").repeat(12);
        messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
    }
    messages.push(json!({ "role": "assistant", "content": "All parts are read." }));
    if nth % 8 == 3 {
        // A result without a call.
        messages.push(json!({ "role": "tool", "tool_call_id": "gone", "content": "<b>late</b>" }));
    }
    let text = Value::from(messages).to_string();
    if nth % 10 == 9 { text[..text.len() / 2].to_owned() } else { text }
}

pub(crate) fn batch(rows: impl Iterator<Item = usize> + Clone) -> RecordBatch {
    let ids: StringArray = rows.clone().map(|nth| Some(format!("s{nth:02}"))).collect();
    let messages: StringArray = rows.clone().map(|nth| Some(session(nth))).collect();
    let summaries: StringArray =
        rows.map(|nth| (nth % 4 == 0).then_some("Changed src/basket.rs. All tests pass.")).collect();
    let columns = [("id", ids), ("messages", messages), ("summary", summaries)];
    RecordBatch::try_from_iter(columns.map(|(name, column)| (name, Arc::new(column) as ArrayRef))).unwrap()
}

/// Writes the sessions into three files of Parquet.
pub(crate) fn write_parquet(folder: &Path) {
    for part in 0..3 {
        let batch = batch((part..ROWS).step_by(3));
        let file = File::create(folder.join(format!("part-{part}.parquet"))).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
    }
}

/// Writes the sessions into three files of JSON lines, with messages as JSON where they are.
pub(crate) fn write_lines(folder: &Path) {
    for part in 0..3 {
        let mut file = File::create(folder.join(format!("part-{part}.jsonl"))).unwrap();
        for nth in (part..ROWS).step_by(3) {
            let text = session(nth);
            let messages = serde_json::from_str(&text).unwrap_or(Value::from(text));
            let mut line = json!({ "id": format!("s{nth:02}"), "messages": messages });
            if nth % 4 == 0 {
                line["summary"] = json!("Changed src/basket.rs. All tests pass.");
            }
            writeln!(file, "{line}").unwrap();
        }
    }
}

/// A session of pi whose compaction left a summary.
pub(crate) fn compacted(summary: &str) -> String {
    let message = |id: &str, parent: Option<&str>, text: &str| json!({ "type": "message", "id": id, "parentId": parent, "message": { "role": "user", "content": text, "timestamp": 0 } });
    let lines = [
        json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/" }),
        message("m0", None, "Fix the rounding in src/cart.rs. Never touch src/billing.rs."),
        json!({ "type": "compaction", "id": "m1", "parentId": "m0", "summary": summary, "firstKeptEntryId": "m9", "tokensBefore": 9 }),
        message("m2", Some("m1"), "And the tests?"),
    ];
    lines.map(|line| line.to_string()).join("\n")
}
