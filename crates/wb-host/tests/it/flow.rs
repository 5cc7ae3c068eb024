//! The automatic flow, seen by an agent that runs on it.

use std::sync::Arc;

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::ready;
use proptest::prelude::*;
use wb_budget::estimate_message_tokens;
use wb_host::{
    BeforeCompact, CompactOpts, CompactionReason, FlowAction, FlowState, HookFuture, HostError,
    SessionBeforeCompactEvent, SessionCompactFailedEvent, SessionHooks, Stopped,
};
use wb_invoke::ModelInvoker;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::markers::CLIP_MARK;
use wb_message::{Block, Message, outline};
use wb_session::{CompactionSettings, EntryKind, EntryTag};

use crate::agent::{Agent, Says, assert_sendable};
use crate::support::SUMMARY;

/// A window of 10 000 tokens of which 8 000 may be used, and 2 000 are kept.
fn settings() -> CompactionSettings {
    CompactionSettings { reserve_tokens: 2_000, keep_recent_tokens: 2_000, ..CompactionSettings::default() }
}

fn agent() -> Agent {
    Agent::new(10_000, settings())
}

#[test]
fn a_session_that_grows_is_compacted_before_the_request_that_would_be_over_the_limit() {
    let mut agent = agent();
    for _ in 0..12 {
        agent.prompt("Go on.", &[Says::Text(4_000)], None);
    }
    assert_eq!(agent.traced(), "........t....");
    assert_eq!(agent.flow.state(), FlowState::Ready);
}

#[test]
fn a_loop_of_tools_is_compacted_between_a_result_and_the_next_request() {
    let mut agent = agent();
    agent.prompt("Read them all.", &[Says::Call(6_000); 20], None);
    let trace = agent.traced();
    assert_eq!(trace.matches('.').count(), 20);
    assert!(trace.matches('t').count() >= 2 && !trace.contains(['x', 'S', '-']), "{trace}");
    assert!(agent.context().iter().any(|message| matches!(message, Message::CompactionSummary { .. })));
}

#[test]
fn a_context_that_the_provider_refuses_is_compacted_once_and_asked_again() {
    let mut agent = agent();
    // The provider counts three times of what is estimated, which shows only when it refuses.
    agent.tenths = 30;
    agent.session.append(&Message::user("Read.").into(), 1).unwrap();
    agent.session.append(&Message::assistant("a".repeat(16_000)).into(), 1).unwrap();
    agent.prompt("Go on.", &[Says::Text(40)], None);
    assert_eq!(agent.traced(), "xo.");
    assert_eq!(agent.flow.state(), FlowState::Ready);
    let failed = agent.session.tree().nodes().filter(|node| node.tag == EntryTag::Answer);
    assert_eq!(failed.count(), 3, "the refused answer stays in the log");
    let errors = agent
        .context()
        .into_iter()
        .filter(|message| matches!(message, Message::Assistant { error_message: Some(_), .. }));
    assert_eq!(errors.count(), 0, "and is not in the context");
}

#[test]
fn a_request_that_is_refused_twice_is_not_tried_a_third_time_until_the_user_speaks() {
    let mut agent = agent();
    agent.window_tokens = 10;
    agent.session.append(&Message::user("Read.").into(), 1).unwrap();
    agent.session.append(&Message::assistant("a".repeat(16_000)).into(), 1).unwrap();
    agent.prompt("Go on.", &[Says::Text(40)], None);
    assert_eq!(agent.traced(), "xoxS");
    assert_eq!(agent.flow.state(), FlowState::Stopped(Stopped::OverflowAgain));
    agent.window_tokens = 10_000;
    agent.prompt("Once more.", &[Says::Text(40)], None);
    assert_eq!((agent.traced().as_str(), agent.flow.state()), (".", FlowState::Ready));
}

#[test]
fn where_there_is_nothing_to_compact_a_refusal_is_told_and_nothing_is_tried() {
    let mut agent = agent();
    agent.window_tokens = 10;
    agent.prompt(&"x".repeat(400), &[Says::Text(40)], None);
    assert_eq!(agent.traced(), "xS");
    assert_eq!(agent.flow.state(), FlowState::Stopped(Stopped::NothingToCompact));
}

/// The results in what the model sees, by their first word, length and whether something was left out.
fn results(messages: &[Message]) -> Vec<(usize, bool)> {
    let results = messages.iter().filter(|message| matches!(message, Message::ToolResult { .. }));
    let texts = results.map(|message| message.blocks().iter().filter_map(Block::as_text).collect::<String>());
    texts.map(|text| (text.len(), text.contains(CLIP_MARK))).collect()
}

