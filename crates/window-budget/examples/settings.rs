//! A host's settings file, bound to a host that speaks in turns.

use std::error::Error;

use window_budget::conductor::AgentSettings;
use window_budget::message::Turn;
use window_budget::{CondenseFn, CondenseOpts, ModelCard, WindowBudgetCondense, budget::estimate_text};

const FILE: &str = r#"{"theme": "dark", "context": {
    "budget": {"trigger_ratio": 0.5, "keep_recent": 2000},
    "pipeline": "window-budget",
    "sections": {"context_transform": {"artifact_compaction": {"threshold_tokens": 400}}}
}}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (settings, unknown) = AgentSettings::from_file(FILE, "context")?;
    assert!(unknown.is_empty());
    let compactor = settings.compactor(&ModelCard::with_window(12_000), None)?;
    let condense = WindowBudgetCondense::with_settings(compactor);
    let turns: Vec<Turn> = (0..30).map(|n| Turn::user(format!("Step {n}: {}", "x".repeat(1_200)))).collect();
    let context_tokens = turns.len() as u64 * estimate_text(&"x".repeat(1_200));
    let shorter =
        condense.condense(turns.clone(), CondenseOpts { context_tokens, ..CondenseOpts::default() }).await;
    assert!(shorter.len() < turns.len());

    let refused = AgentSettings::from_json(r#"{"budget": {"keep_recnt": 1}}"#).map_err(|it| it.to_string());
    assert!(refused.is_err_and(|why| why.contains("keep_recnt")), "an error names the key");
    Ok(())
}

#[test]
fn each_assertion_holds() {
    main().unwrap();
}
