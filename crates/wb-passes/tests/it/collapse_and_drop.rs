//! The passes of the three-level preset, each alone: cut tool outputs, collapsed replies, dropped
//! middle.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;
use wb_budget::{TokenCounter, WeighedTranscript};
use wb_message::markers::{COLLAPSED_PREFIX, is_dropped_mark, is_pinned, is_prompt};
use wb_message::{Block, Message, Pairing};
use wb_passes::{Collapse, DropMiddle, Goal, Pass, ToolOutput, truncate_head_tail};
use wb_testkit::three_level::{QUARTER, aged_transcript, big, ends, few, mark, result, says, tokens};
use wb_testkit::{laws, pass_laws, script, strategies};

/// Applies one pass at four bytes a token.
fn run(pass: &impl Pass, messages: &[Message], target_tokens: u64) -> Vec<Message> {
    let counter: Arc<dyn TokenCounter> = Arc::new(QUARTER);
    let patch = pass.plan(&WeighedTranscript::new(messages, &counter), Goal::target(target_tokens));
    let mut after = messages.to_vec();
    if let Some(patch) = patch {
        let _ = patch.apply(&mut after).unwrap();
    }
    after
}

fn collapsed(messages: &[Message], keep_recent: usize) -> Vec<Message> {
    run(&Collapse { keep_recent }, messages, 0)
}

fn target() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..500_u64, 500..5_000_u64, 5_000..60_000_u64, Just(u64::MAX)]
}

