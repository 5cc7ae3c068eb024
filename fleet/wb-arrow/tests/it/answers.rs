use arrow_array::Array;
use arrow_array::cast::AsArray;
use serde_json::{Value, json};
use wb_arrow::{SCHEMA_VERSION, VERSION_KEY, analyze, schema};

use crate::common::{batch, number, options, session, text, texts};

fn call(operation: &str, session: &Value, more: &Value) -> Value {
    let mut call = json!({ "operation": operation, "messages": session });
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let answer: Value = serde_json::from_str(&wb_bind::call(&call.to_string())).unwrap();
    answer["result"].clone()
}

#[test]
fn every_row_equals_the_answers_of_the_command() {
    let sessions: Vec<Value> = [0, 3, 40, 120].map(session).into();
    let lists: Vec<String> = sessions.iter().map(Value::to_string).collect();
    let lists: Vec<&str> = lists.iter().map(String::as_str).collect();
    let summary = "Fixed src/basket.rs. All tests pass.";
    let all = json!({ "window": 16_000 });
    let answer = analyze(
        &batch(vec![
            texts("id", &["a", "b", "c", "d"]),
            texts("messages", &lists),
            texts("summary", &[summary; 4]),
        ]),
        &options(&json!({ "options": all })),
    )
    .unwrap();
    let with = |session, operation, more: Value| call(operation, session, &more);
    for (row, session) in sessions.iter().enumerate() {
        let weighed = with(session, "weigh", json!({ "options": all }));
        assert_eq!(json!(number(&answer, "tokens", row)), weighed["tokens"]);
        assert_eq!(json!(number(&answer, "token_limit", row)), weighed["limit"]);
        assert_eq!(json!(text(&answer, "format", row)), weighed["format"]);
        assert_eq!(!answer["fits"].as_boolean().value(row), weighed["over_budget"].as_bool().unwrap());
        let compacted = with(session, "compact", json!({ "options": all }));
        let messages =
            text(&answer, "compacted_messages", row).map(|text| serde_json::from_str(text).unwrap());
        assert_eq!(messages.unwrap_or(Value::Null), compacted["messages"]);
        assert_eq!(json!(number(&answer, "tokens_after", row)), compacted["report"]["tokens_after"]);
        assert_eq!(json!(text(&answer, "digest", row)), compacted["report"]["digest"]);
        assert_eq!(json!(text(&answer, "reason", row)), compacted["report"]["reason"]);
        let facts = with(session, "facts", json!({}));
        let row_facts: Value = serde_json::from_str(text(&answer, "facts", row).unwrap()).unwrap();
        assert_eq!(row_facts, facts);
        let findings = with(session, "audit", json!({ "summary": summary }));
        let n_findings = i64::try_from(findings.as_array().unwrap().len()).unwrap();
        assert_eq!(number(&answer, "n_findings", row), Some(n_findings));
        let violations = with(session, "validate", json!({}))["violations"].clone();
        let n_violations = i64::try_from(violations.as_array().unwrap().len()).unwrap();
        assert_eq!(number(&answer, "n_violations", row), Some(n_violations));
    }
    assert!(
        text(&answer, "compacted_messages", 3).is_some() && text(&answer, "compacted_messages", 0).is_none()
    );
}

#[test]
fn parts_that_are_not_asked_for_are_null() {
    let list = session(4).to_string();
    let answer =
        analyze(&batch(vec![texts("messages", &[&list])]), &options(&json!({ "parts": [] }))).unwrap();
    assert!(number(&answer, "tokens", 0).is_some());
    for column in
        ["violations", "facts", "rules", "findings", "compacted", "digest", "strategies", "error", "id"]
    {
        assert!(answer[column].is_null(0), "{column}");
    }
}

#[test]
fn strategies_are_compared_in_one_row() {
    let list = session(120).to_string();
    let asked = options(&json!({ "parts": ["compare"], "options": { "window": 16_000 } }));
    let answer = analyze(&batch(vec![texts("messages", &[&list])]), &asked).unwrap();
    let compared = answer["strategies"].as_list::<i32>().value(0);
    let compared = compared.as_struct();
    let names = compared.column_by_name("strategy").unwrap().as_string::<i32>();
    let names: Vec<_> = names.iter().flatten().collect();
    assert_eq!(names, ["window-budget", "three-level", "policy", "ladder"]);
    let lost_rules = compared.column_by_name("lost_rules").unwrap().as_list::<i32>();
    assert_eq!(lost_rules.value(0).len(), 0, "the digest holds the rules");
}

#[test]
fn the_schema_has_a_version_and_is_that_of_every_answer() {
    let answer = analyze(&batch(vec![texts("messages", &[])]), &options(&json!({}))).unwrap();
    assert_eq!(answer.schema(), schema());
    assert_eq!(schema().metadata()[VERSION_KEY], SCHEMA_VERSION);
}
