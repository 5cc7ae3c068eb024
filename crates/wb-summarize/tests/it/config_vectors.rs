//! The recorded answers of the cumulative summarizer.

use serde_json::{Value, json};
use wb_summarize::{CompactionConfig, CompactionExecutionMode, savings_ratio_ppm};
use wb_testkit::vectors::policy::rows;

#[test]
fn every_recorded_saving_is_equal() {
    let rows = rows("aw.savings_ppm");
    for row in &rows {
        let [pre, post] = ["pre", "post"].map(|key| row.input[key].as_u64().expect("a number"));
        assert_eq!(Some(savings_ratio_ppm(pre, post)), row.output.as_u64(), "{}", row.tag);
    }
    assert_eq!(rows.len(), 8);
}

/// The recorded configuration needs its prompts and its ratio; ours fills in what is left out.
const NEEDS_KEYS: &str = "config mode off alone fails";

#[test]
fn of_the_recorded_configs_exactly_the_partial_one_differs() {
    let rows = rows("aw.serde").into_iter().filter(|row| row.input["type"] == "CompactionConfig");
    let mut differing = Vec::new();
    for row in rows {
        let read = serde_json::from_value::<CompactionConfig>(row.input["json"].clone());
        let ours = read.as_ref().map_err(ToString::to_string).map_or_else(
            |error| json!({ "err": error }),
            |config| json!({ "ok": without_prompts(serde_json::to_value(config).expect("JSON")) }),
        );
        if ours != row.output {
            let missing = "missing field `summarizer_system_prompt`";
            assert_eq!(row.output["err"], missing, "{}: {ours}", row.tag);
            assert_eq!(read.expect("a config").execution_mode, CompactionExecutionMode::Off);
            differing.push(row.tag);
        }
    }
    assert_eq!(differing, [NEEDS_KEYS]);
}

/// Configs were recorded without their prompts.
fn without_prompts(mut config: Value) -> Value {
    if let Some(map) = config.as_object_mut() {
        map.retain(|key, _| !key.ends_with("_prompt"));
    }
    config
}
