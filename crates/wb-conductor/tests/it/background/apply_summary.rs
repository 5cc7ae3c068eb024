//! What may happen between the start of a compaction and its end.

use std::time::Duration;

use futures::FutureExt;
use wb_budget::{CompactionCut, TokenHeuristic, estimate_tokens};
use wb_conductor::{BackgroundCompaction, CompactionEvent, DiscardReason, apply_summary};
use wb_message::markers::{is_pinned, summary_text};
use wb_message::outline::outline;
use wb_message::{Message, PatchError};
use wb_testkit::{laws, script};

use super::support::{Act, COST, acting, compaction, cut, let_run, once, session, summary_of};

/// Starts a compaction, changes the transcript, waits and consumes.
async fn meanwhile(
    before: &[Message],
    change: impl FnOnce(&mut Vec<Message>),
) -> (Vec<Message>, CompactionEvent, BackgroundCompaction) {
    let mut compaction = compaction(acting([Act::Says("All is ported.")]));
    compaction.maybe_spawn_compaction(before, 1).unwrap();
    compaction.settled().await;
    let mut messages = before.to_vec();
    change(&mut messages);
    let event = compaction.try_consume_compaction_event(&mut messages, 2).unwrap();
    (messages, event, compaction)
}

fn discarded(event: &CompactionEvent) -> &DiscardReason {
    match event {
        CompactionEvent::Discarded { reason, usage, .. } => {
            assert_eq!(*usage, COST);
            reason
        }
        other => panic!("{other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn turns_go_on_until_the_summary_is_there() {
    let summarizer = acting([Act::Takes(Duration::from_secs(30), "All is ported.")]);
    let mut compaction = compaction(summarizer);
    let mut messages = session();
    let (n_before, before_tokens) = (messages.len(), estimate_tokens(&messages));
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    let_run().await;
    for step in 0..5 {
        tokio::time::advance(Duration::from_secs(5)).await;
        let_run().await;
        assert!(compaction.try_consume_compaction_event(&mut messages, step * 5_000).is_none());
        messages.extend(script("a:bash t*30"));
        assert_eq!(
            messages.len(),
            n_before + 2 * usize::try_from(step + 1).unwrap(),
            "un-compacted until then"
        );
    }
    tokio::time::advance(Duration::from_secs(6)).await;
    let_run().await;
    let whole = messages.clone();
    let event = compaction.try_consume_compaction_event(&mut messages, 31_000).unwrap();
    let CompactionEvent::Completed { boundary, undo, usage } = event else { panic!("{event}") };
    assert_eq!(outline(&messages[..4]).lines().count(), 4);
    assert!(is_pinned(&messages[0]) && summary_text(&messages[1]).is_some());
    laws::tail_identical(&whole, &messages, 11);
    laws::pairs_intact(&whole, &messages);
    assert_eq!((boundary.n_messages, boundary.raw_from, boundary.timestamp_ms), (25, 26, 31_000));
    let appended = estimate_tokens(&whole) - before_tokens;
    assert_eq!(
        estimate_tokens(&messages),
        before_tokens - boundary.pre_tokens + boundary.post_tokens + appended
    );
    assert_eq!((usage, compaction.state().total_compactions), (COST, 1));
    undo.revert(&mut messages);
    assert_eq!(messages, whole);
}

#[tokio::test(start_paused = true)]
async fn a_summary_of_what_was_changed_meanwhile_is_discarded() {
    type Change = fn(&mut Vec<Message>);
    let changes: [(Change, DiscardReason); 5] = [
        (|messages| messages[3] = Message::user("edited"), DiscardReason::PrefixChanged),
        (|messages| messages.insert(0, Message::user("new")), DiscardReason::PrefixChanged),
        (|messages| messages.truncate(9), DiscardReason::Shortened),
        (Vec::clear, DiscardReason::Shortened),
        (|messages| messages.truncate(26), DiscardReason::TakesPrompt),
    ];
    for (change, expected) in changes {
        let mut expected_messages = session();
        change(&mut expected_messages);
        let (messages, event, compaction) = meanwhile(&session(), change).await;
        assert_eq!(*discarded(&event), expected);
        assert_eq!(messages, expected_messages, "a discarded summary changes nothing");
        let state = compaction.state();
        assert!(!state.is_compacting() && state.total_compactions == 0);
        assert_eq!(state.failures[0].error, expected.to_string());
    }
}

#[tokio::test(start_paused = true)]
async fn a_late_result_of_a_call_that_was_summarized_discards_the_summary() {
    let before = script("u*400 a:bash#lost u*4000 a*400 u a");
    let (messages, event, _) = meanwhile(&before, |messages| messages.extend(script("t:bash#lost"))).await;
    assert_eq!(*discarded(&event), DiscardReason::Refused(PatchError::SplitPair { call: 1, result: 6 }));
    assert_eq!(messages.len(), 7);
}

#[tokio::test(start_paused = true)]
async fn a_change_behind_the_boundary_is_none_of_its_business() {
    let (messages, event, _) = meanwhile(&session(), |messages| {
        messages.pop();
        messages.extend(script("u\"something else\" a"));
    })
    .await;
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
    assert_eq!((messages.len(), summary_of(&messages).as_str()), (4, "All is ported."));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_task_and_the_next_may_start_at_once() {
    let summarizer = acting([Act::Hangs, Act::Says("S")]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    let task_id = compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    let_run().await;
    assert_eq!(summarizer.n_running(), 1);
    assert_eq!(compaction.cancel(), Some(task_id));
    assert_eq!(compaction.cancel(), None);
    let_run().await;
    assert_eq!(summarizer.n_running(), 0, "the request is dropped");
    let event = compaction.try_consume_compaction_event(&mut messages, 1).unwrap();
    assert!(matches!(event, CompactionEvent::Cancelled { task_id: it, .. } if it == task_id), "{event}");
    assert_eq!(messages, session());
    let state = compaction.state();
    assert!(state.failures.is_empty() && state.consecutive_failures == 0, "nobody failed");
    let event = once(&mut compaction, &mut messages, 1).await;
    assert!(matches!(event, CompactionEvent::Completed { .. }) && event.task_id() > task_id, "{event}");
}

#[tokio::test(start_paused = true)]
async fn a_cancel_after_the_end_discards_the_summary_and_tells_what_it_cost() {
    let mut compaction = compaction(acting([Act::Says("S")]));
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    compaction.settled().await;
    assert!(compaction.cancel().is_some());
    let event = compaction.try_consume_compaction_event(&mut messages, 1).unwrap();
    assert!(matches!(event, CompactionEvent::Cancelled { usage, .. } if usage == COST), "{event}");
    assert!(compaction.try_consume_compaction_event(&mut messages, 1).is_none());
    assert_eq!(messages, session());
}

#[tokio::test(start_paused = true)]
async fn the_runtimes_clock_ends_a_summarizer_that_hangs() {
    let summarizer = acting([Act::Hangs]);
    let mut compaction = compaction(summarizer.clone()).timeout(Duration::from_mins(1));
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    // The host's clock stands still; with nothing else to do the paused one runs on to the limit.
    compaction.settled().await;
    let event = compaction.try_consume_compaction_event(&mut messages, 0).unwrap();
    let CompactionEvent::Failed { failure } = &event else { panic!("{event}") };
    assert_eq!(failure.error, "the summarizer timed out");
    assert_eq!((summarizer.n_running(), messages), (0, session()));
}

#[tokio::test(start_paused = true)]
async fn the_hosts_clock_ends_it_too() {
    let summarizer = acting([Act::Hangs]);
    let mut compaction = compaction(summarizer.clone()).timeout(Duration::from_mins(1));
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 1_000).unwrap();
    let_run().await;
    assert!(compaction.try_consume_compaction_event(&mut messages, 60_999).is_none());
    let event = compaction.try_consume_compaction_event(&mut messages, 61_000).unwrap();
    assert_eq!(event.to_string(), "compaction-1: failed: the summarizer timed out");
    let_run().await;
    assert_eq!(summarizer.n_running(), 0, "the task is aborted");
    assert_eq!(compaction.state().in_flight, None);
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_is_there_is_applied_however_late() {
    let mut compaction = compaction(acting([Act::Says("S")]));
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    compaction.settled().await;
    let event = compaction.try_consume_compaction_event(&mut messages, u64::MAX).unwrap();
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
}

#[tokio::test(start_paused = true)]
async fn a_future_that_is_dropped_while_waiting_loses_nothing() {
    let mut compaction = compaction(acting([Act::Takes(Duration::from_secs(10), "S")]));
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    for _ in 0..3 {
        assert!(tokio::time::timeout(Duration::from_secs(2), compaction.settled()).await.is_err());
        assert!(compaction.try_consume_compaction_event(&mut messages, 0).is_none());
    }
    compaction.settled().await;
    assert!(compaction.settled().now_or_never().is_some(), "settled stays settled");
    let event = compaction.try_consume_compaction_event(&mut messages, 0).unwrap();
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
    assert!(compaction.settled().now_or_never().is_some(), "nothing is in flight");
}

#[tokio::test(start_paused = true)]
async fn dropping_it_aborts_the_task() {
    let summarizer = acting([Act::Hangs]);
    let mut compaction = compaction(summarizer.clone());
    compaction.maybe_spawn_compaction(&session(), 0).unwrap();
    let_run().await;
    assert_eq!(summarizer.n_running(), 1);
    drop(compaction);
    let_run().await;
    assert_eq!(summarizer.n_running(), 0);
}

#[test]
fn a_runtime_that_is_shut_down_cancels() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let mut compaction = compaction(acting([Act::Hangs]));
    let mut messages = session();
    runtime.block_on(async { compaction.maybe_spawn_compaction(&messages, 0).unwrap() });
    drop(runtime);
    let event = compaction.try_consume_compaction_event(&mut messages, 0).unwrap();
    assert!(matches!(event, CompactionEvent::Cancelled { .. }), "{event}");
    assert_eq!(compaction.state().consecutive_failures, 0);
}

#[test]
fn a_runtime_without_a_timer_is_told_as_a_failure() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let summarizer = acting([Act::Says("S")]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    runtime.block_on(async {
        compaction.maybe_spawn_compaction(&messages, 0).unwrap();
        compaction.settled().await;
    });
    let event = compaction.try_consume_compaction_event(&mut messages, 0).unwrap();
    assert!(event.to_string().contains("timers are disabled"), "{event}");
    assert_eq!(summarizer.n_calls(), 0, "nothing was paid for");
}

#[tokio::test(start_paused = true)]
async fn a_busy_task_of_the_host_gets_the_result_at_once() {
    let mut compaction = compaction(acting([Act::Says("S")]));
    let mut messages = session();
    compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    let_run().await;
    // Uses up what the runtime lets a task do before it must come back later.
    let (send, mut receive) = futures::channel::mpsc::unbounded();
    while tokio::task::coop::has_budget_remaining() {
        send.unbounded_send(()).unwrap();
        tokio::task::coop::consume_budget().now_or_never();
    }
    assert!(receive.try_recv().is_ok());
    assert!(compaction.try_consume_compaction_event(&mut messages, 0).is_some());
}

#[test]
fn a_cut_of_another_transcript_is_refused_and_nothing_changes() {
    let before = script("s u*900 a:read t*900 a u a");
    let refused = |cut: &CompactionCut| {
        let mut messages = before.clone();
        let told = apply_summary(&mut messages, cut, "S", &TokenHeuristic::DEFAULT);
        assert_eq!(messages, before);
        told.map(|weighed| weighed.added_tokens).unwrap_err()
    };
    assert_eq!(refused(&cut(1..3)), PatchError::SplitPair { call: 2, result: 3 });
    assert_eq!(refused(&cut(0..2)), PatchError::Pinned { at: 0 });
    assert!(matches!(refused(&cut(1..99)), PatchError::Misplaced { .. }));
    assert!(matches!(refused(&cut(6..7)), PatchError::Heavier { .. }));
    let with = |ranges| CompactionCut { ranges, raw_from: 2, tokens: 0 };
    assert!(matches!(refused(&with(vec![1..2, 1..2])), PatchError::Misplaced { .. }));
    assert!(matches!(refused(&with(Vec::new())), PatchError::Heavier { removed_tokens: 0, .. }));
}
