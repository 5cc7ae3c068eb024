//! Hosts, providers and hooks that behave badly: what is asked of a model stays bounded, and what is sent is valid.

use std::sync::Arc;

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::{pending, ready};
use proptest::prelude::*;
use wb_budget::{ModelCard, Usage, estimate_message_tokens};
use wb_host::{
    BeforeCompact, CompactOpts, CompactionJob, FinishedCompaction, FlowAction, FlowState, HookCompaction,
    HookFuture, HookList, HostError, PendingRequest, SessionBeforeCompactEvent, SessionCompactEvent,
    SessionFlow, SessionHooks, SettingsFileError, SummarySource, compact_session, read_settings,
};
use wb_invoke::ModelInvoker;
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::{Block, Message};
use wb_session::{Compaction, CompactionSettings, EntryKind, Logged, Session, StopReason};

use crate::agent::assert_sendable;
use crate::support::{SUMMARY, TALK, answer, assert_paired, context, empty_session, session_of};

fn input(tokens: u64) -> Usage {
    Usage { input_tokens: tokens, ..Usage::EMPTY }
}

/// Has `n_turns` turns, of which the provider counts what `count` makes of the estimate; returns how many requests a
/// summarizer got.
fn talk(
    settings: CompactionSettings,
    pending: &PendingRequest,
    n_turns: u64,
    mut count: impl FnMut(u64) -> u64,
) -> usize {
    let mut session = empty_session();
    let mut flow = SessionFlow::new(settings);
    let model = ScriptedInvoker::new([Script::says(SUMMARY)]);
    for _ in 0..n_turns {
        session.append(&Message::user("Go on. ".repeat(60)).into(), 1).unwrap();
        if let FlowAction::Compact(job) = flow.before_request(&session, pending).unwrap() {
            let _ = block_on(flow.complete(*job, &mut session, Some(&model), &mut HookList::default(), 1));
        }
        let context = session.context(session.leaf()).unwrap().messages;
        assert_sendable(&context);
        let counted = count(context.iter().map(estimate_message_tokens).sum());
        answer(&mut session, Message::assistant("a".repeat(2_000)), Some(input(counted)), StopReason::Stop);
        assert!(matches!(flow.after_answer(&session, pending).unwrap(), FlowAction::Proceed));
    }
    model.prompts().len()
}

#[test]
fn tokens_that_the_host_does_not_know_of_do_not_make_it_pay_before_each_request() {
    let pending = PendingRequest { card: ModelCard::with_window(64_000), ..PendingRequest::default() };
    // System prompt and tools are over the limit by themselves, and the host said nothing of them.
    let n = talk(CompactionSettings::default(), &pending, 200, |estimate| estimate + 50_000);
    assert!(n <= 14, "{n}");
}

#[test]
fn counts_that_add_up_over_all_requests_do_not_make_it_pay_before_each_request() {
    let pending = PendingRequest { card: ModelCard::with_window(64_000), ..PendingRequest::default() };
    let mut sum = 0;
    let n = talk(CompactionSettings::default(), &pending, 200, |estimate| {
        sum += estimate;
        sum
    });
    assert!(n <= 12, "{n}");
}

#[test]
fn a_compaction_that_keeps_nothing_is_not_paid_for_before_each_request() {
    let pending = PendingRequest {
        card: ModelCard::with_window(64_000),
        overhead_tokens: 60_000,
        ..PendingRequest::default()
    };
    let settings = CompactionSettings { keep_recent_tokens: 0, ..CompactionSettings::default() };
    let n = talk(settings, &pending, 200, |estimate| estimate + 60_000);
    assert!(n <= 30, "{n}");
}

/// A session whose last request was refused.
fn refused(session: &mut Session) {
    let error = Some("prompt is too long: 70000 tokens > 64000 maximum".to_owned());
    let message = Message::Assistant { content: Vec::new(), error_message: error };
    answer(session, message, None, StopReason::Error);
}

fn is_stopped(next: &FlowAction) -> bool {
    matches!(next, FlowAction::Stopped(_))
}

