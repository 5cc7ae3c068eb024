//! Summaries next to a session, and those that an agent left in it.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, RecordBatch};
use serde_json::{Value, json};
use wb_arrow::analyze;

use crate::common::{batch, error, number, options, texts};

/// A session of pi that was compacted with a summary, and went on.
fn compacted(summary: &str) -> String {
    let user = |text: &str| json!({ "role": "user", "content": text, "timestamp": 0 });
    let call =
        json!({ "type": "toolCall", "id": "call_0", "name": "read", "arguments": { "path": "src/cart.rs" } });
    let text = json!([{ "type": "text", "text": "pub fn total() {}" }]);
    let messages = [
        user("Fix the rounding in src/cart.rs. Never touch src/billing.rs."),
        json!({ "role": "assistant", "content": [call], "timestamp": 0 }),
        json!({ "role": "toolResult", "toolCallId": "call_0", "toolName": "read", "content": text, "timestamp": 0 }),
    ];
    let parent = |at: usize| at.checked_sub(1).map(|before| format!("m{before}"));
    let message = |at: usize, message: &Value| json!({ "type": "message", "id": format!("m{at}"), "parentId": parent(at), "message": message });
    let header = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/" });
    let compaction = json!({ "type": "compaction", "id": "m3", "parentId": "m2", "summary": summary, "firstKeptEntryId": "m9", "tokensBefore": 9 });
    let before = messages.iter().enumerate().map(|(at, it)| message(at, it));
    let lines =
        std::iter::once(header).chain(before).chain([compaction, message(4, &user("And the tests?"))]);
    lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n")
}

const TRUE: &str =
    "The user asked to fix the rounding in src/cart.rs and to never touch src/billing.rs. It was read.";
const FALSE: &str = "The rounding in src/basket.rs was fixed, and all tests pass.";

/// Returns the kind, the text and the number of the summary of each finding of a row.
fn findings(answer: &RecordBatch, row: usize) -> Vec<(String, String, Option<i64>)> {
    let findings = answer["findings"].as_list::<i32>().value(row);
    let findings = findings.as_struct();
    let text = |name: &str, at: usize| {
        findings.column_by_name(name).unwrap().as_string::<i32>().value(at).to_owned()
    };
    let numbers = findings.column_by_name("summary").unwrap().as_primitive::<Int64Type>();
    let number = |at: usize| numbers.is_valid(at).then(|| numbers.value(at));
    (0..findings.len()).map(|at| (text("kind", at), text("text", at), number(at))).collect()
}

#[test]
fn a_false_summary_inside_a_session_is_found() {
    let sessions = [compacted(TRUE), compacted(FALSE)];
    let sessions: Vec<&str> = sessions.iter().map(String::as_str).collect();
    let answer = analyze(&batch(vec![texts("messages", &sessions)]), &options(&json!({}))).unwrap();
    for (row, n_untrue) in [(0, 0), (1, 1)] {
        assert_eq!(error(&answer, "message", row), None);
        assert_eq!(
            (number(&answer, "n_summaries", row), number(&answer, "n_untrue", row)),
            (Some(1), Some(n_untrue))
        );
    }
    assert_eq!(number(&answer, "n_findings", 0), Some(0), "{:?}", findings(&answer, 0));
    let found = findings(&answer, 1);
    let has = |kind: &str, text: &str| {
        found.iter().any(|it| it.0 == kind && it.1.contains(text) && it.2 == Some(1))
    };
    assert!(has("unknown_path", "src/basket.rs") && has("unshown_end", "tests pass"), "{found:?}");
    assert!(has("missing_constraint", "src/billing.rs"), "{found:?}");
}

#[test]
fn the_summary_of_the_row_is_audited_next_to_that_in_the_session() {
    let session = compacted(FALSE);
    let columns =
        vec![texts("messages", &[&session, "[]"]), texts("summary", &["It is in src/shop.rs.", "Nothing."])];
    let answer = analyze(&batch(columns), &options(&json!({ "parts": ["audit"] }))).unwrap();
    assert_eq!((number(&answer, "n_summaries", 0), number(&answer, "n_untrue", 0)), (Some(2), Some(2)));
    let found = findings(&answer, 0);
    assert!(found.iter().any(|it| it.1.contains("src/shop.rs") && it.2.is_none()), "{found:?}");
    assert!(found.iter().any(|it| it.1.contains("src/basket.rs") && it.2 == Some(1)), "{found:?}");
    assert_eq!((number(&answer, "n_summaries", 1), number(&answer, "n_untrue", 1)), (Some(1), Some(0)));
}

#[test]
fn a_session_without_summaries_has_none() {
    let answer = analyze(&batch(vec![texts("messages", &["[]"])]), &options(&json!({}))).unwrap();
    assert!(
        answer["n_summaries"].is_null(0) && answer["n_findings"].is_null(0) && answer["findings"].is_null(0)
    );
}
