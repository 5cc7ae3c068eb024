//! `AgentContext`: its counts, its compactions, and its invariants.

use std::sync::Arc;

use futures::FutureExt;
use futures::executor::block_on;
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;
use wb_budget::{Family, FittedCounter, ModelCard, Usage, estimate_tokens};
use wb_conductor::{AgentContext, Compactor, CondenseOpts, DigestSource, Unchanged};
use wb_invoke::scripted::{Script, ScriptedInvoker};
use wb_message::{Conversation, Message, Pairing, ToolDescriptor};
use wb_testkit::{laws, script, strategies};

use crate::support::{AUTO, FORCE, good_reply, keep, model, window};

fn long_session() -> Vec<Message> {
    script("s u\"port it\" [u*200 a*500:read(src/a.rs) t*600 a*20]x40 u\"and now?\"")
}

#[test]
fn nothing_is_counted_twice_and_the_tracker_follows_the_change() {
    let mut messages = long_session();
    let mut context = AgentContext::from_compactor(window(12_000));
    assert!(context.is_over(&messages));
    assert_eq!(context.tracker().total_tokens(), estimate_tokens(&messages));
    let before = messages.clone();
    let report = context.compact_locally(&mut messages, &AUTO);
    assert!(report.is_changed() && report.tokens_after <= report.target_tokens.unwrap(), "{report}");
    assert_eq!(report.tokens_after, estimate_tokens(&messages));
    assert_eq!(context.tracker().total_tokens(), estimate_tokens(&messages));
    assert!(!context.is_over(&messages));
    context.undo(&mut messages, report.undo.unwrap());
    assert_eq!(messages, before);
    assert!(context.is_over(&messages));
}

#[test]
fn a_host_that_rewinds_or_edits_is_noticed() {
    let mut messages = long_session();
    let mut context = AgentContext::from_compactor(window(12_000));
    context.observe(&messages);
    messages.truncate(20);
    context.observe(&messages);
    assert_eq!(context.tracker().total_tokens(), estimate_tokens(&messages));
    messages.truncate(10);
    messages.push(Message::user("another way"));
    context.observe(&messages);
    assert_eq!(context.tracker().total_tokens(), estimate_tokens(&messages));
    *messages.last_mut().unwrap() = Message::user("a much longer way than the one before");
    context.observe(&messages);
    assert_eq!(context.tracker().total_tokens(), estimate_tokens(&messages));
}

#[test]
fn an_edit_far_ahead_is_noticed_before_a_compaction() {
    let mut messages = long_session();
    let mut context = AgentContext::from_compactor(window(12_000));
    context.observe(&messages);
    // A host that rewrites a reply removes its call with it: the earlier pairing is void.
    messages.drain(3..5);
    messages.insert(3, Message::user("looked at by hand ".repeat(40)));
    messages.insert(4, Message::assistant("Seen."));
    let expected = estimate_tokens(&messages);
    let report = context.compact_locally(&mut messages, &FORCE);
    assert_eq!(report.tokens_before, expected);
    assert_eq!(report.tokens_after, estimate_tokens(&messages));
    assert!(Pairing::new(&messages).orphans().is_empty());
}

#[tokio::test]
async fn a_digest_that_is_not_enough_is_followed_by_a_compaction() {
    let invoker = model(Script::says(good_reply("port it")));
    let mut context = AgentContext::from_compactor(window(12_000).policy(keep(1_000)).summarizer(invoker));
    let mut messages = long_session();
    assert!(context.start(&messages, &AUTO));
    context.wait().await;
    messages.extend(script("[u*200 a*900 u*20 a*900]x20 u"));
    let before = messages.clone();
    let reports = context.before_request(&mut messages);
    assert_eq!(reports.len(), 2, "{reports:?}");
    assert!(matches!(reports[0].digest, Some(DigestSource::Model { .. })), "{}", reports[0]);
    assert!(!context.is_over(&messages));
    for report in reports.into_iter().rev() {
        context.undo(&mut messages, report.undo.unwrap());
    }
    assert_eq!(messages, before);
}

