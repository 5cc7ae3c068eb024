//! The tracker against the naive walk over whole transcripts.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use wb_budget::{
    AUTO_CONDENSE_POLICY, BudgetPolicy, ContextTracker, ModelCard, TokenHeuristic, budget_limit,
    estimate_message_tokens, is_over_budget, plan_cut, prefix_tokens,
};
use wb_message::{Edit, Message, Pairing, Patch};
use wb_testkit::{script, strategies};

/// One change that a host makes; indices are taken modulo what there is.
#[derive(Clone, Debug)]
enum Op {
    /// Appends the pool's next messages in order, so that pairs arise.
    PushNext(usize),
    PushAny(Index),
    Pop,
    Truncate(Index),
    Replace(Index, Index),
    /// Replaces a message by itself with a body of another size.
    Resize(Index),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (1..12_usize).prop_map(Op::PushNext),
        1 => any::<Index>().prop_map(Op::PushAny),
        2 => Just(Op::Pop),
        1 => any::<Index>().prop_map(Op::Truncate),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(at, with)| Op::Replace(at, with)),
        2 => any::<Index>().prop_map(Op::Resize),
    ]
}

fn resized(message: &Message) -> Message {
    let mut message = message.clone();
    match &mut message {
        Message::ToolResult { content, .. } => *content = vec![wb_message::Block::text("x".repeat(999))],
        Message::BashExecution { output, .. } => output.clear(),
        _ => {}
    }
    message
}

/// Applies the change to both; `next` is the pool's next message.
fn apply(
    op: &Op,
    pool: &[Message],
    next: &mut usize,
    messages: &mut Vec<Message>,
    tracker: &mut ContextTracker,
) {
    let push = |message: &Message, messages: &mut Vec<Message>, tracker: &mut ContextTracker| {
        assert_eq!(tracker.push(message), messages.len());
        messages.push(message.clone());
    };
    match op {
        Op::PushNext(n) => {
            for _ in 0..*n {
                push(&pool[*next % pool.len()], messages, tracker);
                *next += 1;
            }
        }
        Op::PushAny(at) => push(at.get(pool), messages, tracker),
        Op::Pop => assert_eq!(tracker.pop(), messages.pop().as_ref().map(estimate_message_tokens)),
        Op::Truncate(to) => {
            let n = to.index(messages.len() + 1);
            messages.truncate(n);
            tracker.truncate(n);
        }
        Op::Replace(at, with) if !messages.is_empty() => {
            let (at, with) = (at.index(messages.len()), with.get(pool));
            let old = std::mem::replace(&mut messages[at], with.clone());
            assert_eq!(tracker.replace(at, with), Some(estimate_message_tokens(&old)));
        }
        Op::Resize(at) if !messages.is_empty() => {
            let at = at.index(messages.len());
            messages[at] = resized(&messages[at]);
            tracker.replace(at, &messages[at]);
        }
        Op::Replace(..) | Op::Resize(_) => assert_eq!(tracker.replace(0, &pool[0]), None),
    }
}

#[track_caller]
fn assert_agrees(tracker: &ContextTracker, messages: &[Message]) {
    let (prefix, pairing) = (prefix_tokens(messages), Pairing::new(messages));
    let total = prefix[messages.len()];
    assert_eq!((tracker.len(), tracker.total_tokens()), (messages.len(), total));
    let mut copy = tracker.clone();
    let view = copy.view(messages);
    for (at, sum) in prefix.iter().enumerate() {
        assert_eq!(tracker.prefix_tokens(at), *sum);
        assert_eq!(view.pairing.is_legal(at), pairing.is_legal(at), "legal {at}");
    }
    let edges = prefix.iter().flat_map(|&sum| [total - sum, (total - sum).saturating_add(1)]);
    for tail_tokens in edges.chain([0, 1, 50, 6000, u64::MAX]) {
        assert_eq!(tracker.cut(tail_tokens), plan_cut(&prefix, &pairing, tail_tokens), "tail {tail_tokens}");
    }
}

