//! Inputs on which the published compactions in three levels do badly, by their numbers, and our
//! results.

use wb_budget::{AUTO_CONDENSE_POLICY, Budget, Irreducible};
use wb_conductor::CompactionReport;
use wb_message::Message;
use wb_message::markers::CLIP_MARK;
use wb_testkit::three_level::{big, mark, result, says, tokens as weight};
use wb_testkit::{laws, script};

use super::{LEVELS, Levels, compact};
use crate::support::flat;

/// Compacts at four bytes a token, and checks the rules for every input.
fn compacted(before: &[Message], levels: Levels, budget: Budget) -> (Vec<Message>, CompactionReport) {
    let mut after = before.to_vec();
    let report = compact(levels, &mut after, budget);
    laws::pairs_intact(before, &after);
    laws::order_preserved(before, &after);
    let (tokens_before, tokens) = (weight(before), weight(&after));
    assert!(tokens <= tokens_before, "never heavier");
    let aim = if tokens_before > budget.limit { budget.target } else { budget.limit };
    assert_eq!(report.irreducible, Irreducible::from_weights(aim, tokens), "{report:?}");
    (after, report)
}

/// Compacts by the default options to `tokens`.
fn within(tokens: u64, before: &[Message]) -> (Vec<Message>, CompactionReport) {
    compacted(before, LEVELS, flat(tokens, 0))
}

/// A transcript that cannot be compacted is unchanged, and reported as too heavy.
fn is_irreducible(before: &[Message], target_tokens: u64, reached_tokens: u64) {
    let (after, report) = within(target_tokens, before);
    assert_eq!(after, before);
    assert_eq!(report.step_names(), [""; 0]);
    assert_eq!(report.irreducible, Some(Irreducible { target_tokens, reached_tokens }));
}

#[test]
fn e03_a_small_result_does_not_outlive_its_large_call() {
    let messages =
        [Message::user("task"), says(big(60), &["c0"]), result("c0", "ok"), Message::user("go on")];
    let (after, report) = within(40, &messages);
    assert_eq!(after, [messages[0].clone(), mark(), messages[3].clone()]);
    assert_eq!(report.step_names(), ["drop-middle"]);
}

