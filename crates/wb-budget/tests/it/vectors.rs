//! The recorded answers of the budget arithmetic, all equal.

use serde_json::Value;
use wb_budget::{
    AUTO_CONDENSE_POLICY, BudgetPolicy, ModelCard, budget_limit, estimate_message_tokens, estimate_tokens,
    is_over_budget, last_user_turn_start, plan_slice, prefix_tokens,
};
use wb_testkit::vectors;

fn sessions() -> Vec<(Value, Vec<wb_message::Message>)> {
    let rows = vectors::rows("window-budget.jsonl", "session");
    rows.into_iter().map(|row| (row.clone(), vectors::messages(&row["messages"]))).collect()
}

fn numbers(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|value| value.as_u64().unwrap()).collect()
}

#[test]
fn every_recorded_estimate_is_equal() {
    let rows = sessions();
    for (row, messages) in &rows {
        let each: Vec<_> = messages.iter().map(estimate_message_tokens).collect();
        assert_eq!(each, numbers(&row["estimate"]["per_message"]), "{}", row["id"]);
        assert_eq!(estimate_tokens(messages), row["estimate"]["total"].as_u64().unwrap());
        assert_eq!(prefix_tokens(messages), numbers(&row["estimate"]["prefix"]));
    }
    assert_eq!(rows.len(), 234);
}

fn recorded_policy(value: &Value, keep_recent: u64) -> BudgetPolicy {
    match value["trigger_ratio"].as_f64() {
        None => AUTO_CONDENSE_POLICY,
        Some(trigger_ratio) => {
            BudgetPolicy { trigger_ratio, keep_recent, reserve_tokens: value["reserve_tokens"].as_u64() }
        }
    }
}

#[test]
fn every_recorded_gate_is_equal() {
    for (row, messages) in sessions() {
        for gate in row["gate"].as_array().unwrap() {
            let card = ModelCard::with_window(gate["card"]["context_window"].as_u64().unwrap());
            let policy = recorded_policy(&gate["policy"], 6000);
            assert_eq!(Some(budget_limit(&card, &policy)), gate["limit"].as_f64(), "{} {gate}", row["id"]);
            assert_eq!(Some(is_over_budget(&messages, &card, &policy)), gate["over"].as_bool(), "{gate}");
        }
    }
}

#[test]
fn every_recorded_cut_is_equal() {
    for (row, messages) in sessions() {
        for slice in row["slice"].as_array().unwrap() {
            let keep_recent = slice["keep_recent"].as_u64().unwrap();
            let plan = plan_slice(&messages, &BudgetPolicy { keep_recent, ..AUTO_CONDENSE_POLICY });
            assert_eq!(Some(plan.cut as u64), slice["cut"].as_u64(), "{} {slice}", row["id"]);
            assert_eq!([plan.dropped, plan.kept].concat(), messages);
        }
        let last = last_user_turn_start(&messages).map(|at| at as u64);
        assert_eq!(last, row["last_user_turn_start"].as_u64(), "{}", row["id"]);
    }
}
