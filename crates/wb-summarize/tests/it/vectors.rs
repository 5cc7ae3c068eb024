//! The recorded answers of the summarizer.

use futures::StreamExt;
use futures::executor::block_on;
use serde_json::Value;
use wb_invoke::{Emission, InvokeError, Reply, StopReason, collect_text};
use wb_message::Message;
use wb_summarize::{CondenseScope, build_summary_prompt, flatten_transcript};
use wb_testkit::vectors;

fn sessions() -> Vec<(Value, Vec<Message>)> {
    let rows = vectors::rows("window-budget.jsonl", "session");
    rows.into_iter().map(|row| (row.clone(), vectors::messages(&row["messages"]))).collect()
}

#[test]
fn every_recorded_rendering_is_equal() {
    for (row, messages) in sessions() {
        let flat = flatten_transcript(&messages);
        assert!(vectors::is_recorded(&flat, &row["flatten"]), "{}: {flat}", row["id"]);
    }
}

#[test]
fn every_recorded_prompt_core_is_equal() {
    for (row, messages) in sessions() {
        let recorded = &row["prompt_core"];
        let prompt = build_summary_prompt(&messages, CondenseScope::Session, recorded["prior"].as_str());
        let (_, after_framing) = prompt.split_once("\n\n").unwrap();
        let (core, _) = after_framing.rsplit_once("\n\n").unwrap();
        assert!(vectors::is_recorded(core, &recorded["text"]), "{}: {core}", row["id"]);
    }
}

fn stop(value: &Value) -> StopReason {
    serde_json::from_value(value.clone()).expect("a known form")
}

fn emission(value: &Value) -> Emission {
    match value["kind"].as_str().expect("a kind") {
        "error" => Emission::Error { error: InvokeError::new(value["message"].as_str().expect("a message")) },
        "done" => Emission::Done {
            reply: Reply {
                model: String::new(),
                blocks: vectors::blocks(&value["blocks"]),
                usage: wb_budget::Usage::EMPTY,
                stop: stop(&value["stop"]),
            },
        },
        _ => serde_json::from_value(value.clone()).expect("a known form"),
    }
}

#[test]
fn every_recorded_collected_text_is_equal() {
    let rows = vectors::rows("window-budget.jsonl", "collect");
    for row in &rows {
        let emissions: Vec<_> = row["emissions"].as_array().unwrap().iter().map(emission).collect();
        let text = block_on(collect_text(futures::stream::iter(emissions).boxed()));
        assert_eq!(text.as_deref(), row["digest"].as_str(), "{row}");
    }
    assert_eq!(rows.len(), 35);
}