#[test]
fn e28_e29_an_extension_inside_a_pair_separates_nothing() {
    let extension = || Message::custom("ui", r#"{"p":1}"#);
    let messages = [
        Message::user("task"),
        says("look", &["c0", "c1"]),
        result("c0", "out"),
        extension(),
        result("c1", "out"),
        Message::user("next"),
    ];
    for keep_recent in 0..6 {
        for tokens in 0..70 {
            compacted(&messages, Levels { keep_recent, keep_first: 1, ..LEVELS }, flat(tokens, 0));
        }
    }
    let levels = Levels { keep_recent: 2, keep_first: 1, ..LEVELS };
    let (after, _) = compacted(&messages, levels, flat(60, 0));
    assert_eq!(after, [messages[0].clone(), mark(), extension(), messages[5].clone()]);
}

#[test]
fn e04_a_single_giant_request_stays_and_is_irreducible() {
    is_irreducible(&[Message::user(big(1000))], 100, 1004);
}

#[test]
fn e05_two_small_requests_over_a_budget_below_the_mark_stay() {
    is_irreducible(&[Message::user("hello there world"), Message::user("second")], 9, 15);
}

#[test]
fn e06_the_mark_is_charged_and_the_excess_is_reported() {
    let messages = [Message::user(big(50)), Message::user(big(46)), Message::user(big(46))];
    let (after, report) = within(100, &messages);
    assert_eq!(after, [messages[0].clone(), mark(), messages[2].clone()]);
    assert_eq!(report.irreducible, Irreducible::from_weights(100, 54 + 23 + 50));
    let (after, _) = within(127, &messages);
    assert_eq!(weight(&after), 127, "the budget is used to the last token where it must be");
}

#[test]
fn e19_a_system_prompt_larger_than_the_window_takes_no_request() {
    let mut messages = vec![Message::user("hi")];
    let report = compact(LEVELS, &mut messages, flat(10, 50));
    assert_eq!(messages, [Message::user("hi")]);
    assert_eq!(report.irreducible, Irreducible::from_weights(10, 50 + 5));
    is_irreducible(&[Message::user("hi")], 0, 5);
}

#[test]
fn e31_nothing_is_dropped_if_the_mark_would_weigh_more() {
    is_irreducible(&["a", "b", "c"].map(Message::user), 14, 15);
}

#[test]
fn e17_the_task_stays_before_a_giant_reply() {
    let messages = [Message::user("TASK: fix bug"), Message::assistant(big(500)), Message::user("go on")];
    let (after, _) = within(100, &messages);
    assert_eq!(after, [messages[0].clone(), mark(), messages[2].clone()]);
}

#[test]
fn e18_e09_a_giant_line_is_shortened_and_nothing_else_goes() {
    let messages = [
        Message::user("TASK: fix bug"),
        says("plan", &["c0"]),
        result("c0", "x ".repeat(2000)),
        Message::user("go on"),
    ];
    let (after, report) = within(200, &messages);
    assert_eq!(report.step_names(), ["preview"]);
    assert_eq!(after[..2], messages[..2]);
    assert_eq!(after[3], messages[3]);
    assert!(after[2].blocks()[0].as_text().unwrap().contains(CLIP_MARK));
}

#[test]
fn e25_the_newest_result_is_whole_if_older_ones_are_enough() {
    let lines = "a line of output\n".repeat(100);
    let messages = [
        Message::user("task"),
        says("one", &["c0"]),
        result("c0", lines.as_str()),
        says("two", &["c1"]),
        result("c1", lines.as_str()),
    ];
    let (after, report) = within(800, &messages);
    assert_eq!(report.step_names(), ["tool-output"]);
    assert_ne!(after[2], messages[2]);
    assert_eq!(after[3..], messages[3..]);
    let (after, _) = within(500, &messages);
    assert_ne!(after[4], messages[4], "it is cut where it must be");
}

#[test]
fn e20_a_large_extension_is_passed_over_and_what_is_older_stays() {
    let messages = [
        Message::user("task"),
        Message::user("important constraint"),
        Message::custom("ui", big(500)),
        Message::user("go"),
    ];
    let (after, _) = within(60, &messages);
    assert_eq!(after, [messages[0].clone(), messages[1].clone(), mark(), messages[3].clone()]);
}

#[test]
fn e15_a_few_more_messages_start_no_compaction() {
    let mut messages: Vec<_> = (0..10).map(|n| Message::user(format!("{n} {}", big(20)))).collect();
    messages.insert(0, Message::user("task"));
    let levels = Levels { keep_first: 1, keep_recent: 5, ..LEVELS };
    let budget = Budget::from_limit(150, &AUTO_CONDENSE_POLICY, 0);
    let (mut after, report) = compacted(&messages, levels, budget);
    assert!(report.tokens_after <= 131, "seven eighths: {}", report.tokens_after);
    after.push(Message::assistant("fine"));
    let (mut again, report) = compacted(&after, levels, budget);
    assert_eq!((&again, report.steps.len()), (&after, 0));
    for n in 0..20 {
        again.push(Message::user(format!("{n} {}", big(20))));
        compact(levels, &mut again, budget);
        assert_eq!(again[..2], [Message::user("task"), mark()]);
    }
    assert_eq!(again.iter().filter(|message| **message == mark()).count(), 1);
}

#[test]
fn a_newest_reply_with_large_results_is_shortened_and_stays() {
    let messages =
        script("u [a:bash t*30]x8 u a*20:bash,bash,bash,bash,bash,bash t*200 t*200 t*200 t*200 t*200 t*200");
    let (after, report) = compacted(&messages, Levels { keep_recent: 2, ..LEVELS }, flat(900, 0));
    assert!(report.irreducible.is_none(), "{report:?}");
    assert_eq!(after.len() - after.iter().position(|message| *message == messages[18]).unwrap(), 7);
}