proptest! {
    #[test]
    fn the_tracker_agrees_with_the_naive_walk_after_any_changes(
        pool in strategies::transcript(),
        ops in vec(op(), 0..24),
    ) {
        let pool = if pool.is_empty() { script("u") } else { pool };
        let (mut next, mut messages, mut tracker) = (0, Vec::new(), ContextTracker::new());
        for op in &ops {
            apply(op, &pool, &mut next, &mut messages, &mut tracker);
            assert_agrees(&tracker, &messages);
        }
    }

    #[test]
    fn popping_passes_through_every_earlier_state(messages in strategies::transcript()) {
        let mut tracker = ContextTracker::from_messages(&messages);
        for n in (0..=messages.len()).rev() {
            assert_agrees(&tracker, &messages[..n]);
            tracker.pop();
        }
    }

    #[test]
    fn the_tracker_agrees_with_the_transcript_after_a_patch((mut messages, patch) in strategies::patched()) {
        let mut tracker = ContextTracker::from_messages(&messages);
        if patch.clone().apply(&mut messages).is_ok() {
            tracker.apply(&patch, &messages);
            assert_agrees(&tracker, &messages);
            messages.pop();
            tracker.pop();
            assert_agrees(&tracker, &messages);
        }
    }

    #[test]
    fn a_patch_for_another_transcript_rebuilds_the_tracker(
        messages in strategies::transcript(),
        (_, patch) in strategies::patched(),
        after in strategies::transcript(),
    ) {
        let mut tracker = ContextTracker::from_messages(&messages);
        let n_after = patch.origins(messages.len()).len();
        tracker.apply(&patch, &after);
        assert_eq!(tracker.len(), after.len());
        if n_after != after.len() {
            assert_agrees(&tracker, &after);
        }
    }

    #[test]
    fn without_usage_the_gate_equals_that_of_the_transcript(messages in strategies::transcript()) {
        let tracker = ContextTracker::from_messages(&messages);
        let total = tracker.total_tokens();
        for context_window in [0, 1, total, total + 1, 2 * total + 4096] {
            let (card, policy) = (ModelCard::with_window(context_window), AUTO_CONDENSE_POLICY);
            let is_over = tracker.context_tokens() as f64 > budget_limit(&card, &policy);
            assert_eq!(is_over, is_over_budget(&messages, &card, &policy));
        }
    }
}

/// Checks the cut of a scripted transcript for a tail in tokens.
#[track_caller]
fn check_cut(line: &str, tail_tokens: u64, cut: usize) {
    let messages = script(line);
    assert_eq!(ContextTracker::from_messages(&messages).cut(tail_tokens), cut, "{line}");
    assert_agrees(&ContextTracker::from_messages(&messages), &messages);
}

#[test]
fn a_cut_snaps_forward_over_results() {
    check_cut("u*400 a*400 a:read t*40 u*40", 100, 4);
    check_cut("u*400 a:read#a,read#b t#a u*40 t#b*20 a*40 u*40", 150, 5);
}

#[test]
fn a_cut_that_would_keep_nothing_snaps_backward() {
    check_cut("u*400 a*400 u*40 a:read t*9000", 6000, 3);
    check_cut("u*400 a*400 u*40 a:read,read t*9000 u*40", 60, 3);
    check_cut("a:read t*9000", 100, 0);
}

#[test]
fn adjacent_runs_of_cuts_are_one() {
    check_cut("u*400 a:read#x t#x t#x*900 t#x*900 u*40", 1000, 5);
    check_cut("u*400 a:read#x a:read#y t#y*500 t#x*500 t#orphan*500", 600, 1);
}

#[test]
fn replacing_a_reply_changes_the_calls_in_flight() {
    let mut messages = script("u a:read a u");
    let mut tracker = ContextTracker::from_messages(&messages);
    messages[2] = Message::user("the model's last word was the call");
    tracker.replace(2, &messages[2]);
    assert_agrees(&tracker, &messages);
    assert_eq!(tracker.cut(0), 1);
}

#[test]
fn an_empty_tracker_has_nothing_to_cut_pop_or_replace() {
    let mut tracker = ContextTracker::new();
    assert!(tracker.is_empty());
    assert_eq!((tracker.cut(0), tracker.pop(), tracker.replace(0, &Message::user("x"))), (0, None, None));
    tracker.truncate(5);
    assert_eq!(tracker.context_tokens(), 0);
}

#[test]
fn another_counter_weighs_each_message() {
    let heuristic = TokenHeuristic { chars_per_token: 1.0, ..TokenHeuristic::DEFAULT };
    let mut tracker = ContextTracker::with_counter(Arc::new(heuristic));
    tracker.extend(&script("u*10 a*10"));
    assert_eq!(
        tracker.total_tokens(),
        script("u*10 a*10").iter().map(|m| heuristic.message_tokens(m)).sum::<u64>()
    );
}

#[test]
fn the_hosts_overhead_counts_in_the_gate() {
    let policy = BudgetPolicy { trigger_ratio: 1.0, keep_recent: 0, reserve_tokens: None };
    let tracker = ContextTracker::from_messages(&script("u*90")).with_overhead_tokens(1000);
    assert_eq!(tracker.context_tokens(), 1000 + tracker.total_tokens());
    assert!(tracker.context_tokens() as f64 > budget_limit(&ModelCard::with_window(1000), &policy));
}

#[test]
fn a_patch_is_followed_without_weighing_kept_messages() {
    let mut messages = script("u*400 a:read t*900 a u*40 a");
    let mut tracker = ContextTracker::from_messages(&messages);
    let digest = vec![Message::user("[digest]")];
    let patch = Patch::new(vec![Edit::Fold { range: 0..4, with: digest }]);
    let _undo = patch.clone().apply(&mut messages).unwrap();
    tracker.apply(&patch, &messages);
    assert_agrees(&tracker, &messages);
    assert_eq!(tracker.len(), 3);
}
