//! The recorded answers about swapping a summary in, loading, and what becomes of a task.

use std::sync::Arc;

use serde_json::Value;
use wb_budget::{CompactionCut, TokenCounter};
use wb_conductor::{
    BackgroundCompaction, CompactionEvent, DiscardReason, apply_summary, trim_to_compaction_boundary,
};
use wb_message::markers::{conversation_summary, summary_text};
use wb_message::{Message, PatchError};
use wb_summarize::CompactionConfig;
use wb_testkit::vectors::policy::{PolicyCounter, Row, is_text, rows, text_value};

use super::support::{Act, above, acting, cut};

/// Weighs a summary as nothing, so that the swap alone is compared.
struct WithoutSummaries;

impl TokenCounter for WithoutSummaries {
    fn text(&self, text: &str) -> u64 {
        wb_budget::estimate_text(text)
    }

    fn message(&self, message: &Message) -> u64 {
        u64::from(summary_text(message).is_none())
    }
}

/// What the row's boundary takes: all before it and itself, as published.
fn recorded_cut(row: &Row) -> CompactionCut {
    let boundary = row.ids().iter().position(|id| id.as_deref() == row.input["boundary"].as_str());
    let end = boundary.map_or(usize::MAX, |at| at + 1);
    cut(0..end)
}

fn text(message: &Message) -> String {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => content.texts().collect(),
        other => other.blocks().iter().filter_map(wb_message::Block::as_text).collect(),
    }
}

fn texts_are(messages: &[Message], recorded: &Value) -> bool {
    let recorded = recorded.as_array().unwrap();
    let same = |(message, recorded): (&Message, &Value)| is_text(&text(message), &recorded["t"]);
    messages.len() == recorded.len() && messages.iter().zip(recorded).all(same)
}

#[test]
fn every_recorded_swap_is_equal_but_one_that_drops_a_system_prompt() {
    let all = rows("aw.apply");
    let mut different = Vec::new();
    for row in &all {
        let (mut messages, summary) = (row.messages(), text_value(&row.input["summary"]));
        let told = apply_summary(&mut messages, &recorded_cut(row), &summary, &WithoutSummaries);
        let equal =
            texts_are(&messages, &row.output["msgs"]) && told.is_ok() != row.output["applied"].is_null();
        if !equal {
            different.push((row.id, told.map(|weighed| weighed.added_tokens)));
        }
    }
    // 201: the published swap drops the visible system prompt; ours refuses to touch it.
    assert_eq!(different, [(201, Err(PatchError::Pinned { at: 0 }))]);
    assert_eq!(all.len(), 5);
}

#[test]
fn every_recorded_swap_that_is_heavier_is_refused_with_the_recorded_figures() {
    let mut refused = Vec::new();
    for row in rows("aw.apply") {
        let (mut messages, summary) = (row.messages(), text_value(&row.input["summary"]));
        let told = apply_summary(&mut messages, &recorded_cut(&row), &summary, &PolicyCounter);
        assert_eq!(messages, row.messages());
        if let Err(PatchError::Heavier { removed_tokens, added_tokens }) = told {
            let applied = &row.output["applied"];
            assert_eq!(applied["pre_tokens"], removed_tokens, "{} {}", row.id, row.tag);
            assert_eq!(applied["post_tokens"], added_tokens, "{} {}", row.id, row.tag);
            refused.push(row.id);
        }
    }
    assert_eq!(refused, [199, 203, 204]);
}

/// Returns the messages of a row that stand in an output's list of ids.
fn listed(row: &Row) -> Vec<Message> {
    let (messages, ids) = (row.messages(), row.ids());
    let of = |id: &Value| ids.iter().position(|it| it.as_deref() == id.as_str()).unwrap();
    row.output.as_array().unwrap().iter().map(|id| messages[of(id)].clone()).collect()
}

#[test]
fn every_recorded_load_is_equal_but_those_that_lose_something() {
    let all = rows("aw.trim");
    let mut different = Vec::new();
    for row in &all {
        let mut messages = row.messages();
        let n_dropped = trim_to_compaction_boundary(&mut messages);
        assert_eq!(messages.len() + n_dropped, row.messages().len());
        if messages != listed(row) {
            different.push((row.id, messages.len()));
        }
    }
    // 208: the latest turn, which no summary stands for, stays. 210: a reminder that mentions the tag is none.
    // 211: the system prompt stays.
    assert_eq!(different, [(208, 3), (210, 3), (211, 3)]);
    assert_eq!(all.len(), 8);
}

/// The published view folds the marked intervals of a log; ours is what the swaps left, one after the other.
#[test]
fn every_recorded_view_is_what_the_swaps_leave() {
    let all = rows("aw.effective_view");
    for row in &all {
        let mut view: Vec<Message> = Vec::new();
        let marks = row.input["msgs"].as_array().unwrap().iter().map(|recorded| recorded["mark"][1].as_u64());
        for (n_records, (message, mark)) in row.messages().into_iter().zip(marks).enumerate() {
            let Some(to) = mark.map(|to| usize::try_from(to).unwrap()) else {
                view.push(message);
                continue;
            };
            let n_raw = n_records - to;
            let end = view.len() - n_raw;
            apply_summary(&mut view, &cut(0..end), "S", &WithoutSummaries).unwrap();
        }
        assert_eq!(view, listed(row), "{} {}", row.id, row.tag);
    }
    assert_eq!(all.len(), 2);
}

/// Weighs what the row's tokens say: the two old messages together `pre_tokens`, a summary as published.
struct Given {
    pre_tokens: u64,
}