/// Generates a transcript without marks of clips, which the laws would attribute to the pass.
fn unclipped() -> impl Strategy<Value = Vec<Message>> {
    strategies::transcript().prop_map(|messages| {
        let json = serde_json::to_string(&messages).unwrap().replace("[… clipped …]", "[clipped]");
        serde_json::from_str(&json).unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn tool_output_keeps_the_laws(
        messages in unclipped(),
        max_lines in few(),
        target_tokens in target(),
    ) {
        let after = pass_laws::all(&ToolOutput { max_lines }, &messages, target_tokens);
        for (old, _) in messages.iter().zip(&after).filter(|(old, new)| old != new) {
            let tool = matches!(old, Message::ToolResult { .. } | Message::BashExecution { .. });
            prop_assert!(tool, "texts of the user and the model stay");
        }
    }

    #[test]
    fn collapse_keeps_the_laws(
        messages in aged_transcript(),
        keep_recent in few(),
        target_tokens in target(),
    ) {
        let after = pass_laws::all(&Collapse { keep_recent }, &messages, target_tokens);
        laws::tail_identical(&messages, &after, keep_recent.min(messages.len()));
        let stays = |message: &&Message| is_prompt(message) || matches!(message, Message::Custom { .. });
        prop_assert!(messages.iter().filter(stays).eq(after.iter().filter(stays)));
        prop_assert_eq!(Pairing::new(&messages).in_flight().is_some(), Pairing::new(&after).in_flight().is_some());
    }

    #[test]
    fn drop_middle_keeps_the_laws(
        messages in aged_transcript(),
        keep_first in few(),
        keep_recent in few(),
        target_tokens in target(),
    ) {
        let after = pass_laws::all(&DropMiddle { keep_first, keep_recent }, &messages, target_tokens);
        prop_assert_eq!(ends(&messages), ends(&after), "the task and the latest request stay");
        let changed = after.len() != messages.len();
        let n_marks = after.iter().filter(|message| is_dropped_mark(message)).count();
        prop_assert!(!changed || n_marks == 1, "{} marks", n_marks);
        let only_marks = |messages: &[Message]| messages.iter().all(is_dropped_mark);
        prop_assert_eq!(only_marks(&after), only_marks(&messages), "more than the mark stays");
    }
}

#[test]
fn only_the_oldest_replies_collapse_until_the_target() {
    let messages = script("u [a*60:bash t]x20 u");
    let after = pass_laws::all(&Collapse { keep_recent: 1 }, &messages, 1_600);
    let collapsed = |message: &&Message| {
        let text = message.blocks().iter().find_map(Block::as_text);
        text.is_some_and(|text| text.starts_with(COLLAPSED_PREFIX))
    };
    let n_collapsed = after[1..].iter().take_while(collapsed).count();
    assert!((1..20).contains(&n_collapsed), "{n_collapsed}");
    assert_eq!(after.iter().filter(collapsed).count(), n_collapsed, "the oldest");
    assert_eq!(after[1 + n_collapsed..], messages[1 + 2 * n_collapsed..]);
}

#[test]
fn each_pass_alone_keeps_pairs_and_pinned_messages() {
    let messages = script("s u a:bash t*4000 u b*3000 [a*80:read t*80]x9 u a:read");
    let drop = |keep_first, keep_recent| run(&DropMiddle { keep_first, keep_recent }, &messages, 2_000);
    for (after, n_expected) in [
        (run(&ToolOutput { max_lines: 10 }, &messages, 0), messages.len()),
        (collapsed(&messages, 2), messages.len() - 10),
        (drop(2, 10), 24),
        (drop(0, 0), 24),
    ] {
        assert_eq!(after.len(), n_expected);
        assert!(tokens(&after) <= tokens(&messages));
        assert!(after.iter().filter(|message| is_pinned(message)).eq(&messages[..1]));
        laws::pairs_intact(&messages, &after);
    }
}

#[test]
fn e01_a_boundary_between_results_moves_before_their_reply() {
    let messages = [
        Message::user("u"),
        says("look", &["c0", "c1"]),
        result("c0", big(50)),
        result("c1", big(50)),
        Message::user("next"),
    ];
    assert_eq!(collapsed(&messages, 2), messages);
    assert_eq!(collapsed(&messages, 1).len(), 3);
}

#[test]
fn e02_a_call_at_the_end_of_the_head_keeps_its_result() {
    let messages = [
        Message::user("task"),
        says("look", &["c0"]),
        result("c0", big(40)),
        Message::user(big(60)),
        Message::assistant(big(60)),
        Message::user("next"),
    ];
    for tokens in 30..tokens(&messages) {
        let after = run(&DropMiddle { keep_recent: 1, ..DropMiddle::default() }, &messages, tokens);
        laws::pairs_intact(&messages, &after);
        let whole = after.len() > 3 && after[1..3] == messages[1..3];
        assert_eq!(whole, tokens >= 5 + 23 + 17 + 49 + 5, "kept if it fits: {tokens}");
    }
}

#[test]
fn e28_a_host_message_between_call_and_results_survives() {
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
        let after = collapsed(&messages, keep_recent);
        laws::pairs_intact(&messages, &after);
        assert!(after.contains(&extension()));
    }
}

#[test]
fn e07_a_cut_output_has_its_lines_and_is_not_cut_again() {
    let lines = "a line\n".repeat(100);
    let once = truncate_head_tail(&lines, 10);
    assert_eq!(once.lines().count(), 10);
    assert!(once.contains("[... 93 lines truncated ...]"), "{once}");
    assert_eq!(truncate_head_tail(&once, 10), once);
}

#[test]
fn e08_e27_a_cut_never_lengthens_or_empties_short_texts() {
    for text in ["one", "one\ntwo", "one\r\ntwo\r\n", "1\n2\n3\n4\n5\n6\n7"] {
        for max_lines in 0..2 {
            assert_eq!(truncate_head_tail(text, max_lines), text);
        }
    }
}

#[test]
fn e09_a_giant_line_is_left_to_the_preview() {
    let messages = [says("plan", &["c0"]), result("c0", "x ".repeat(2000))];
    assert_eq!(run(&ToolOutput { max_lines: 5 }, &messages, 0), messages);
}

#[test]
fn e26_kept_lines_keep_their_line_ends() {
    let messages = [result("c0", "one more line\r\n".repeat(40))];
    let after = run(&ToolOutput { max_lines: 6 }, &messages, 0);
    let expected = "one more line\r\n\n[... 37 lines truncated ...]\n\none more line\r\none more line\r\n";
    assert_eq!(after[0].blocks(), [Block::text(expected)]);
}

#[test]
fn e16_the_newest_result_is_not_collapsed() {
    let messages = [Message::user("task"), says("run", &["c0"]), result("c0", big(500))];
    assert_eq!(collapsed(&messages, 0), messages);
}

#[test]
fn e12_summaries_are_not_collapsed_again_and_the_oldest_go() {
    let old = |n: usize| Message::assistant(format!("{COLLAPSED_PREFIX}old {n} {}", big(40)));
    let mut messages: Vec<_> = (0..5).map(old).collect();
    messages.insert(0, Message::user("task"));
    messages.push(Message::user("end"));
    assert_eq!(collapsed(&messages, 1), messages);
    let after = run(&DropMiddle { keep_first: 0, ..DropMiddle::default() }, &messages, 150);
    assert_eq!(after, [&[messages[0].clone(), mark()], &messages[4..]].concat());
}

fn summary_of(reply: Message, results: &[Message]) -> String {
    let messages = [&[reply], results, &[Message::user("end")]].concat();
    let after = collapsed(&messages, 1);
    assert_eq!(after.len(), 2);
    after[0].blocks()[0].as_text().unwrap().to_owned()
}

#[test]
fn e13_the_error_of_a_failed_result_survives_its_summary() {
    let failed = Message::ToolResult {
        tool_call_id: "c0".to_owned(),
        tool_name: "bash".to_owned(),
        content: vec![
            Block::text("\nFATAL: disk full\nat line 3"),
            Block::image("image/png", "A".repeat(4000)),
        ],
        is_error: true,
        is_refusal: false,
    };
    assert_eq!(summary_of(says("run", &["c0"]), &[failed]), "[Summary] run\nbash failed: FATAL: disk full");
    let nested = Block::ToolResult { call_id: "c1".to_owned(), output: json!("gone"), is_error: Some(true) };
    let results = [result("c0", big(40)), Message::user(vec![nested])];
    assert_eq!(summary_of(says("run", &["c0", "c1"]), &results), "[Summary] run\nbash failed: gone");
}

#[test]
fn e10_a_text_is_clipped_above_200_characters() {
    let ended = |text: &str| summary_of(says(text, &["c0"]), &[result("c0", big(40))]);
    let (accents, letters) = ("é".repeat(200), "a".repeat(200));
    assert_eq!(ended(&accents), format!("{COLLAPSED_PREFIX}{accents}"));
    assert_eq!(ended(&letters), format!("{COLLAPSED_PREFIX}{letters}"));
    assert_eq!(ended(&"a".repeat(201)), format!("{COLLAPSED_PREFIX}{}…", "a".repeat(199)));
    let alone = [Message::assistant(accents), Message::user("end")];
    assert_eq!(collapsed(&alone, 1), alone, "a summary would be heavier");
}

#[test]
fn e11_an_empty_text_does_not_hide_the_number_of_calls() {
    let results = [result("c0", big(40)), result("c1", "out")];
    assert_eq!(summary_of(says("", &["c0", "c1"]), &results), "[Summary] [Assistant used 2 tool(s)]");
    let thought = Block::Thinking { text: big(40), signature: None };
    assert_eq!(summary_of(Message::assistant_blocks(vec![thought]), &[]), "[Summary] [Assistant response]");
}

#[test]
fn a_summary_is_capped_for_any_reply_and_failures() {
    let ids: Vec<String> = (0..40).map(|n| format!("c{n}")).collect();
    let failed = |id: &String| Message::tool_error(id.as_str(), big(100), big(100));
    let results: Vec<_> = ids.iter().map(failed).collect();
    let mut reply = says(big(300), &ids.iter().map(String::as_str).collect::<Vec<_>>());
    if let Message::Assistant { content, .. } = &mut reply {
        content.extend(std::iter::repeat_n(Block::text(big(300)), 40));
    }
    let summary = summary_of(reply, &results);
    assert!(summary.ends_with("\n35 more failed"), "{summary}");
    let n_chars = summary.chars().count();
    assert!((1_700..1_900).contains(&n_chars), "{n_chars}");
}

#[test]
fn the_mark_of_a_drop_never_separates_a_pair() {
    let before = [
        Message::user("task"),
        says("", &["c"]),
        Message::bash("make", big(5_000), Some(0)),
        result("c", "done"),
        Message::user("go on"),
    ];
    let after = pass_laws::all(&DropMiddle::default(), &before, 500);
    let kept = [before[0].clone(), mark(), before[1].clone(), before[3].clone(), before[4].clone()];
    assert_eq!(after, kept);
}

#[test]
fn the_first_prompt_after_a_planned_digest_may_go() {
    let digest = Message::assistant(big(20));
    let messages = [digest, Message::user(big(100)), Message::assistant(big(60)), Message::user(big(10))];
    let counter: Arc<dyn TokenCounter> = Arc::new(QUARTER);
    let view = WeighedTranscript::new(&messages, &counter);
    let left = |keep| {
        let patch = DropMiddle::default().plan(&view, Goal { keep, ..Goal::target(100) }).unwrap();
        let mut after = messages.to_vec();
        let _ = patch.apply(&mut after).unwrap();
        after
    };
    assert_eq!(left(&[]), [mark(), messages[1].clone(), messages[3].clone()]);
    let kept = [messages[0].clone(), mark(), messages[3].clone()];
    assert_eq!(left(&[0]), kept);
}

#[test]
fn missing_options_get_the_default_numbers_and_never_0() {
    let built = |options| {
        let tool_output: ToolOutput = serde_json::from_str(options).unwrap();
        let collapse: Collapse = serde_json::from_str(options).unwrap();
        let drop: DropMiddle = serde_json::from_str(options).unwrap();
        json!([tool_output, collapse, drop])
    };
    let numbers = json!([{ "max_lines": 50 }, { "keep_recent": 10 }, { "keep_first": 2, "keep_recent": 10 }]);
    assert_eq!(built("{}"), numbers);
    let error = serde_json::from_str::<DropMiddle>(r#"{"keep_last": 1}"#).unwrap_err();
    assert!(error.to_string().contains("unknown field `keep_last`"), "{error}");
}