#[test]
fn a_refusal_that_could_not_be_compacted_is_not_paid_for_again_however_often_the_host_asks() {
    let mut session = empty_session();
    let mut flow = SessionFlow::new(CompactionSettings { keep_recent_tokens: 1, ..Default::default() });
    let pending = PendingRequest { card: ModelCard::with_window(64_000), ..PendingRequest::default() };
    // So little is said that no summary of it is lighter.
    for message in [Message::user("Hi."), Message::assistant("Hi."), Message::user("x".repeat(9_000))] {
        session.append(&message.into(), 1).unwrap();
    }
    let model = ScriptedInvoker::new([Script::says(SUMMARY)]);
    refused(&mut session);
    for n_asked in 0..6 {
        match flow.after_answer(&session, &pending).unwrap() {
            FlowAction::Compact(job) => {
                let mut hooks = HookList::default();
                let done = flow.complete(*job, &mut session, Some(&model), &mut hooks, 1);
                assert!(matches!(block_on(done), Err(HostError::Compact(_))));
            }
            next => assert!(n_asked > 0 && is_stopped(&next), "{next:?}"),
        }
        if n_asked % 2 == 1 {
            refused(&mut session);
        }
    }
    assert_eq!(model.prompts().len(), 1);
    // The user speaks: another request.
    session.append(&Message::user("y".repeat(9_000)).into(), 1).unwrap();
    refused(&mut session);
    assert!(matches!(flow.after_answer(&session, &pending).unwrap(), FlowAction::Compact(_)));
}

/// Never ends what comes after a compaction.
struct HangsAfterwards;

impl SessionHooks for HangsAfterwards {
    fn session_compact<'a>(&'a self, _event: &'a SessionCompactEvent) -> HookFuture<'a, ()> {
        pending().boxed()
    }
}

/// A talk whose last request was refused, and the compaction that is to be run.
fn refused_talk() -> (Session, SessionFlow, PendingRequest, Box<CompactionJob>) {
    let mut session = empty_session();
    for message in [Message::user("Read."), Message::assistant("a".repeat(60_000)), Message::user("Go on.")] {
        session.append(&message.into(), 1).unwrap();
    }
    refused(&mut session);
    let mut flow = SessionFlow::new(CompactionSettings { keep_recent_tokens: 100, ..Default::default() });
    let pending = PendingRequest { card: ModelCard::with_window(64_000), ..PendingRequest::default() };
    let FlowAction::Compact(job) = flow.after_answer(&session, &pending).unwrap() else {
        panic!("it was refused")
    };
    (session, flow, pending, job)
}

#[test]
fn a_host_that_does_not_wait_for_a_hook_that_hangs_finds_session_and_flow_as_they_should_be() {
    let (mut session, mut flow, pending, job) = refused_talk();
    let mut hooks = HookList::default();
    hooks.push(Arc::new(HangsAfterwards));
    assert!(flow.complete(*job, &mut session, None, &mut hooks, 1).now_or_never().is_none());
    assert_eq!(flow.state(), FlowState::Recovering);
    refused(&mut session);
    assert!(is_stopped(&flow.after_answer(&session, &pending).unwrap()), "it was repeated once");
}

#[test]
fn a_prompt_typed_while_a_refused_request_is_compacted_does_not_waste_the_summary() {
    let (mut session, mut flow, pending, job) = refused_talk();
    let mut hooks = HookList::default();
    let finished = block_on(job.run(None, &mut hooks));
    session.append(&Message::user("And hurry.").into(), 1).unwrap();
    let done = block_on(flow.finish(finished, &mut session, &mut hooks, 1)).unwrap();
    assert!(done.will_retry);
    let context = session.context(session.leaf()).unwrap().messages;
    assert_sendable(&context);
    let texts: Vec<String> = context.iter().map(wb_message::outline::line).collect();
    assert!(texts.len() == 3 && texts[1].contains("Go on.") && texts[2].contains("And hurry."), "{texts:?}");
    refused(&mut session);
    assert!(is_stopped(&flow.after_answer(&session, &pending).unwrap()), "it was repeated once");
}

