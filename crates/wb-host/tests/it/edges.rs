//! Hosts, providers and hooks that behave badly: what is asked of a model stays bounded, and what is sent is valid.

use std::sync::Arc;

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::pending;
use wb_budget::{ModelCard, Usage};
use wb_host::{
    FlowState, HookFuture, HookList, HostError, Next, SessionCompactEvent, SessionFlow, SessionHooks,
    Upcoming,
};
use wb_message::Message;
use wb_session::{CompactionSettings, EntryKind, Logged, Request, Session, StopReason, estimate_tokens};
use wb_summarize::scripted::{Script, ScriptedInvoker};

use crate::agent::assert_sendable;
use crate::support::{SUMMARY, empty_session};

fn say(session: &mut Session, message: Message, usage: Option<Usage>, stop_reason: StopReason) {
    let request = Some(Request { usage, stop_reason, ..Request::default() });
    session.append(&EntryKind::Message(Logged { message, request, is_excluded: false }), 1).unwrap();
}

fn input(tokens: u64) -> Usage {
    Usage { input_tokens: tokens, ..Usage::EMPTY }
}

/// Has `n_turns` turns, of which the provider counts what `count` makes of the estimate; returns how many requests a
/// summarizer got.
fn talk(
    settings: CompactionSettings,
    upcoming: &Upcoming,
    n_turns: u64,
    mut count: impl FnMut(u64) -> u64,
) -> usize {
    let mut session = empty_session();
    let mut flow = SessionFlow::new(settings);
    let model = ScriptedInvoker::new([Script::says(SUMMARY)]);
    for _ in 0..n_turns {
        session.append(&Message::user("Go on. ".repeat(60)).into(), 1).unwrap();
        if let Next::Compact(job) = flow.before_request(&session, upcoming).unwrap() {
            let _ = block_on(flow.complete(*job, &mut session, Some(&model), &mut HookList::default(), 1));
        }
        let context = session.context(session.leaf()).unwrap().messages;
        assert_sendable(&context);
        let counted = count(context.iter().map(estimate_tokens).sum());
        say(&mut session, Message::assistant("a".repeat(2_000)), Some(input(counted)), StopReason::Stop);
        assert!(matches!(flow.after_answer(&session, upcoming).unwrap(), Next::Proceed));
    }
    model.prompts().len()
}

#[test]
fn tokens_that_the_host_does_not_know_of_do_not_make_it_pay_before_each_request() {
    let upcoming = Upcoming { card: ModelCard::with_window(64_000), ..Upcoming::default() };
    // System prompt and tools are over the limit by themselves, and the host said nothing of them.
    let n = talk(CompactionSettings::default(), &upcoming, 200, |estimate| estimate + 50_000);
    assert!(n <= 12, "{n}");
}

#[test]
fn counts_that_add_up_over_all_requests_do_not_make_it_pay_before_each_request() {
    let upcoming = Upcoming { card: ModelCard::with_window(64_000), ..Upcoming::default() };
    let mut sum = 0;
    let n = talk(CompactionSettings::default(), &upcoming, 200, |estimate| {
        sum += estimate;
        sum
    });
    assert!(n <= 12, "{n}");
}

#[test]
fn a_compaction_that_keeps_nothing_is_not_paid_for_before_each_request() {
    let upcoming =
        Upcoming { card: ModelCard::with_window(64_000), overhead_tokens: 60_000, ..Upcoming::default() };
    let settings = CompactionSettings { keep_recent_tokens: 0, ..CompactionSettings::default() };
    let n = talk(settings, &upcoming, 200, |estimate| estimate + 60_000);
    assert!(n <= 30, "{n}");
}

/// A session whose last request was refused.
fn refused(session: &mut Session) {
    let error = Some("prompt is too long: 70000 tokens > 64000 maximum".to_owned());
    let message = Message::Assistant { content: Vec::new(), error_message: error };
    say(session, message, None, StopReason::Error);
}

fn is_stopped(next: &Next) -> bool {
    matches!(next, Next::Stopped(_))
}

#[test]
fn a_refusal_that_could_not_be_compacted_is_not_paid_for_again_however_often_the_host_asks() {
    let mut session = empty_session();
    let mut flow = SessionFlow::new(CompactionSettings { keep_recent_tokens: 1, ..Default::default() });
    let upcoming = Upcoming { card: ModelCard::with_window(64_000), ..Upcoming::default() };
    // So little is said that no summary of it is lighter.
    for message in [Message::user("Hi."), Message::assistant("Hi."), Message::user("x".repeat(9_000))] {
        session.append(&message.into(), 1).unwrap();
    }
    let model = ScriptedInvoker::new([Script::says(SUMMARY)]);
    refused(&mut session);
    for n_asked in 0..6 {
        match flow.after_answer(&session, &upcoming).unwrap() {
            Next::Compact(job) => {
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
    assert!(matches!(flow.after_answer(&session, &upcoming).unwrap(), Next::Compact(_)));
}

/// Never ends what comes after a compaction.
struct HangsAfterwards;

impl SessionHooks for HangsAfterwards {
    fn session_compact<'a>(&'a self, _event: &'a SessionCompactEvent) -> HookFuture<'a, ()> {
        pending().boxed()
    }
}

#[test]
fn a_host_that_does_not_wait_for_a_hook_that_hangs_finds_session_and_flow_as_they_should_be() {
    let mut session = empty_session();
    for message in [Message::user("Read."), Message::assistant("a".repeat(60_000)), Message::user("Go on.")] {
        session.append(&message.into(), 1).unwrap();
    }
    refused(&mut session);
    let mut flow = SessionFlow::new(CompactionSettings { keep_recent_tokens: 100, ..Default::default() });
    let upcoming = Upcoming { card: ModelCard::with_window(64_000), ..Upcoming::default() };
    let Next::Compact(job) = flow.after_answer(&session, &upcoming).unwrap() else {
        panic!("it was refused")
    };
    let mut hooks = HookList::default();
    hooks.push(Arc::new(HangsAfterwards));
    assert!(flow.complete(*job, &mut session, None, &mut hooks, 1).now_or_never().is_none());
    assert_eq!(flow.state(), FlowState::Recovering);
    refused(&mut session);
    assert!(is_stopped(&flow.after_answer(&session, &upcoming).unwrap()), "it was repeated once");
}

#[test]
fn a_prompt_typed_while_a_refused_request_is_compacted_does_not_waste_the_summary() {
    let mut session = empty_session();
    for message in [Message::user("Read."), Message::assistant("a".repeat(60_000)), Message::user("Go on.")] {
        session.append(&message.into(), 1).unwrap();
    }
    refused(&mut session);
    let mut flow = SessionFlow::new(CompactionSettings { keep_recent_tokens: 100, ..Default::default() });
    let upcoming = Upcoming { card: ModelCard::with_window(64_000), ..Upcoming::default() };
    let Next::Compact(job) = flow.after_answer(&session, &upcoming).unwrap() else {
        panic!("it was refused")
    };
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
    assert!(is_stopped(&flow.after_answer(&session, &upcoming).unwrap()), "it was repeated once");
}
