//! What is kept: the state across processes, and the transcript over many compactions.

use std::time::Duration;

use wb_conductor::{
    Breaker, CompactionEvent, CompactionInFlight, CompactionState, CompactionTaskId, MAX_BACKOFF_MS,
    MAX_COMPACTION_RECORDS, MAX_RECORDED_SUMMARY_BYTES, NotSpawned,
};
use wb_message::markers::is_prompt;
use wb_message::{Message, Pairing};
use wb_testkit::{laws, script};

use super::support::{Act, acting, compaction, once, session, summary_of};

fn through_json(state: &CompactionState) -> CompactionState {
    serde_json::from_str(&serde_json::to_string(state).unwrap()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_state_comes_back_from_json_as_it_was() {
    let acts = [Act::Says("S"), Act::Long(60_000), Act::Fails, Act::Hangs];
    let mut compaction = compaction(acting(acts));
    let mut messages = session();
    let mut now_ms = 0;
    for _ in 0..3 {
        once(&mut compaction, &mut messages, now_ms).await;
        messages.extend(script("a*9000 u"));
        now_ms += MAX_BACKOFF_MS;
    }
    compaction.maybe_spawn_compaction(&messages, now_ms).unwrap();
    let state = compaction.state();
    let lengths = (state.boundaries.len(), state.skipped.len(), state.failures.len());
    assert_eq!((lengths, state.is_compacting()), ((1, 1, 1), true));
    assert_eq!(through_json(state), *state);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_compactions_leave_a_state_within_its_bounds() {
    let mut compaction = compaction(acting([Act::Long(9_000), Act::Long(9_000), Act::Fails]));
    let mut messages = script("u*9000 a u");
    let mut largest = 0;
    for turn in 0..1_000_u64 {
        // Every third summary fails; the pauses are over by the next turn.
        if turn % 3 == 0 {
            compaction = super::support::compaction(acting([Act::Long(9_000), Act::Long(9_000), Act::Fails]))
                .restored(through_json(compaction.state()));
        }
        once(&mut compaction, &mut messages, turn * 2 * MAX_BACKOFF_MS).await;
        messages.extend(script(&format!("a*5000 u\"turn {turn}\"")));
        largest = largest.max(serde_json::to_string(compaction.state()).unwrap().len());
    }
    let state = compaction.state();
    assert_eq!((state.n_started, state.total_compactions), (1_000, 667));
    assert_eq!(
        (state.boundaries.len(), state.failures.len()),
        (MAX_COMPACTION_RECORDS, MAX_COMPACTION_RECORDS)
    );
    assert!(state.boundaries.iter().all(|it| it.summary.len() <= MAX_RECORDED_SUMMARY_BYTES));
    assert!(largest < MAX_COMPACTION_RECORDS * (MAX_RECORDED_SUMMARY_BYTES + 1_024), "{largest}");
    assert_eq!(state.boundaries.last().unwrap().task_id, CompactionTaskId(1_000 - 1_000 % 3 + 1));
}

#[tokio::test(start_paused = true)]
async fn the_mark_of_another_process_blocks_until_its_deadline_and_no_longer() {
    let of_another = |deadline_ms| CompactionState {
        in_flight: Some(CompactionInFlight {
            task_id: CompactionTaskId(4),
            raw_from: 9,
            fingerprint: 1,
            started_at_ms: 1_000,
            deadline_ms,
        }),
        n_started: 4,
        ..CompactionState::default()
    };
    for (deadline_ms, given_up_ms) in [(61_000, 61_000), (u64::MAX, 122_000), (5, 2_000)] {
        let summarizer = acting([Act::Says("S")]);
        let mut compaction = compaction(summarizer.clone()).restored(of_another(deadline_ms));
        let mut messages = session();
        if given_up_ms > 2_000 {
            assert!(compaction.try_consume_compaction_event(&mut messages, 2_000).is_none());
            assert_eq!(compaction.maybe_spawn_compaction(&messages, 2_000), Err(NotSpawned::InFlight));
            compaction.settled().await;
            assert!(compaction.try_consume_compaction_event(&mut messages, given_up_ms - 1).is_none());
        }
        let event = compaction.try_consume_compaction_event(&mut messages, given_up_ms).unwrap();
        assert_eq!(event.to_string(), "compaction-4: failed: the summarizer timed out");
        assert_eq!(compaction.state().failures.len(), 1);
        let next = once(&mut compaction, &mut messages, given_up_ms + MAX_BACKOFF_MS).await;
        assert_eq!((next.task_id(), summarizer.n_calls()), (CompactionTaskId(5), 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_mark_of_another_process_can_be_cancelled() {
    let in_flight = CompactionInFlight {
        task_id: CompactionTaskId(1),
        raw_from: 0,
        fingerprint: 0,
        started_at_ms: 0,
        deadline_ms: 9,
    };
    let state = CompactionState { in_flight: Some(in_flight), ..CompactionState::default() };
    let mut compaction = compaction(acting([Act::Says("S")])).restored(state);
    assert_eq!(compaction.cancel(), Some(CompactionTaskId(1)));
    assert!(compaction.maybe_spawn_compaction(&session(), 0).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_restored_breaker_stays_open() {
    let state = CompactionState {
        breaker: Breaker::Open { until_ms: 500 },
        consecutive_failures: 2,
        ..CompactionState::default()
    };
    let mut compaction = compaction(acting([Act::Says("S")])).restored(through_json(&state));
    let told = compaction.maybe_spawn_compaction(&session(), 499);
    assert_eq!(told, Err(NotSpawned::BreakerOpen { until_ms: 500 }));
    assert!(compaction.maybe_spawn_compaction(&session(), 500).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_second_summary_carries_the_first_and_takes_its_place() {
    let summarizer = acting([Act::Says("First: <a> & b."), Act::Says("Second.")]);
    let mut compaction = compaction(summarizer.clone());
    let mut messages = session();
    once(&mut compaction, &mut messages, 0).await;
    messages.extend(script(r#"a*3000 u"one more" a*3000 u"last""#));
    let event = once(&mut compaction, &mut messages, 1).await;
    assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
    let asked = summarizer.asked();
    assert_eq!(asked[0].previous_summary, None);
    assert_eq!(asked[1].previous_summary.as_deref(), Some("First: <a> & b."));
    assert!(asked[1].parts[0].contains("one more") && !asked[1].parts[0].contains("First"));
    assert!(!asked[1].parts[0].contains("port it"), "what the first stands for is not sent again");
    assert_eq!((messages.len(), summary_of(&messages).as_str()), (3, "Second."));
}

#[tokio::test(start_paused = true)]
async fn fifty_compactions_in_a_row_leave_a_valid_transcript_with_its_prompt() {
    let mut compaction = compaction(acting([Act::Takes(Duration::from_secs(1), "So far so good.")]));
    let mut messages = script(r#"s"be kind" u"the one task""#);
    let mut n_applied = 0;
    for turn in 0_u64.. {
        let steps =
            if turn % 7 == 6 { "[a:bash,read t t*400]x3 a u\"next\"" } else { "[a:bash,read t t*400]x3" };
        messages.extend(script(steps).into_iter().map(|message| renamed(message, turn)));
        let _ = compaction.maybe_spawn_compaction(&messages, turn);
        compaction.settled().await;
        let before = messages.clone();
        if let Some(event) = compaction.try_consume_compaction_event(&mut messages, turn) {
            assert!(matches!(event, CompactionEvent::Completed { .. }), "{event}");
            laws::pairs_intact(&before, &messages);
            laws::no_loose_ends(&messages);
            laws::order_preserved(&before, &messages);
            laws::pinned_untouched(&before, &messages);
            let prompt = |messages: &[Message]| messages.iter().rfind(|it| is_prompt(it)).cloned();
            assert_eq!(prompt(&before), prompt(&messages));
            assert_eq!(summary_of(&messages), "So far so good.");
            n_applied += 1;
        }
        if n_applied == 50 {
            break;
        }
        assert!(turn < 1_000, "only {n_applied} were applied");
    }
    assert!(Pairing::of(&messages).orphans().is_empty());
    assert!(messages.len() < 60, "{}", messages.len());
    assert_eq!(compaction.state().total_compactions, 50);
}

/// Gives the calls and results of a turn ids of their own.
fn renamed(mut message: Message, turn: u64) -> Message {
    match &mut message {
        Message::ToolResult { tool_call_id, .. } => *tool_call_id = format!("{tool_call_id}-{turn}"),
        Message::Assistant { content, .. } => {
            for block in content {
                if let wb_message::Block::ToolCall { id, .. } = block {
                    *id = format!("{id}-{turn}");
                }
            }
        }
        _ => {}
    }
    message
}
