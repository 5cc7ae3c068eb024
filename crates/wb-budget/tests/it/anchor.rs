//! Real usage in the tracker: anchoring, refusals and predictions.

use proptest::prelude::*;
use wb_budget::{ContextTracker, ModelCard, Usage, UsageRefused};
use wb_message::{Block, Edit, Message, Patch};
use wb_testkit::{script, strategies};

fn usage(prompt_tokens: u64, output_tokens: u64) -> Usage {
    Usage { input_tokens: prompt_tokens, output_tokens, ..Usage::EMPTY }
}

/// Anchors a prompt of 10 000 real and 1 000 estimated tokens, and an answer of 50.
fn anchored() -> ContextTracker {
    let mut tracker = ContextTracker::from_messages(&[Message::user("x".repeat(3578))]);
    tracker.extend(&script("a"));
    tracker.anchor(1, &usage(10_000, 50), None).expect("true usage");
    tracker
}

/// Builds a message of `tokens` by estimate.
fn sized(tokens: u64) -> Message {
    let n_chars = usize::try_from((tokens - 6) * 18 / 5).expect("a few thousand");
    Message::user("x".repeat(n_chars))
}

/// Appends a message and an answer, and anchors the answer's usage.
fn step(tracker: &mut ContextTracker, appended_tokens: u64, usage: Usage) -> Result<(), UsageRefused> {
    tracker.push(&sized(appended_tokens));
    let at = tracker.push(&Message::assistant("ok"));
    tracker.anchor(at, &usage, None)
}

#[test]
fn real_prompt_and_answer_replace_the_estimate() {
    let mut tracker = anchored();
    assert_eq!(tracker.context_tokens(), 10_050);
    tracker.push(&sized(500));
    let estimate = tracker.estimate(&ModelCard::with_window(200_000));
    assert_eq!(
        (estimate.context_tokens, estimate.context_window, estimate.anchored),
        (10_550, 200_000, true)
    );
    assert_eq!(tracker.overhead_tokens(), 9000 + 50 - (tracker.prefix_tokens(2) - 1000));
}

#[test]
fn cached_prompt_tokens_are_prompt_tokens() {
    let mut tracker = ContextTracker::from_messages(&script("u a"));
    let usage = Usage { cache_read_tokens: Some(900), cache_write_tokens: Some(90), ..usage(9, 1) };
    tracker.anchor(1, &usage, None).unwrap();
    assert_eq!(tracker.context_tokens(), 1000);
}

#[test]
fn growth_above_its_estimate_raises_the_ratio() {
    let mut tracker = anchored();
    step(&mut tracker, 12_288, usage(10_050 + 2 * 12_288, 10)).unwrap();
    assert!((tracker.ratio() - 1.75).abs() < 0.001, "4 096 at 1 and 12 288 at 2");
    assert_eq!(
        [tracker.weight(2), tracker.weight(9)],
        [Some(tracker.calibrated().message(&sized(12_288))), None]
    );
    let counted = tracker.context_tokens();
    tracker.push(&sized(1000));
    assert_eq!(tracker.context_tokens(), counted + 1750);
}

#[test]
fn the_ratio_stays_bounded_whatever_is_reported() {
    let mut tracker = anchored();
    let mut context = 10_050;
    for _ in 0..50 {
        context += 30_000;
        step(&mut tracker, 100, usage(context, 0)).unwrap();
    }
    assert!(tracker.ratio() <= 8.0);
    for _ in 0..500 {
        step(&mut tracker, 5000, usage(context, 0)).unwrap();
    }
    assert!((0.25..0.26).contains(&tracker.ratio()));
}

#[test]
fn another_model_restarts_the_ratio() {
    let mut tracker = anchored();
    let card = |id: &str| ModelCard { id: id.into(), ..ModelCard::default() };
    let mut step = |model: &str, prompt| {
        tracker.push(&sized(5000));
        let at = tracker.push(&Message::assistant("ok"));
        tracker.anchor(at, &usage(prompt, 0), Some(&card(model))).map(|()| tracker.ratio())
    };
    assert!(step("a", 25_000).unwrap() > 1.5);
    assert_eq!(step("b", 9_000), Ok(1.0), "a prompt of less than half");
    assert!(step("b", 14_000).is_ok());
}

#[test]
fn a_usage_of_zero_is_refused() {
    let mut tracker = anchored();
    assert_eq!(step(&mut tracker, 100, Usage::EMPTY), Err(UsageRefused::Zero));
    assert_eq!(step(&mut tracker, 100, usage(0, 70)), Err(UsageRefused::Zero));
    assert!(tracker.context_tokens() > 10_250, "later messages are still estimated");
}

#[test]
fn usage_above_the_window_is_refused() {
    let mut tracker = ContextTracker::from_messages(&script("u a"));
    let refused = tracker.anchor(1, &usage(9_990, 11), Some(&ModelCard::with_window(10_000)));
    assert_eq!(refused, Err(UsageRefused::AboveWindow { context_tokens: 10_001, context_window: 10_000 }));
    assert!(!tracker.estimate(&ModelCard::with_window(10_000)).anchored);
    tracker.anchor(1, &usage(9_990, 10), Some(&ModelCard::with_window(10_000))).unwrap();
}