impl TokenCounter for Given {
    fn text(&self, text: &str) -> u64 {
        wb_budget::estimate_text(text)
    }

    fn message(&self, message: &Message) -> u64 {
        match summary_text(message) {
            Some(_) => PolicyCounter.message(message),
            None => self.pre_tokens / 2 + u64::from(text(message) == "old") * (self.pre_tokens % 2),
        }
    }
}

/// Plays a row: a task that takes the messages up to the boundary and ends as the row's event says.
async fn played(row: &Row, act: Act) -> (Vec<Message>, CompactionEvent, BackgroundCompaction) {
    let payload = &row.input["events"][0]["payload"];
    let pre_tokens = payload["pre_tokens"].as_u64().unwrap_or(5_000).max(4_000);
    let mut compaction = BackgroundCompaction::new(above(100), CompactionConfig::default())
        .summarizer(acting([act]))
        .counter(Arc::new(Given { pre_tokens }));
    let mut messages = row.messages();
    compaction.maybe_spawn_compaction(&messages, 1).unwrap();
    assert_eq!(compaction.state().in_flight.unwrap().raw_from, 2);
    compaction.settled().await;
    if row.input["in_flight"][1] == "ghost" {
        messages[1] = Message::assistant("not what was summarized");
    }
    if row.input["events"][0]["kind"] == "cancelled" {
        compaction.cancel();
    }
    let event = compaction.try_consume_compaction_event(&mut messages, 2).unwrap();
    (messages, event, compaction)
}

fn row(id: u64) -> Row {
    rows("aw.consume").into_iter().find(|row| row.id == id).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_recorded_completion_is_equal() {
    let row = row(248);
    let (messages, event, compaction) = played(&row, Act::Says("S")).await;
    assert_eq!(messages, [conversation_summary("S"), Message::user(vec![wb_message::Block::text("new")])]);
    let (state, recorded) = (compaction.state(), &row.output["state"]);
    let (boundary, expected) = (&state.boundaries[0], &recorded["boundaries"][0]);
    assert_eq!(expected["summary"], boundary.summary.as_str());
    assert_eq!(expected["pre_tokens"], boundary.pre_tokens);
    assert_eq!(expected["post_tokens"], boundary.post_tokens);
    assert_eq!(recorded["total_compactions"], state.total_compactions);
    assert!(state.in_flight.is_none() && matches!(event, CompactionEvent::Completed { .. }), "{event}");
}

#[tokio::test(start_paused = true)]
async fn a_recorded_failure_and_a_recorded_skip_are_equal() {
    let failed = row(255);
    let (messages, _, compaction) = played(&failed, Act::Fails).await;
    assert_eq!(messages, failed.messages());
    let state = compaction.state();
    assert_eq!(failed.output["state"]["failures"].as_array().unwrap().len(), state.failures.len());
    assert_eq!(
        (state.failures[0].error.as_str(), state.total_compactions),
        ("the summarizer failed: 429", 0)
    );

    let skipped = row(256);
    let (messages, _, compaction) = played(&skipped, Act::Long((3_900 - 4) * 4 - 47)).await;
    assert_eq!(messages, skipped.messages());
    let (ours, recorded) = (&compaction.state().skipped[0], &skipped.output["state"]["skipped"][0]);
    let ours = serde_json::to_value(ours).unwrap();
    for key in ["reason", "pre_tokens", "post_tokens", "savings_ratio_ppm", "min_savings_ratio_ppm"] {
        assert_eq!(ours[key], recorded[key], "{key}");
    }
}

#[tokio::test(start_paused = true)]
async fn three_recorded_ends_leave_the_same_messages_and_tell_more() {
    // 249: the boundary is gone; published: nothing is recorded.
    let (gone, event, compaction) = played(&row(249), Act::Says("S")).await;
    assert!(
        matches!(event, CompactionEvent::Discarded { reason: DiscardReason::PrefixChanged, .. }),
        "{event}"
    );
    assert_eq!((gone.len(), compaction.state().failures.len()), (3, 1));
    // 253: the summary is empty; published: nothing is recorded.
    let (blank, event, compaction) = played(&row(253), Act::Says("")).await;
    assert_eq!(event.to_string(), "compaction-1: failed: the summary was blank");
    assert_eq!((blank, compaction.state().failures.len()), (row(253).messages(), 1));
    // 259: cancelled; published: the mark stays for ever.
    let cancelled = row(259);
    assert!(cancelled.output["state"]["in_flight"].is_object());
    let (messages, event, compaction) = played(&cancelled, Act::Says("S")).await;
    assert!(matches!(event, CompactionEvent::Cancelled { .. }), "{event}");
    assert_eq!((messages, compaction.state().in_flight), (cancelled.messages(), None));
}

#[test]
fn the_other_recorded_events_cannot_happen_here() {
    // 250: an event of another task; 254: an event without a payload. A result is never apart from its task.
    let ids: Vec<u64> = rows("aw.consume").iter().map(|row| row.id).collect();
    assert_eq!(ids, [248, 249, 250, 252, 253, 254, 255, 256, 259]);
    // 252: an event where nothing is in flight.
    let idle = row(252);
    let mut messages = idle.messages();
    let mut compaction = BackgroundCompaction::new(above(1), CompactionConfig::default());
    assert!(compaction.try_consume_compaction_event(&mut messages, 0).is_none());
    assert_eq!((messages, idle.output["state"]["total_compactions"].as_u64()), (idle.messages(), Some(0)));
}