#[test]
fn what_answers_thought_before_they_failed_is_neither_weighed_nor_kept_instead_of_the_prompt() {
    let mut session = empty_session();
    session.append(&Message::user("Read.").into(), 1).unwrap();
    session.append(&Message::assistant("a".repeat(40_000)).into(), 1).unwrap();
    session.append(&Message::user("Now the hard part.").into(), 1).unwrap();
    let mut flow = SessionFlow::new(CompactionSettings::default());
    let pending = PendingRequest { card: ModelCard::with_window(64_000), ..PendingRequest::default() };
    let before = flow.context_usage(&session, &pending).unwrap().tokens;
    for _ in 0..3 {
        let content = vec![Block::Thinking { text: "t".repeat(100_000), signature: None }];
        let error = Some("500 internal server error".to_owned());
        answer(&mut session, Message::Assistant { content, error_message: error }, None, StopReason::Error);
    }
    assert_eq!(flow.context_usage(&session, &pending).unwrap().tokens, before);
    assert!(matches!(flow.before_request(&session, &pending).unwrap(), FlowAction::Proceed));
    let next = flow.request_compaction(&session, &pending, CompactOpts::default()).unwrap();
    let FlowAction::Compact(job) = next else { panic!("{next:?}") };
    block_on(flow.complete(*job, &mut session, None, &mut HookList::default(), 1)).unwrap();
    let last = session.context(session.leaf()).unwrap().messages.pop().unwrap();
    assert!(wb_message::outline::line(&last).contains("the hard part"));
}

/// Gives a summary of ten million characters.
struct Verbose;

impl SessionHooks for Verbose {
    fn session_before_compact<'a>(
        &'a self,
        event: &'a SessionBeforeCompactEvent,
    ) -> HookFuture<'a, BeforeCompact> {
        let made = HookCompaction {
            summary: "word ".repeat(2_000_000),
            first_kept_entry_id: event.preparation.first_kept_entry_id.clone(),
            tokens_before: 0,
            details: None,
        };
        ready(Ok(BeforeCompact::Replace(made))).boxed()
    }
}

#[test]
fn a_summary_of_a_hook_that_is_heavier_than_the_context_is_passed_over() {
    let (mut session, _) = session_of(TALK);
    let mut hooks = HookList::default();
    hooks.push(Arc::new(Verbose));
    let settings = CompactionSettings { keep_recent_tokens: 5, ..CompactionSettings::default() };
    let done = compact_session(&mut session, &settings, None, &mut hooks, CompactOpts::default(), 1);
    assert_ne!(block_on(done).unwrap().outcome.source, SummarySource::Hook);
    assert_eq!(hooks.take_faults()[0].what, "the summary is heavier than what it stands for");
}

#[test]
fn an_earlier_summary_of_ten_megabytes_becomes_one_that_fits() {
    let (mut session, ids) = session_of(TALK);
    let summary = format!("## Goal\n{}", "- a line of it\n".repeat(700_000));
    let first_kept_entry_id = Some(ids[4].clone());
    let foreign = Compaction { summary, first_kept_entry_id, ..Compaction::default() };
    session.append(&EntryKind::Compaction(foreign), 1).unwrap();
    session.append(&Message::user("Go on.").into(), 1).unwrap();
    let mut flow = SessionFlow::new(CompactionSettings { keep_recent_tokens: 5, ..Default::default() });
    let pending = PendingRequest { card: ModelCard::with_window(64_000), ..PendingRequest::default() };
    let FlowAction::Compact(job) = flow.before_request(&session, &pending).unwrap() else {
        panic!("it is over")
    };
    let done = block_on(flow.complete(*job, &mut session, None, &mut HookList::default(), 1)).unwrap();
    assert!(!done.context.is_over(), "{:?}", done.context);
}

/// What happens to a session whose host keeps to no order.
#[derive(Clone, Debug)]
enum Event {
    Prompt(usize),
    /// An answer of so many characters, for which the provider counts so many tokens and so many tenths of the
    /// estimate; 0 where it counts nothing.
    Answer(usize, u64, u64),
    /// A call, with a result of so many characters or none.
    Call(Option<usize>),
    Refused,
    Failed(usize),
    Note(usize),
    Shell(bool),
    Undo,
    Branch(usize),
    Window(u64),
    Settings(CompactionSettings),
    /// What is queued, and what is sent beside the log.
    Beside(u64, u64),
    /// The next compaction is run and another event comes before it is appended.
    Slow,
}