#[test]
fn the_overhead_is_counted_until_usage_is_reported() {
    let conversation = Conversation {
        system: Some("You are a coding agent. ".repeat(200)),
        turns: Vec::new(),
        tools: Some(vec![ToolDescriptor {
            name: "read".to_owned(),
            description: "Reads a file. ".repeat(100),
            parameters: serde_json::json!({"type": "object"}),
        }]),
    };
    let mut context = AgentContext::from_compactor(window(12_000)).overhead_of(&conversation);
    let messages = vec![Message::user("hello"), Message::assistant("hi")];
    let estimated = context.estimate(&messages);
    assert!(estimated.context_tokens > 1_700 && !estimated.anchored, "{estimated:?}");
    context.after_response(&messages, &Usage { input_tokens: 2_345, output_tokens: 3, ..Usage::EMPTY });
    let counted = context.estimate(&messages);
    assert_eq!((counted.context_tokens, counted.anchored), (2_348, true));
}

#[tokio::test]
async fn a_digest_is_asked_for_while_turns_go_on() {
    let mut messages = long_session();
    let invoker = model(Script::says(good_reply("port it")));
    let mut context = AgentContext::from_compactor(window(12_000).summarizer(invoker.clone()));
    assert!(context.start(&messages, &AUTO));
    assert!(!context.start(&messages, &AUTO), "one at a time");
    messages.extend(script("a:bash t*40 a*40"));
    context.wait().await;
    let report = context.finish(&mut messages).expect("it is there");
    assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }), "{report}");
    assert!(!invoker.requests().is_empty());
    laws::no_loose_ends(&messages);
    assert_eq!(context.tracker().total_tokens(), estimate_tokens(&messages));
    assert!(context.finish(&mut messages).is_none());
}

#[tokio::test]
async fn a_transcript_changed_meanwhile_is_not_compacted() {
    let mut messages = long_session();
    let mut context =
        AgentContext::from_compactor(window(12_000).summarizer(model(Script::says(good_reply("x")))));
    assert!(context.start(&messages, &AUTO));
    messages[3] = Message::user("something else");
    let changed = messages.clone();
    context.wait().await;
    let report = context.finish(&mut messages).unwrap();
    assert_eq!(report.unchanged, Some(Unchanged::PrefixChanged));
    assert_eq!(messages, changed);
}

#[test]
fn files_can_be_bounded_and_switched_off() {
    let n_restored = |settings: Compactor| {
        let mut messages =
            script("u [a:read(a.rs) t*300 a:read(b.rs) t*300 a:read(c.rs) t*300]x3 [u*300 a*300]x9 u");
        let report = AgentContext::from_compactor(settings).compact_locally(&mut messages, &FORCE);
        report.restored.len()
    };
    assert_eq!(n_restored(window(60_000)), 3);
    assert_eq!(n_restored(window(60_000).max_restored(1)), 1);
    assert_eq!(n_restored(window(60_000).max_restored(0)), 0);
}

#[test]
fn a_cancelled_compaction_changes_nothing() {
    let cancel = CancellationToken::new();
    cancel.cancel();
    let opts = CondenseOpts { cancel: Some(cancel), ..FORCE };
    let settings = window(12_000);
    let mut messages = long_session();
    let reports = [
        AgentContext::from_compactor(settings.clone()).compact_locally(&mut messages, &opts),
        block_on(AgentContext::from_compactor(settings.clone()).compact(&mut messages, &opts)),
        wb_conductor::compact_locally(&mut messages, &settings, &opts),
        block_on(wb_conductor::compact_in_place(&mut messages, &settings, &opts)),
    ];
    for report in reports {
        assert_eq!(report.unchanged, Some(Unchanged::Cancelled), "{report}");
    }
    assert_eq!(messages, long_session());
}