#[test]
fn a_result_that_is_over_the_limit_by_itself_is_shortened_in_the_context_and_whole_in_the_log() {
    let mut agent = agent();
    agent.window_tokens = 40_000;
    agent.prompt("Read it.", &[Says::Call(3_000), Says::Call(36_000), Says::Text(40)], None);
    assert_eq!(agent.traced(), "..s.");
    let shown = results(&agent.context());
    assert_eq!(shown[0], (3_000, false), "what is not large stays");
    assert!(shown[1].0 <= 4_000 && shown[1].1, "an eighth of 8 000 tokens: {shown:?}");
    let path: Vec<_> = agent.session.path().unwrap();
    let large = path.iter().rev().find(|node| node.tag == EntryTag::Message).unwrap();
    let EntryKind::Message(logged) = agent.session.entry(&large.id).unwrap().kind else { panic!() };
    assert_eq!(results(&[logged.message]), [(36_000, false)]);
    // Going to where it was appended takes the edit back.
    agent.session.branch(&large.id).unwrap();
    assert_eq!(results(&agent.context())[1], (36_000, false));
}

#[test]
fn a_refused_request_with_a_large_result_is_asked_again_with_that_shortened_and_once_more_compacted() {
    let mut agent = agent();
    agent.window_tokens = 3_000;
    agent.prompt("Read it.", &[Says::Call(12_000), Says::Text(40)], None);
    assert_eq!((agent.traced().as_str(), agent.flow.state()), (".xs.", FlowState::Ready));

    let mut agent = self::agent();
    agent.window_tokens = 1_000;
    agent.session.append(&Message::user("Read.").into(), 1).unwrap();
    agent.session.append(&Message::assistant("a".repeat(2_000)).into(), 1).unwrap();
    agent.prompt("Read it.", &[Says::Call(12_000), Says::Text(40)], None);
    let trace = agent.traced();
    assert_eq!(trace, ".xsxo.", "a compaction alone would not help");
    assert_sendable(&{
        agent.session.append(&Message::user("And?").into(), 1).unwrap();
        agent.context()
    });
}

#[test]
fn after_two_compactions_that_do_not_help_it_says_so_and_waits_until_much_was_added() {
    let mut agent = agent();
    agent.window_tokens = 40_000;
    let talk = |agent: &mut Agent, n_times: usize| {
        for _ in 0..n_times {
            agent.prompt("Go on.", &[Says::Text(3_240)], None);
        }
        agent.traced()
    };
    assert_eq!(talk(&mut agent, 8), "........");
    // From now on tools and system prompt are over the limit by themselves.
    agent.pending.overhead_tokens = 9_000;
    assert_eq!(talk(&mut agent, 9), ".t.S.S.S.t.S.S.S.");
    assert!(matches!(agent.flow.state(), FlowState::Stopped(Stopped::NoHelp { .. })));
    agent.pending.card.context_window = 200_000;
    agent.prompt("Go on.", &[Says::Text(40)], None);
    assert_eq!((agent.traced().as_str(), agent.flow.state()), (".", FlowState::Ready));
}

#[test]
fn a_compaction_by_hand_works_where_the_automatic_one_is_off_and_takes_instructions() {
    let mut agent = Agent::new(10_000, CompactionSettings { enabled: false, ..settings() });
    for _ in 0..9 {
        agent.prompt("Go on.", &[Says::Text(3_900)], None);
    }
    assert_eq!(agent.traced(), ".........", "over its limit, and left alone");
    let model = ScriptedInvoker::new([Script::says(SUMMARY)]);
    let opts = CompactOpts { custom_instructions: Some("the tests".into()), ..CompactOpts::default() };
    let next = agent.flow.request_compaction(&agent.session, &agent.pending, opts.clone()).unwrap();
    agent.act(next, Some(&model));
    assert_eq!(agent.traced(), "m");
    assert!(model.prompts()[0].contains("Additional focus: the tests"));
    let again = agent.flow.request_compaction(&agent.session, &agent.pending, opts).unwrap();
    assert!(matches!(again, FlowAction::Nothing), "{again:?}");
}

