//! The recorded answers of the window policy.

use serde_json::{Value, json};
use wb_budget::{ContextWindowPolicy, ModelCard};
use wb_testkit::vectors::policy::rows;

fn policy(json: &Value) -> ContextWindowPolicy {
    serde_json::from_value(json.clone()).unwrap()
}

#[test]
fn every_recorded_effective_policy_is_equal() {
    let rows = rows("aw.effective_policy");
    for row in &rows {
        let figure = |key: &str| row.input[key].as_u64().unwrap_or(0);
        let card = ModelCard {
            max_output_tokens: figure("model_max_output"),
            ..ModelCard::with_window(figure("context_window"))
        };
        let effective = policy(&row.input["policy"]).clamp_to(&card);
        assert_eq!(serde_json::to_value(effective).unwrap(), row.output, "{}", row.tag);
        assert_eq!(effective.clamp_to(&card), effective, "{}", row.tag);
    }
    assert_eq!(rows.len(), 5);
}

/// The recorded policy ignores unknown keys; ours refuses them by name.
const UNKNOWN_KEY: &str = "policy unknown ignored";

#[test]
fn recorded_policies_differ_only_by_an_unknown_key() {
    let rows = rows("aw.serde").into_iter().filter(|row| row.input["type"] == "ContextWindowPolicy");
    let mut differing = Vec::new();
    for row in rows {
        let read = serde_json::from_value::<ContextWindowPolicy>(row.input["json"].clone());
        let ours = read.map_or_else(|error| json!({ "err": error.to_string() }), |ok| json!({ "ok": ok }));
        if ours != row.output {
            let why = ours["err"].as_str().unwrap();
            assert!(why.contains("unknown field `zzz`"), "{}: {why}", row.tag);
            differing.push(row.tag);
        }
    }
    assert_eq!(differing, [UNKNOWN_KEY]);
}
