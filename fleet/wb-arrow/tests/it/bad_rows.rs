use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use serde_json::json;
use wb_arrow::{AnalyzeError, ColumnError, analyze};

use crate::common::{batch, error, number, options, session, text, texts};

#[test]
fn a_bad_row_is_an_error_and_its_neighbours_are_answered() {
    let good = session(2).to_string();
    let rows = [&good, "", "[", "[1]", "{}", "null", "\u{0}", &good[..good.len() / 2], &good];
    let answer = analyze(&batch(vec![texts("messages", &rows)]), &options(&json!({}))).unwrap();
    assert_eq!(answer.num_rows(), rows.len());
    for row in 0..rows.len() {
        let is_good = row == 0 || row == rows.len() - 1;
        assert_eq!(
            error(&answer, "message", row).is_none(),
            is_good,
            "{row}: {:?}",
            error(&answer, "message", row)
        );
        assert_eq!(number(&answer, "tokens", row).is_some(), is_good, "{row}");
    }
    assert_eq!(error(&answer, "kind", 1), Some("input"));
    assert!(!error(&answer, "hint", 1).unwrap().is_empty());
}

#[test]
fn a_null_and_bytes_that_are_no_text_are_errors_that_keep_the_id() {
    let messages = BinaryArray::from_opt_vec(vec![None, Some(b"[\xff]"), Some(b"[]")]);
    let columns =
        vec![texts("id", &["x", "y", "z"]), ("messages".to_owned(), Arc::new(messages) as ArrayRef)];
    let answer = analyze(&batch(columns), &options(&json!({}))).unwrap();
    assert_eq!(error(&answer, "message", 0), Some("the messages are null"));
    assert_eq!(error(&answer, "hint", 1), Some("send UTF-8"));
    assert_eq!((text(&answer, "id", 1), error(&answer, "part", 2)), (Some("y"), None));
}

#[test]
fn an_unknown_format_is_the_error_of_its_row() {
    let list = session(1).to_string();
    let formats = StringArray::from(vec![None, Some("openai-chat"), Some("telegraph")]);
    let columns =
        vec![texts("messages", &[&list, &list, &list]), ("format".to_owned(), Arc::new(formats) as ArrayRef)];
    let answer = analyze(&batch(columns), &options(&json!({}))).unwrap();
    assert_eq!(text(&answer, "format", 1), Some("openai-chat"));
    assert_eq!((error(&answer, "kind", 0), error(&answer, "kind", 2)), (None, Some("option")));
}

#[test]
fn a_batch_without_messages_lists_the_columns_it_has() {
    let refused = analyze(&batch(vec![texts("conversation", &["[]"])]), &options(&json!({}))).unwrap_err();
    assert!(
        matches!(&refused, AnalyzeError::Column(ColumnError::Missing(_, known)) if known == "conversation")
    );
    let named = options(&json!({ "columns": { "messages": "conversation" } }));
    assert!(analyze(&batch(vec![texts("conversation", &["[]"])]), &named).is_ok());
}