#[test]
fn one_compaction_is_under_way_at_a_time_and_one_that_is_dropped_is_over() {
    let mut agent = agent();
    agent.session.append(&Message::user("Read.").into(), 1).unwrap();
    agent.session.append(&Message::assistant("a".repeat(36_000)).into(), 1).unwrap();
    agent.session.append(&Message::user("Go on.").into(), 1).unwrap();
    let first = agent.flow.before_request(&agent.session, &agent.pending).unwrap();
    assert!(matches!(first, FlowAction::Compact(_)), "{first:?}");
    let reason = CompactionReason::Threshold;
    assert_eq!(agent.flow.state(), FlowState::Compacting { reason });
    let (session, pending) = (&agent.session, &agent.pending);
    assert!(matches!(agent.flow.before_request(session, pending).unwrap(), FlowAction::Busy));
    assert!(matches!(agent.flow.after_answer(session, pending).unwrap(), FlowAction::Busy));
    assert!(matches!(
        agent.flow.request_compaction(session, pending, CompactOpts::default()).unwrap(),
        FlowAction::Busy
    ));
    drop(first);
    assert_eq!(agent.flow.state(), FlowState::Ready);
    assert!(matches!(agent.flow.before_request(session, pending).unwrap(), FlowAction::Compact(_)));
}

#[test]
fn a_prompt_typed_while_a_compaction_runs_stays_and_another_compaction_meanwhile_ends_it() {
    let mut agent = agent();
    agent.session.append(&Message::user("Read.").into(), 1).unwrap();
    agent.session.append(&Message::assistant("a".repeat(36_000)).into(), 1).unwrap();
    let started = |agent: &mut Agent| {
        agent.session.append(&Message::user("Go on.").into(), 1).unwrap();
        match agent.flow.before_request(&agent.session, &agent.pending).unwrap() {
            FlowAction::Compact(job) => block_on(job.run(None, &mut agent.hooks)),
            other => panic!("{other:?}"),
        }
    };
    let finished = started(&mut agent);
    agent.session.append(&Message::user("And hurry.").into(), 1).unwrap();
    block_on(agent.flow.finish(finished, &mut agent.session, &mut agent.hooks, 1)).unwrap();
    let last = outline::line(&agent.context().pop().unwrap());
    assert!(last.contains("And hurry."), "{last}");

    agent.session.append(&Message::assistant("a".repeat(36_000)).into(), 1).unwrap();
    let finished = started(&mut agent);
    let settings = settings();
    let foreign = wb_host::compact_session(
        &mut agent.session,
        &settings,
        None,
        &mut agent.hooks,
        CompactOpts::default(),
        1,
    );
    block_on(foreign).unwrap();
    let n_entries = agent.session.tree().nodes().len();
    let late = block_on(agent.flow.finish(finished, &mut agent.session, &mut agent.hooks, 1));
    assert!(matches!(late, Err(HostError::Moved)), "{late:?}");
    assert_eq!(agent.session.tree().nodes().len(), n_entries);
}

#[test]
fn a_compaction_that_is_cancelled_appends_nothing_and_is_told() {
    let mut agent = agent();
    let heard = Arc::new(Heard::default());
    agent.hooks.push(heard.clone());
    agent.session.append(&Message::user("Read.").into(), 1).unwrap();
    agent.session.append(&Message::assistant("a".repeat(36_000)).into(), 1).unwrap();
    agent.session.append(&Message::user("Go on.").into(), 1).unwrap();
    let n_entries = agent.session.tree().nodes().len();
    let FlowAction::Compact(job) = agent.flow.before_request(&agent.session, &agent.pending).unwrap() else {
        panic!("it is over its limit")
    };
    job.cancel_token().cancel();
    let done = block_on(agent.flow.complete(*job, &mut agent.session, None, &mut agent.hooks, 1));
    assert!(done.unwrap_err().is_abort());
    assert_eq!(agent.session.tree().nodes().len(), n_entries);
    assert_eq!(agent.flow.state(), FlowState::Ready);
    assert_eq!(*heard.0.lock().unwrap(), ["Threshold true the summary was cancelled"]);
}

/// Notes the failures that it is told of.
#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<String>>);

impl SessionHooks for Heard {
    fn session_compact_failed<'a>(&'a self, event: &'a SessionCompactFailedEvent) -> HookFuture<'a, ()> {
        let line = format!("{:?} {} {}", event.reason, event.aborted, event.error_message);
        self.0.lock().unwrap().push(line);
        ready(Ok(())).boxed()
    }
}

/// Wants no compactions.
struct Against;

impl SessionHooks for Against {
    fn session_before_compact<'a>(
        &'a self,
        _event: &'a SessionBeforeCompactEvent,
    ) -> HookFuture<'a, BeforeCompact> {
        ready(Ok(BeforeCompact::Cancel)).boxed()
    }
}