/// A drop or a cancel at any time of a request leaves everything unchanged.
#[test]
fn a_drop_at_every_await_changes_nothing() {
    let before = long_session();
    for script in [Script::Hang, Script::says(good_reply("x"))] {
        let invoker = Arc::new(ScriptedInvoker::new([script]));
        for n_polls in 0..4 {
            let mut messages = before.clone();
            let mut context = AgentContext::from_compactor(window(12_000).summarizer(invoker.clone()));
            let mut running = Box::pin(context.compact(&mut messages, &AUTO));
            let done = (0..n_polls).any(|_| running.as_mut().now_or_never().is_some());
            drop(running);
            if !done {
                assert_eq!(messages, before, "after {n_polls} polls");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(wb_testkit::depth::cases(100)))]

    /// All gates agree: the tracker's, the plan's, and that of a transcript read again.
    #[test]
    fn all_gates_agree(
        messages in strategies::transcript(),
        context_window in 3_000_u64..20_000,
        counted in proptest::option::of(1_u64..20_000),
    ) {
        let settings = window(context_window).policy(keep(500));
        let mut context = AgentContext::from_compactor(settings.clone());
        let answer = messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
        if let (Some(at), Some(input_tokens)) = (answer, counted) {
            context.after_response(&messages[..=at], &Usage { input_tokens, ..Usage::EMPTY });
        }
        let is_over = context.is_over(&messages);
        let is_anchored = context.tracker().is_anchored();
        let mut copy = messages.clone();
        let report = context.compact_locally(&mut copy, &AUTO);
        prop_assert_eq!(report.unchanged == Some(Unchanged::UnderBudget), !is_over, "{}", report);
        if !is_anchored {
            let card = ModelCard::with_window(context_window);
            prop_assert_eq!(wb_budget::is_over_budget(&messages, &card, &keep(500)), is_over);
        }
        laws::pairs_intact(&messages, &copy);
    }

    /// A growing transcript is never sent over its limit, and a tracker equals a fresh count.
    #[test]
    fn no_request_is_over_its_limit_by_the_default_count(
        messages in strategies::valid_transcript_with_steps(20..=60),
        context_window in 6_000_u64..12_000,
    ) {
        let mut context = AgentContext::from_compactor(window(context_window).policy(keep(500)));
        let mut sent = Vec::new();
        for message in messages {
            let is_open = Pairing::new(&sent).in_flight().is_some();
            if matches!(message, Message::Assistant { .. }) && !is_open {
                let reports = context.before_request(&mut sent);
                let limit = context.budget().unwrap().limit;
                let irreducible = reports.last().is_some_and(|report| report.irreducible.is_some());
                prop_assert!(estimate_tokens(&sent) <= limit || irreducible);
            }
            sent.push(message);
        }
        context.observe(&sent);
        prop_assert_eq!(context.tracker().total_tokens(), estimate_tokens(&sent));
    }
}

#[test]
fn an_open_breaker_prevents_the_request() {
    let invoker = model(Script::fails("429"));
    let mut context =
        AgentContext::from_compactor(window(8_000).policy(keep(1_000)).summarizer(invoker.clone()));
    for _ in 0..3 {
        let mut messages = script("[u*300 a*300]x10 u\"now\"");
        block_on(context.compact(&mut messages, &CondenseOpts::default()));
    }
    assert_eq!(invoker.requests().len(), 2);
}

#[test]
fn an_estimate_adds_its_error_until_a_provider_counts() {
    let counter = Arc::new(FittedCounter::new(Family::Anthropic));
    let mut context = AgentContext::from_compactor(window(12_000).counter(counter));
    let mut messages = script("u a");
    let limit = context.budget().unwrap().limit;
    while context.tracker().context_tokens() * 1146 / 1000 <= limit {
        assert!(!context.is_over(&messages));
        messages.extend(script("u*40 a*40"));
        context.observe(&messages);
    }
    let tokens = context.tracker().context_tokens();
    assert!(tokens < limit && context.is_over(&messages), "{tokens} of {limit}");

    let before = messages.clone();
    let report = context.compact_locally(&mut messages, &AUTO);
    assert!(report.is_changed() && !context.is_over(&messages), "{report}");
    assert_eq!((report.context_tokens, report.tokens_before), (tokens, tokens), "figures are the estimate");
    let most = report.at_most_tokens.unwrap();
    assert!(
        most > limit && report.to_string().contains(&format!("; estimated, at most {most} tokens")),
        "{report}"
    );

    context.undo(&mut messages, report.undo.unwrap());
    messages.extend(script("a"));
    assert_eq!(messages.len(), before.len() + 1);
    context.observe(&messages);
    let mut anchored =
        AgentContext::from_compactor(window(12_000).counter(Arc::new(FittedCounter::new(Family::Anthropic))));
    let usage = Usage { input_tokens: tokens, output_tokens: 4, ..Usage::EMPTY };
    anchored.anchor(&messages, &usage).unwrap();
    assert!(!anchored.is_over(&messages), "what a provider counted is not doubted");
    assert_eq!(anchored.compact_locally(&mut messages, &FORCE).at_most_tokens, None);
}