#[test]
fn cumulative_totals_are_refused_while_they_grow() {
    let mut tracker = anchored();
    let mut total = 10_000;
    for n in 1..20 {
        total += 60_000 + n * 100;
        assert!(matches!(step(&mut tracker, 100, usage(total, 5)), Err(UsageRefused::Jump { .. })), "{n}");
    }
    assert!(tracker.context_tokens() < 20_000);
}

#[test]
fn the_count_of_another_conversation_is_refused() {
    let mut tracker = anchored();
    let refused = UsageRefused::Backwards { prompt_tokens: 4_999, before_tokens: 10_000 };
    assert_eq!(step(&mut tracker, 100, usage(4_999, 5)), Err(refused));
    assert_eq!(step(&mut tracker, 100, usage(10_300, 5)), Ok(()));
}

#[test]
fn a_second_usage_that_agrees_with_a_refused_one_is_accepted() {
    let mut tracker = anchored();
    assert!(step(&mut tracker, 100, usage(3_000, 5)).is_err(), "the host pruned without a report");
    assert!(step(&mut tracker, 100, usage(3_105, 5)).is_ok());
    assert_eq!(tracker.context_tokens(), 3_110);
}

#[test]
fn a_refused_usage_is_refused_again_for_the_same_message() {
    let mut tracker = anchored();
    let wrong = usage(900_000, 5);
    assert!(step(&mut tracker, 100, wrong).is_err());
    assert!(tracker.anchor(3, &wrong, None).is_err());
}

#[test]
fn usage_belongs_to_answers_in_order() {
    let mut tracker = anchored();
    assert_eq!(tracker.anchor(0, &usage(9, 9), None), Err(UsageRefused::NotAnAnswer { at: 0 }));
    assert_eq!(tracker.anchor(7, &usage(9, 9), None), Err(UsageRefused::NotAnAnswer { at: 7 }));
    let again = tracker.anchor(1, &usage(10_000, 50), None);
    assert_eq!(again, Err(UsageRefused::OutOfOrder { at: 1, anchored_at: 1 }));
}

#[test]
fn a_truncation_restores_the_previous_count() {
    let mut tracker = anchored();
    step(&mut tracker, 100, usage(10_150, 20)).unwrap();
    tracker.truncate(2);
    assert_eq!(tracker.context_tokens(), 10_050);
    step(&mut tracker, 200, usage(10_250, 30)).unwrap();
    assert_eq!(tracker.context_tokens(), 10_280);
}

/// Appends sixty steps of 2 000 tokens to 10 050, then folds the head into a digest.
fn compacted() -> (ContextTracker, Vec<Message>) {
    let mut messages = vec![sized(1000), Message::assistant("ok")];
    let mut tracker = ContextTracker::from_messages(&messages);
    tracker.anchor(1, &usage(10_000, 9), None).expect("made to fit");
    for n in 1..=60 {
        messages.extend([sized(2000), Message::assistant("ok")]);
        step(&mut tracker, 2000, usage(10_000 + n * 2009, 9)).expect("made to fit");
    }
    let patch = Patch::new(vec![Edit::Fold { range: 0..118, with: vec![Message::user("[digest]")] }]);
    let _undo = patch.clone().apply(&mut messages).expect("made to fit");
    tracker.apply(&patch, &messages);
    (tracker, messages)
}

#[test]
fn a_compaction_voids_the_anchor_and_keeps_the_overhead() {
    let (tracker, _) = compacted();
    let estimate = tracker.estimate(&ModelCard::with_window(200_000));
    assert!(!estimate.anchored);
    let expected = 9_000 + tracker.total_tokens();
    assert!(estimate.context_tokens.abs_diff(expected) < 50, "{estimate:?} {expected}");
}

#[test]
fn the_overhead_after_a_compaction_is_predicted() {
    let mut tracker = ContextTracker::new();
    // The unseen tokens grow with the prompt, like reasoning that is dropped later.
    for at in 0..60 {
        step(&mut tracker, 1_000, usage(9_000 + 1_150 * at, 9)).unwrap();
    }
    let now = tracker.overhead_tokens();
    let messages = [sized(1_000), Message::assistant("done")];
    let weight = messages.iter().map(|message| tracker.calibrated().message(message)).sum();
    let predicted = tracker.overhead_tokens_at(weight);
    tracker.rebuild(&messages);
    assert!(predicted.abs_diff(tracker.overhead_tokens()) <= 1 && predicted != now, "{predicted} {now}");
    assert_eq!(ContextTracker::new().with_overhead_tokens(70).overhead_tokens_at(9), 70);
}

#[test]
fn usage_from_before_a_compaction_is_refused() {
    let (mut tracker, messages) = compacted();
    let at = messages.len() - 1;
    assert_eq!(tracker.anchor(at, &usage(130_000, 9), None), Err(UsageRefused::BeforeCompaction { at }));
    tracker.push(&sized(100));
    let late = tracker.push(&Message::assistant("sent before, answered after"));
    assert!(matches!(tracker.anchor(late, &usage(130_500, 9), None), Err(UsageRefused::Jump { .. })));
}

