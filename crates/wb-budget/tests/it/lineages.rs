//! The estimates of other lineages, as they were recorded.

use serde_json::Value;
use wb_budget::{LineageTariff, three_level};
use wb_message::Message;
use wb_testkit::vectors;

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
}

/// The seed tells no content of extensions.
fn content(message: &Message) -> Option<u64> {
    match message {
        Message::Custom { .. } => None,
        other => Some(three_level::content_tokens(other.blocks())),
    }
}

#[test]
fn every_recorded_three_level_estimate_is_equal() {
    let cases = vectors::three_level::cases("estimate");
    for case in &cases {
        let each: Vec<_> = case.messages.iter().map(three_level::message_tokens).collect();
        assert_eq!(each, numbers(&case.expect["per_message"]), "{}", case.id);
        assert_eq!(three_level::total_tokens(&case.messages), case.expect["total"].as_u64().unwrap());
        let texts = case.request["texts"].as_array().unwrap();
        let each: Vec<_> =
            texts.iter().map(|text| three_level::estimate_tokens(text.as_str().unwrap())).collect();
        assert_eq!(each, numbers(&case.expect["texts"]), "{}", case.id);
        let each: Vec<_> = case.messages.iter().map(content).collect();
        let recorded: Vec<_> = case.expect["content"].as_array().unwrap().iter().map(Value::as_u64).collect();
        assert_eq!(each, recorded, "{}", case.id);
    }
    assert_eq!(cases.len(), 17);
}

#[test]
fn every_recorded_total_of_the_policy_is_equal() {
    let rows = vectors::policy::rows("aw.truncate");
    for row in &rows {
        let total: u64 =
            row.messages().iter().map(|message| LineageTariff::POLICY.message_tokens(message)).sum();
        assert_eq!(Some(total), row.output["total_before"].as_u64(), "{} {}", row.id, row.tag);
    }
    assert_eq!(rows.len(), 25);
}

#[test]
fn every_recorded_summary_costs_the_same() {
    for row in vectors::policy::rows("aw.summary_tokens") {
        let summary = wb_message::marks::conversation_summary(&vectors::policy::text_value(&row.input["t"]));
        assert_eq!(Some(LineageTariff::POLICY.message_tokens(&summary)), row.output.as_u64(), "{}", row.tag);
    }
}