#[test]
fn a_hook_that_cancels_is_asked_again_before_the_next_request() {
    let mut agent = agent();
    agent.hooks.push(Arc::new(Against));
    agent.window_tokens = 40_000;
    for _ in 0..11 {
        agent.prompt("Go on.", &[Says::Text(4_000)], None);
    }
    assert_eq!(agent.traced(), "........-.-.-.");
    assert_eq!(agent.flow.state(), FlowState::Ready);
}

#[test]
fn the_reserve_is_half_of_the_window_at_most_and_without_a_window_nothing_is_over() {
    let mut agent = agent();
    agent.prompt("Go on.", &[Says::Text(40)], None);
    let mut limit = |context_window| {
        agent.pending.card.context_window = context_window;
        agent.flow.context_usage(&agent.session, &agent.pending).unwrap().limit_tokens
    };
    assert_eq!([limit(10_000), limit(4_001), limit(4_000), limit(1_000)], [8_000, 2_001, 2_000, 500]);
    assert_eq!(limit(0), u64::MAX);
}

#[test]
fn whatever_the_settings_keep_a_compaction_keeps_half_of_the_limit_at_most() {
    let mut agent = Agent::new(10_000, CompactionSettings { keep_recent_tokens: 100_000, ..settings() });
    for _ in 0..9 {
        agent.prompt("Go on.", &[Says::Text(4_000)], None);
    }
    assert_eq!(agent.traced(), "........t.");
    let kept = agent.context();
    let tokens: u64 = kept[1..kept.len() - 1].iter().map(estimate_message_tokens).sum();
    assert!((2_000..=4_000).contains(&tokens), "{tokens}");
}

#[test]
fn what_a_provider_counts_three_times_is_weighed_on_its_scale_and_not_compacted_each_turn() {
    let mut agent = agent();
    agent.tenths = 30;
    for _ in 0..30 {
        agent.prompt("Go on.", &[Says::Text(1_200)], None);
    }
    assert_eq!(agent.traced(), ".........t.....t.....t.....t.....t.");
    // Where its count is no longer of this context, ours is on its scale.
    let next = agent.flow.request_compaction(&agent.session, &agent.pending, CompactOpts::default()).unwrap();
    agent.act(next, None);
    let context = agent.flow.context_usage(&agent.session, &agent.pending).unwrap();
    let estimate: u64 = agent.context().iter().map(estimate_message_tokens).sum();
    assert!(context.is_estimated && context.tokens > estimate * 2, "{context:?} {estimate}");
}

fn summarizer(kind: u8) -> Option<ScriptedInvoker> {
    match kind {
        0 => None,
        1 => Some(ScriptedInvoker::new([Script::says(SUMMARY)])),
        2 => Some(ScriptedInvoker::new([Script::says(format!("{SUMMARY}\n{}", "word ".repeat(3_000)))])),
        _ => Some(ScriptedInvoker::new([Script::fails("no luck")])),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn always_the_flow_ends_and_what_is_sent_is_valid(
        turns in prop::collection::vec(prop::collection::vec(1_usize..30_000, 0..5), 1..14),
        tenths in 5_u64..40,
        lie in 0_u64..3,
        (kind, is_against) in (0_u8..4, prop::bool::weighted(0.1)),
    ) {
        let mut agent = agent();
        agent.tenths = tenths;
        agent.window_tokens = 10_000 - 3_000 * lie;
        if is_against {
            agent.hooks.push(Arc::new(Against));
        }
        let model = summarizer(kind);
        let model = model.as_ref().map(|model| model as &dyn ModelInvoker);
        for turn in turns {
            let calls = turn.iter().map(|n| Says::Call(*n));
            let script: Vec<Says> = calls.chain([Says::Text(turn.len() * 900 + 20)]).collect();
            let n_before = agent.session.tree().nodes().len();
            agent.prompt("Go on.", &script, model);
            let trace = agent.traced();
            // A request is repeated after a compaction and after shorter results, once each.
            let n_said = trace.matches(['.', 'x']).count();
            prop_assert!(trace.matches('x').count() <= 1 + trace.matches(['o', 's']).count(), "{}", trace);
            prop_assert!(n_said <= 3 * script.len(), "{}", trace);
            prop_assert!(!trace.contains("tt") && !trace.contains("oo") && !trace.contains("xx") && !trace.contains("ss"), "{}", trace);
            prop_assert!(agent.session.tree().nodes().len() > n_before);
        }
    }
}