#[test]
fn the_first_true_usage_after_a_compaction_anchors_again() {
    let (mut tracker, _) = compacted();
    let predicted = tracker.context_tokens() + 100;
    assert_eq!(step(&mut tracker, 100, usage(predicted + 3_000, 9)), Ok(()));
    assert_eq!(tracker.context_tokens(), predicted + 3_009);
}

#[test]
fn a_rebuild_keeps_the_ratio_and_voids_old_counts() {
    let (mut tracker, messages) = compacted();
    let (ratio, context) = (tracker.ratio(), tracker.context_tokens());
    tracker.rebuild(&messages);
    assert_eq!((tracker.ratio(), tracker.context_tokens()), (ratio, context));
    assert!(tracker.anchor(messages.len() - 1, &usage(9_999, 9), None).is_err());
}

#[test]
fn clearing_one_old_body_lowers_the_estimate_by_its_size() {
    let mut tracker = ContextTracker::from_messages(&script("u a:read t*5000 a"));
    tracker.anchor(3, &usage(90_000, 10), None).unwrap();
    let before = (tracker.context_tokens(), tracker.total_tokens());
    tracker.replace(2, &Message::tool_result("c1", "read", "[cleared]"));
    let freed = before.1 - tracker.total_tokens();
    assert_eq!(before.0 - tracker.context_tokens(), freed);
    assert!(!tracker.estimate(&ModelCard::default()).anchored);
}

#[test]
fn a_small_change_is_estimated_from_the_count_that_it_voids() {
    let mut tracker = anchored();
    step(&mut tracker, 3_000, usage(10_050 + 9_000, 10)).unwrap();
    let (before, total) = (tracker.context_tokens(), tracker.total_tokens());
    tracker.replace(2, &sized(2_000));
    let freed = (total - tracker.total_tokens()) as f64 * tracker.ratio();
    assert!((before as f64 - freed - tracker.context_tokens() as f64).abs() <= 1.0);
}

#[test]
fn a_truncation_past_a_compaction_allows_a_new_anchor() {
    let (mut tracker, _) = compacted();
    tracker.truncate(1);
    let predicted = tracker.context_tokens() + 100;
    assert_eq!(step(&mut tracker, 100, usage(predicted, 9)), Ok(()));
}

#[test]
fn an_edit_after_the_anchor_leaves_it_alone() {
    let mut messages = script("u a:read t*900 a:read t*900");
    let mut tracker = ContextTracker::from_messages(&messages);
    tracker.anchor(1, &usage(5_000, 20), None).unwrap();
    let patch = Patch::new(vec![Edit::Body { at: 4, content: vec![Block::text("[cleared]")] }]);
    let _undo = patch.clone().apply(&mut messages).unwrap();
    tracker.apply(&patch, &messages);
    assert!(tracker.estimate(&ModelCard::default()).anchored);
    assert_eq!(tracker.context_tokens(), 5_020 + tracker.total_tokens() - tracker.prefix_tokens(2));
}

#[test]
fn a_message_that_grows_while_it_streams_can_still_be_anchored() {
    let mut tracker = ContextTracker::from_messages(&script("u"));
    let at = tracker.push(&Message::assistant("I wi"));
    tracker.replace(at, &Message::assistant("I will look."));
    assert_eq!(tracker.anchor(at, &usage(700, 8), None), Ok(()));
}

proptest! {
    #[test]
    fn no_usage_makes_the_tracker_panic(
        messages in strategies::transcript(),
        counts in proptest::collection::vec((0..80_usize, any::<u64>(), any::<u64>(), any::<bool>()), 0..20),
    ) {
        let mut tracker = ContextTracker::new();
        for message in &messages {
            tracker.push(message);
            for (at, prompt, output, small) in &counts {
                let shift = if *small { 44 } else { 0 };
                let _ = tracker.anchor(*at, &usage(prompt >> shift, output >> shift), None);
                let _ = (tracker.context_tokens(), tracker.overhead_tokens());
            }
        }
        tracker.rebuild(&messages);
        let _ = tracker.context_tokens();
        tracker.truncate(messages.len() / 2);
        let _ = tracker.context_tokens();
    }
}

#[test]
fn the_overhead_of_another_model_is_not_carried_over() {
    let mut tracker = anchored();
    let card = |id: &str| ModelCard { id: id.into(), ..ModelCard::default() };
    for (model, prompt) in [("a", 40_000), ("b", 12_000)] {
        tracker.push(&sized(5000));
        let at = tracker.push(&Message::assistant("ok"));
        tracker.anchor(at, &usage(prompt, 0), Some(&card(model))).unwrap();
    }
    tracker.rebuild(&[Message::user("A digest.")]);
    // The second model counted 12 000 tokens where 11 000 are estimated, the first one 9 000 more than estimated.
    assert!(tracker.context_tokens() < 2000, "{}", tracker.context_tokens());
}
