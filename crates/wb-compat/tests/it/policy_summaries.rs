//! Document 4: the recorded boundaries, plans, summaries and background events.

use serde_json::{Value, json};
use wb_compat::policy::{
    CompactionConfig, CompactionEvent, CompactionExecutionMode, CompactionInFlight, CompactionState,
    ContextWindowPolicy, ThreadMessage, apply_summary, extract_previous_summary, find_compaction_boundary,
    maybe_spawn_compaction, message_tokens, plan_compaction, render_transcript, savings_ratio_ppm,
    summary_message, trim_to_compaction_boundary, try_consume_compaction_event, try_extract_previous_summary,
    try_plan_compaction,
};
use wb_message::Message;
use wb_testkit::vectors::policy::{PolicyRow, is_text, rows, text_value};

use super::thread::{NEW_ID, are_recorded, count, ids, policy, thread};

fn check(op: &str, n_rows: usize, agrees: impl Fn(&PolicyRow) -> bool) {
    let rows = rows(op);
    assert_eq!(rows.len(), n_rows, "{op}");
    for row in rows {
        assert!(agrees(&row), "{op} {} {}", row.id, row.tag);
    }
}

#[test]
fn every_recorded_boundary_is_equal() {
    check("aw.boundary", 19, |row| {
        let messages = thread(row);
        let end = |key: &str, default| row.input.get(key).map_or(default, count);
        let boundary = find_compaction_boundary(&messages, end("start", 0), end("end", messages.len()));
        row.output == json!(boundary)
    });
}

#[test]
fn every_recorded_plan_is_equal() {
    check("aw.plan", 16, |row| {
        let Some(plan) = plan_compaction(&thread(row), &policy(row)) else { return row.output.is_null() };
        let previous = &row.output["previous_summary"];
        row.output["boundary"] == plan.boundary_message_id
            && row.output["pre_tokens"] == plan.pre_tokens
            && is_text(&plan.transcript, &row.output["transcript"])
            && plan.previous_summary.map_or(previous.is_null(), |text| is_text(&text, previous))
    });
}

#[test]
fn every_recorded_transcript_is_equal() {
    check("aw.transcript", 1, |row| is_text(&render_transcript(&thread(row)), &row.output));
}

#[test]
fn every_recorded_previous_summary_and_panic_is_equal() {
    check("aw.prev_summary", 6, |row| {
        let messages = thread(row);
        match try_extract_previous_summary(&messages) {
            Ok(found) => row.output == json!(found),
            Err(error) => {
                let caught = std::panic::catch_unwind(|| extract_previous_summary(&messages)).unwrap_err();
                row.output["panic"] == error.to_string()
                    && caught.downcast_ref::<String>() == Some(&error.to_string())
                    && try_plan_compaction(&messages, &ContextWindowPolicy::default()) == Ok(None)
            }
        }
    });
}

#[test]
fn every_recorded_summary_weighs_the_same() {
    check("aw.summary_tokens", 2, |row| {
        row.output == message_tokens(&summary_message(&text_value(&row.input["t"]), NEW_ID))
    });
}

#[test]
fn every_recorded_saving_is_equal() {
    check("aw.savings_ppm", 8, |row| {
        let [pre, post] = ["pre", "post"].map(|key| row.input[key].as_u64().unwrap());
        row.output == savings_ratio_ppm(pre, post)
    });
}

#[test]
fn every_recorded_swap_is_equal() {
    check("aw.apply", 5, |row| {
        let mut messages = thread(row);
        let (boundary, summary) =
            (row.input["boundary"].as_str().unwrap(), text_value(&row.input["summary"]));
        let applied = apply_summary(&mut messages, boundary, &summary, NEW_ID).map(|applied| {
            json!({
                "boundary_index": applied.boundary_index,
                "pre_tokens": applied.pre_tokens,
                "post_tokens": applied.post_tokens,
            })
        });
        row.output["applied"] == json!(applied) && are_recorded(&messages, &row.output["msgs"])
    });
}

#[test]
fn every_recorded_trim_is_equal() {
    check("aw.trim", 8, |row| {
        let mut messages = thread(row);
        trim_to_compaction_boundary(&mut messages);
        row.output == Value::from(ids(&messages))
    });
}

/// The start of every compaction in flight.
const STARTED_MS: u64 = 1;

fn in_flight(recorded: &Value) -> Option<CompactionInFlight> {
    let word = |at: usize| recorded[at].as_str().map(str::to_owned);
    Some(CompactionInFlight { task_id: word(0)?, boundary_message_id: word(1)?, started_at_ms: STARTED_MS })
}

/// Returns a state in the recorded form, without the times of its entries.
fn without_times(state: &CompactionState) -> Value {
    let mut json = serde_json::to_value(state).unwrap();
    for list in ["boundaries", "failures", "skipped"] {
        for entry in json.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            entry.as_object_mut().unwrap().remove("timestamp_ms");
        }
    }
    json
}

#[test]
fn every_recorded_event_changes_thread_and_state_equally() {
    check("aw.consume", 9, |row| {
        let mut messages = thread(row);
        let in_flight = in_flight(&row.input["in_flight"]);
        let mut state = CompactionState { in_flight, ..CompactionState::default() };
        let events: Vec<CompactionEvent> = serde_json::from_value(row.input["events"].clone()).unwrap();
        let consume =
            |event| try_consume_compaction_event(event, &mut messages, &mut state, NEW_ID, STARTED_MS);
        let consumed: Vec<bool> = events.iter().map(consume).collect();
        row.output["consumed"] == json!(consumed)
            && row.output["msgs"] == Value::from(ids(&messages))
            && row.output["state"] == without_times(&state)
    });
}

/// Builds a thread whose first two messages can be summarized.
fn long_thread() -> Vec<ThreadMessage> {
    let messages = [
        Message::user("x".repeat(8_000)),
        Message::assistant("Done."),
        Message::user("Thanks."),
        Message::user("Next?"),
    ];
    messages
        .into_iter()
        .zip(["m0", "m1", "m2", "m3"])
        .map(|(message, id)| ThreadMessage::new(id, message))
        .collect()
}

#[test]
fn a_compaction_is_due_at_its_threshold_and_one_at_a_time() {
    let (messages, config) = (long_thread(), CompactionConfig::default());
    let tokens = messages.iter().map(message_tokens).sum();
    let policy = |threshold| ContextWindowPolicy {
        autocompact_threshold: threshold,
        ..ContextWindowPolicy::default()
    };
    let mut state = CompactionState::default();
    let off = CompactionConfig { execution_mode: CompactionExecutionMode::Off, ..config.clone() };
    for (policy, config) in
        [(policy(None), &config), (policy(Some(tokens + 1)), &config), (policy(Some(tokens)), &off)]
    {
        assert_eq!(maybe_spawn_compaction(&messages, &policy, config, &mut state, "bg_1", 5), None);
    }
    let due = |state: &mut CompactionState| {
        maybe_spawn_compaction(&messages, &policy(Some(tokens)), &config, state, "bg_1", 5)
    };
    assert_eq!(due(&mut state).unwrap().boundary_message_id, "m1");
    assert!(state.is_compacting() && due(&mut state).is_none());
}

#[test]
fn a_message_without_an_id_is_no_boundary() {
    let mut messages = long_thread();
    messages[1].id = None;
    assert_eq!(plan_compaction(&messages, &ContextWindowPolicy::default()), None);
}