fn size() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(1),
        1_u64..300,
        1_000_u64..100_000,
        Just(u64::MAX),
        Just(u64::MAX / 2),
        Just(1 << 60)
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let settings =
        (any::<bool>(), size(), size()).prop_map(|(enabled, reserve_tokens, keep_recent_tokens)| {
            Event::Settings(CompactionSettings { enabled, reserve_tokens, keep_recent_tokens })
        });
    prop_oneof![
        6 => (0_usize..20_000).prop_map(Event::Prompt),
        6 => (0_usize..20_000, size(), 0_u64..100).prop_map(|(n, tokens, tenths)| Event::Answer(n, tokens, tenths)),
        3 => prop::option::of(0_usize..40_000).prop_map(Event::Call),
        3 => Just(Event::Refused),
        1 => (0_usize..20_000).prop_map(Event::Failed),
        1 => (0_usize..4_000).prop_map(Event::Note),
        1 => any::<bool>().prop_map(Event::Shell),
        1 => Just(Event::Undo),
        1 => any::<usize>().prop_map(Event::Branch),
        1 => size().prop_map(Event::Window),
        1 => settings,
        1 => (size(), size()).prop_map(|(queued, beside)| Event::Beside(queued, beside)),
        1 => Just(Event::Slow),
    ]
}

struct Disorder {
    session: Session,
    flow: SessionFlow,
    pending: PendingRequest,
    n_calls: usize,
    waits: Option<FinishedCompaction>,
    is_slow: bool,
    n_shortened: usize,
}

impl Disorder {
    fn happen(&mut self, event: &Event) {
        let session = &mut self.session;
        let mut add = |kind: &EntryKind| drop(session.append(kind, 1).unwrap());
        match event {
            Event::Prompt(n) => add(&Message::user("p".repeat(*n)).into()),
            Event::Answer(n, tokens, tenths) => {
                let context = session.context(session.leaf()).unwrap().messages;
                let estimate: u64 = context.iter().map(estimate_message_tokens).sum();
                let usage = input(tokens.saturating_add(estimate * tenths / 10));
                answer(session, Message::assistant("a".repeat(*n)), Some(usage), StopReason::Stop);
            }
            Event::Call(n) => {
                self.n_calls += 1;
                let id = format!("call-{}", self.n_calls % 7);
                let content = vec![Block::call(&*id, "read", serde_json::json!({"path": "a.rs"}))];
                add(&Message::Assistant { content, error_message: None }.into());
                if let Some(n) = n {
                    add(&Message::tool_result(id, "read", "r".repeat(*n)).into());
                }
            }
            Event::Refused => refused(session),
            Event::Failed(n) => {
                let content =
                    vec![Block::Thinking { text: "t".repeat(*n), signature: None }, Block::text("Hm")];
                let error = Some("500".to_owned());
                answer(
                    session,
                    Message::Assistant { content, error_message: error },
                    None,
                    StopReason::Error,
                );
            }
            Event::Note(n) => add(&Message::custom("note", "n".repeat(*n)).into()),
            Event::Shell(is_excluded) => {
                let message =
                    Message::BashExecution { command: "ls".into(), output: "x".into(), exit_code: None };
                add(&EntryKind::Message(Logged { message, request: None, is_excluded: *is_excluded }));
            }
            Event::Undo => drop(session.undo_compaction(1)),
            Event::Branch(at) => {
                let ids: Vec<_> = session.tree().nodes().map(|node| node.id).collect();
                if !ids.is_empty() {
                    session.branch(&ids[at % ids.len()]).unwrap();
                }
            }
            Event::Window(tokens) => self.pending.card.context_window = *tokens,
            Event::Settings(settings) => self.flow.set_settings(*settings),
            Event::Beside(queued, beside) => {
                (self.pending.queued_tokens, self.pending.overhead_tokens) = (*queued, *beside);
            }
            Event::Slow => self.is_slow = true,
        }
    }

