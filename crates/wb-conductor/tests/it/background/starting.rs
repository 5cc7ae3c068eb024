//! When a compaction starts, and why it does not.

use wb_budget::{CONTEXT_WINDOW_POLICY, TokenCounter, TokenHeuristic};
use wb_conductor::{BackgroundCompaction, CompactionEvent, NotSpawned};
use wb_message::Message;
use wb_message::markers::conversation_summary;
use wb_summarize::{CompactionConfig, CompactionExecutionMode};
use wb_testkit::script;

use super::support::{Act, above, acting, compaction, let_run, once, session, tokens_of};

#[test]
fn outside_of_a_runtime_nothing_starts() {
    let summarizer = acting([Act::Says("S")]);
    let mut compaction = compaction(summarizer.clone());
    assert_eq!(compaction.maybe_spawn_compaction(&session(), 0), Err(NotSpawned::NoRuntime));
    assert!(!compaction.state().is_compacting());
    assert_eq!(summarizer.n_calls(), 0);
    assert!(compaction.try_consume_compaction_event(&mut session(), 0).is_none());
}

#[tokio::test(start_paused = true)]
async fn without_a_summarizer_a_threshold_or_the_will_nothing_starts() {
    let config = CompactionConfig::default();
    let mut nobody = BackgroundCompaction::new(above(4_000), config.clone());
    assert_eq!(nobody.maybe_spawn_compaction(&session(), 0), Err(NotSpawned::NoSummarizer));
    let summarizer = acting([Act::Says("S")]);
    let mut never =
        BackgroundCompaction::new(CONTEXT_WINDOW_POLICY, config.clone()).summarizer(summarizer.clone());
    assert_eq!(never.maybe_spawn_compaction(&session(), 0), Err(NotSpawned::NoThreshold));
    let off = CompactionConfig { execution_mode: CompactionExecutionMode::Off, ..config };
    let mut off = BackgroundCompaction::new(above(4_000), off).summarizer(summarizer.clone());
    assert_eq!(off.maybe_spawn_compaction(&session(), 0), Err(NotSpawned::Off));
    let_run().await;
    assert_eq!(summarizer.n_calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn it_starts_strictly_above_the_threshold() {
    let messages = session();
    let total = tokens_of(&messages);
    let config = CompactionConfig::default();
    let summarizer = acting([Act::Says("S")]);
    let at = |threshold| {
        BackgroundCompaction::new(above(threshold), config.clone()).summarizer(summarizer.clone())
    };
    assert_eq!(at(total).maybe_spawn_compaction(&messages, 0), Err(NotSpawned::BelowThreshold));
    assert!(at(total - 1).maybe_spawn_compaction(&messages, 0).is_ok());
    assert_eq!(at(0).maybe_spawn_compaction(&[], 0), Err(NotSpawned::BelowThreshold));
}

#[tokio::test(start_paused = true)]
async fn a_second_one_waits_for_the_first_and_the_summarizer_is_asked_once() {
    let summarizer = acting([Act::Says("S")]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    let first = compaction.maybe_spawn_compaction(&messages, 0).unwrap();
    for now_ms in 1..5 {
        assert_eq!(compaction.maybe_spawn_compaction(&messages, now_ms), Err(NotSpawned::InFlight));
        let_run().await;
    }
    assert_eq!(summarizer.n_calls(), 1);
    let event = compaction.try_consume_compaction_event(&mut messages, 9).unwrap();
    assert_eq!((event.task_id(), first.to_string().as_str()), (first, "compaction-1"));
    assert!(compaction.try_consume_compaction_event(&mut messages, 9).is_none(), "an event is told once");
}

#[tokio::test(start_paused = true)]
async fn what_saves_too_little_is_not_paid_for() {
    let summarizer = acting([Act::Says("S")]);
    let config = CompactionConfig { summary_max_tokens: Some(1_000), ..CompactionConfig::default() };
    let frame = usize::try_from(TokenHeuristic::DEFAULT.message(&conversation_summary(""))).unwrap();
    let with = |config: &CompactionConfig| {
        BackgroundCompaction::new(above(10), config.clone()).summarizer(summarizer.clone())
    };
    // One body so large that a summary of a thousand tokens in its frame saves exactly 1024.
    let n_tokens = frame + 1_000 + 1_024 - 6;
    let (too_little, enough) =
        (script(&format!("u*{} u a", n_tokens - 1)), script(&format!("u*{n_tokens} u a")));
    let prefix = |messages: &[Message]| tokens_of(&messages[..1]);
    assert_eq!(prefix(&enough), frame + 1_000 + 1_024);
    assert_eq!(with(&config).maybe_spawn_compaction(&too_little, 0), Err(NotSpawned::TooLittleToSave));
    assert!(with(&config).maybe_spawn_compaction(&enough, 0).is_ok());

    let half = CompactionConfig { min_savings_ratio: 0.9, ..config.clone() };
    assert_eq!(with(&half).maybe_spawn_compaction(&enough, 0), Err(NotSpawned::TooLittleToSave));
    assert!(with(&half).maybe_spawn_compaction(&script("u*11000 u a"), 0).is_ok());
    let all = CompactionConfig { min_savings_ratio: 1.0, ..config };
    assert_eq!(with(&all).maybe_spawn_compaction(&session(), 0), Err(NotSpawned::TooLittleToSave));
}

#[tokio::test(start_paused = true)]
async fn where_nothing_may_go_there_is_nothing_to_compact() {
    let mut compaction = compaction(acting([Act::Says("S")]));
    for text in ["u*9000", "s*9000 u a", "a:bash u*9000"] {
        let told = compaction.maybe_spawn_compaction(&script(text), 0);
        assert_eq!(told, Err(NotSpawned::NothingToCompact), "{text}");
    }
    let internal = Message::custom("internal", "x".repeat(40_000));
    let told = compaction.maybe_spawn_compaction(&[vec![internal], script("u a")].concat(), 0);
    assert_eq!(told, Err(NotSpawned::NothingToCompact), "a summarizer is not shown internal messages");
}

#[tokio::test(start_paused = true)]
async fn the_same_messages_are_not_summarized_twice() {
    let summarizer = acting([Act::Says("S")]);
    let mut compaction = compaction(summarizer.clone());
    let before = session();
    let mut messages = before.clone();
    let CompactionEvent::Completed { undo, .. } = once(&mut compaction, &mut messages, 0).await else {
        panic!("not applied")
    };
    undo.revert(&mut messages);
    assert_eq!(messages, before);
    assert_eq!(compaction.maybe_spawn_compaction(&messages, 1), Err(NotSpawned::AlreadyDone));
    messages.extend(script("a*2000 u"));
    assert!(compaction.maybe_spawn_compaction(&messages, 1).is_ok(), "there is more of them now");
}

#[tokio::test(start_paused = true)]
async fn every_reason_is_a_sentence() {
    let reasons = [
        NotSpawned::Off,
        NotSpawned::InFlight,
        NotSpawned::BackingOff { until_ms: 7 },
        NotSpawned::BreakerOpen { until_ms: 7 },
        NotSpawned::NotGrown,
    ];
    let told: Vec<_> = reasons.iter().map(ToString::to_string).collect();
    assert_eq!(told[3], "the breaker is open until 7 ms");
    assert!(told.iter().all(|reason| reason.len() > 10));
}
