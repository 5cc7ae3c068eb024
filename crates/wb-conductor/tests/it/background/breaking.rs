//! What happens where summaries do not help: pauses, the breaker, and no paid loops.

use std::sync::Arc;

use wb_conductor::{
    BREAKER_OPEN_MS, BackgroundCompaction, Breaker, CompactionEvent, DiscardReason, FIRST_BACKOFF_MS,
    NotSpawned, SkipReason,
};
use wb_message::Message;
use wb_testkit::script;

use super::support::{Act, Acting, COST, acting, compaction, once, session};

/// Too long to be worth it, whatever it stands for here.
const LONG: Act = Act::Long(40_000);

/// Drives that many turns, one in so many milliseconds, and returns how often each reason was given.
async fn drive(
    compaction: &mut BackgroundCompaction,
    messages: &mut Vec<Message>,
    n_turns: u64,
    turn_ms: u64,
) -> Vec<NotSpawned> {
    let mut reasons = Vec::new();
    for turn in 0..n_turns {
        messages.extend(script("u*5 a*5"));
        reasons.extend(compaction.maybe_spawn_compaction(messages, turn * turn_ms).err());
        compaction.settled().await;
        compaction.try_consume_compaction_event(messages, turn * turn_ms);
    }
    reasons
}

async fn calls(act: Act, n_turns: u64, turn_ms: u64) -> (usize, Arc<Acting>) {
    let summarizer = acting([act]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    drive(&mut compaction, &mut messages, n_turns, turn_ms).await;
    assert_eq!(
        messages.len(),
        session().len() + usize::try_from(n_turns).unwrap() * 2,
        "nothing was applied"
    );
    (summarizer.n_calls(), summarizer)
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_saves_too_little_is_left_out_and_recorded() {
    let mut compaction = compaction(acting([Act::Long(22_000)]));
    let mut messages = session();
    let event = once(&mut compaction, &mut messages, 7).await;
    let CompactionEvent::Skipped { skipped, usage } = &event else { panic!("{event}") };
    assert_eq!((skipped.reason, *usage), (SkipReason::MinSavingsRatio, COST));
    assert!(skipped.savings_ratio_ppm < 300_000 && skipped.min_savings_ratio_ppm == 300_000);
    assert!(skipped.post_tokens > 6_000 && skipped.timestamp_ms == 7);
    assert_eq!((messages, &compaction.state().skipped[0]), (session(), skipped));
}

#[tokio::test(start_paused = true)]
async fn summaries_that_are_too_long_are_paid_for_once_in_forty_turns() {
    assert_eq!(calls(LONG, 40, 10_000).await.0, 1);
    assert_eq!(calls(LONG, 40, 3_600_000).await.0, 1, "also where turns are hours apart");
}

#[tokio::test(start_paused = true)]
async fn what_was_left_out_is_tried_again_when_enough_was_added() {
    let summarizer = acting([LONG, Act::Says("S")]);
    let mut compaction = compaction(summarizer);
    let mut messages = session();
    once(&mut compaction, &mut messages, 0).await;
    let at_once = compaction.maybe_spawn_compaction(&messages, 1);
    assert_eq!(at_once, Err(NotSpawned::BackingOff { until_ms: FIRST_BACKOFF_MS }));
    assert_eq!(compaction.maybe_spawn_compaction(&messages, FIRST_BACKOFF_MS), Err(NotSpawned::AlreadyDone));
    messages.extend(script("a*900 u"));
    assert_eq!(compaction.maybe_spawn_compaction(&messages, FIRST_BACKOFF_MS), Err(NotSpawned::NotGrown));
    messages.extend(script("a*100 u"));
    let event = once(&mut compaction, &mut messages, FIRST_BACKOFF_MS).await;
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
}

#[tokio::test(start_paused = true)]
async fn a_summary_that_was_left_out_says_nothing_about_another_transcript() {
    let mut compaction = compaction(acting([LONG, Act::Says("S")]));
    once(&mut compaction, &mut session(), 0).await;
    let mut lighter = script("u*4500 a u");
    let event = once(&mut compaction, &mut lighter, FIRST_BACKOFF_MS).await;
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
}

#[tokio::test(start_paused = true)]
async fn a_summarizer_that_always_fails_is_asked_ever_more_rarely() {
    // Six and a half minutes: at once, after half a minute, and after five more.
    assert_eq!(calls(Act::Fails, 40, 10_000).await.0, 3);
    // A day, one turn a minute: then after 10, 20, 40 and every 60 minutes.
    assert_eq!(calls(Act::Fails, 1_440, 60_000).await.0, 28);
    assert_eq!(calls(Act::Fails, 40, 0).await.0, 1, "where the clock stands still nothing is tried again");
}

#[tokio::test(start_paused = true)]
async fn two_failures_in_a_row_open_the_breaker_and_one_success_closes_it() {
    let mut compaction = compaction(acting([Act::Fails, Act::Panics, Act::Fails, Act::Says("S")]));
    let mut messages = session();
    let mut now_ms = 0;
    for pause_ms in [FIRST_BACKOFF_MS, BREAKER_OPEN_MS, 2 * BREAKER_OPEN_MS] {
        let event = once(&mut compaction, &mut messages, now_ms).await;
        assert!(matches!(event, CompactionEvent::Failed { .. }), "{event}");
        let until_ms = now_ms + pause_ms;
        let expected = match pause_ms {
            FIRST_BACKOFF_MS => NotSpawned::BackingOff { until_ms },
            _ => NotSpawned::BreakerOpen { until_ms },
        };
        assert_eq!(compaction.maybe_spawn_compaction(&messages, until_ms - 1), Err(expected));
        now_ms = until_ms;
    }
    assert_eq!(compaction.state().breaker, Breaker::Open { until_ms: now_ms });
    assert_eq!(compaction.state().consecutive_failures, 3);
    let trial = compaction.maybe_spawn_compaction(&messages, now_ms);
    assert!(trial.is_ok(), "half open");
    assert_eq!(compaction.maybe_spawn_compaction(&messages, now_ms), Err(NotSpawned::InFlight), "one trial");
    compaction.settled().await;
    let event = compaction.try_consume_compaction_event(&mut messages, now_ms).unwrap();
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
    let state = compaction.state();
    assert_eq!((state.breaker, state.consecutive_failures, state.retry_at_ms), (Breaker::Closed, 0, None));
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_a_failure_with_its_message() {
    let mut compaction = compaction(acting([Act::Panics]));
    let event = once(&mut compaction, &mut session(), 0).await;
    let told = "compaction-1: failed: the summarizer panicked: the summarizer is broken";
    assert_eq!(event.to_string(), told);
}

#[tokio::test(start_paused = true)]
async fn a_blank_summary_is_a_failure() {
    let mut compaction = compaction(acting([Act::Says(" \n")]));
    let mut messages = session();
    let event = once(&mut compaction, &mut messages, 0).await;
    assert_eq!(event.to_string(), "compaction-1: failed: the summary was blank");
    assert_eq!(messages, session());
}

#[tokio::test(start_paused = true)]
async fn a_transcript_that_is_edited_each_turn_does_not_pay_each_turn() {
    let summarizer = acting([Act::Says("S")]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    for turn in 0..40 {
        let started = compaction.maybe_spawn_compaction(&messages, turn * 10_000);
        compaction.settled().await;
        messages[0] = Message::custom("system", format!("It is turn {turn}."));
        let event = compaction.try_consume_compaction_event(&mut messages, turn * 10_000);
        let prefix_changed = |event: CompactionEvent| {
            matches!(event, CompactionEvent::Discarded { reason: DiscardReason::PrefixChanged, .. })
        };
        assert_eq!(event.map(prefix_changed), started.ok().map(|_| true));
    }
    assert_eq!(summarizer.n_calls(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_reason_is_given_for_every_turn_without_a_compaction() {
    let mut compaction = compaction(acting([LONG]));
    let reasons = drive(&mut compaction, &mut session(), 40, 10_000).await;
    let n = |wanted: fn(&NotSpawned) -> bool| reasons.iter().filter(|reason| wanted(reason)).count();
    assert_eq!(n(|reason| matches!(reason, NotSpawned::BackingOff { .. })), 2);
    assert_eq!(n(|reason| *reason == NotSpawned::NotGrown), 37);
}