    /// Asks the flow again and again and does what it says; returns how many compactions were run.
    fn settle(&mut self, model: Option<&dyn ModelInvoker>) -> usize {
        let mut hooks = HookList::default();
        if let Some(finished) = self.waits.take() {
            let _ = block_on(self.flow.finish(finished, &mut self.session, &mut hooks, 1));
        }
        let mut n_run = 0;
        for n_asked in 0..8 {
            let next = match n_asked % 2 {
                0 => self.flow.after_answer(&self.session, &self.pending),
                _ => self.flow.before_request(&self.session, &self.pending),
            };
            let next = next.unwrap();
            if let FlowAction::Shorten(shortening) = next {
                // It costs nothing, but must come to an end too.
                self.n_shortened += 1;
                let _ = self.flow.shorten(*shortening, &mut self.session, &self.pending, 1);
            } else if let FlowAction::Compact(job) = next {
                n_run += 1;
                let finished = block_on(job.run(model, &mut hooks));
                if std::mem::take(&mut self.is_slow) {
                    self.waits = Some(finished);
                    return n_run;
                }
                let _ = block_on(self.flow.finish(finished, &mut self.session, &mut hooks, 1));
            }
        }
        n_run
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn whatever_happens_in_whatever_order_a_host_that_keeps_asking_pays_for_few_compactions(
        events in prop::collection::vec(event(), 1..40),
        kind in 0_u8..3,
    ) {
        let model = match kind {
            0 => None,
            1 => Some(ScriptedInvoker::new([Script::says(SUMMARY)])),
            _ => Some(ScriptedInvoker::new([Script::says(format!("{SUMMARY}{}", "word ".repeat(4_000)))])),
        };
        let model = model.as_ref().map(|model| model as &dyn ModelInvoker);
        let settings = CompactionSettings { keep_recent_tokens: 2_000, ..CompactionSettings::default() };
        let mut host = Disorder {
            session: empty_session(),
            flow: SessionFlow::new(settings),
            pending: PendingRequest { card: ModelCard::with_window(20_000), ..PendingRequest::default() },
            n_calls: 0,
            waits: None,
            is_slow: false,
            n_shortened: 0,
        };
        for event in &events {
            host.happen(event);
            assert_paired(&context(&host.session));
            let n_run = host.settle(model);
            prop_assert!(n_run <= 2, "{} after {:?}", n_run, event);
            prop_assert!(std::mem::take(&mut host.n_shortened) <= 2, "after {:?}", event);
            assert_paired(&context(&host.session));
        }
        // Its requests are refused on and on, and nobody says anything.
        let mut n_run = 0;
        for _ in 0..15 {
            host.happen(&Event::Refused);
            n_run += host.settle(model);
        }
        prop_assert!(n_run <= 3 && host.n_shortened <= 3, "{} {}", n_run, host.n_shortened);
    }
}

#[expect(clippy::disallowed_methods, reason = "a test is at the edge")]
fn write(path: &std::path::Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[test]
fn settings_of_a_hundred_thousand_brackets_and_a_link_to_itself_are_refused() {
    let folder = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let deep = folder.join("edges-deep.json");
    write(&deep, &format!("{{\"compaction\":{}", "[".repeat(100_000)));
    let read = read_settings(Some(&deep), None);
    assert!(matches!(read, Err(SettingsFileError::NotJson { line: 1, .. })), "{read:?}");
    #[cfg(unix)]
    {
        let link = folder.join("edges-loop.json");
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&link, &link).unwrap();
        let read = read_settings(None, Some(&link));
        assert!(matches!(read, Err(SettingsFileError::Unreadable { .. })), "{read:?}");
    }
}

#[test]
fn of_a_setting_that_stands_twice_the_last_counts_and_odd_keys_and_numbers_do_no_harm() {
    let path = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("edges-odd.json");
    let read = |text: &str| {
        write(&path, text);
        read_settings(Some(&path), None)
    };
    let twice =
        r#"{"__proto__": 1, "compaction": {"__proto__": {}, "reserveTokens": 1, "reserveTokens": 2}}"#;
    let twice = read(twice).unwrap();
    assert_eq!((twice.settings.compaction.reserve_tokens, twice.notes.len()), (2, 1));
    for number in ["1e3", "16384.0", "-0", "-1", "1e400", "18446744073709551616", "\"1\"", "null"] {
        let read = read(&format!(r#"{{"compaction": {{"keepRecentTokens": {number}}}}}"#));
        assert!(read.is_err(), "{number}: {read:?}");
    }
}
