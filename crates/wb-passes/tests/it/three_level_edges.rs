//! Inputs on which the published compactions in three levels do badly, by their numbers, and what ours makes of them.

use serde_json::json;
use wb_budget::Irreducible;
use wb_budget::three_level::total_tokens;
use wb_message::marks::{CLIP_MARK, COLLAPSED_PREFIX, DROPPED_MARK};
use wb_message::{Block, Message};
use wb_passes::DropMiddle;
use wb_passes::three_level::{
    CONTEXT_CONFIG, ContextConfig, LevelReport, compact, compact_messages, level1_truncate_tool_outputs,
    level2_summarize_old_turns, level3_drop_middle, truncate_head_tail,
};
use wb_testkit::{laws, pass_laws, script};

/// Returns a text of so many tokens.
fn big(n_tokens: usize) -> String {
    "x".repeat(4 * n_tokens)
}

fn says(text: impl Into<String>, calls: &[&str]) -> Message {
    let calls = calls.iter().map(|id| Block::call(*id, "bash", json!({ "cmd": "x" })));
    Message::assistant_blocks([Block::text(text)].into_iter().chain(calls).collect())
}

fn result(id: &str, text: impl Into<String>) -> Message {
    Message::tool_result(id, "bash", text)
}

fn mark() -> Message {
    Message::user(DROPPED_MARK)
}

fn budget(tokens: usize) -> ContextConfig {
    ContextConfig { max_context_tokens: tokens, system_prompt_tokens: 0, ..CONTEXT_CONFIG }
}

/// Compacts and checks what holds for every input.
fn compacted(before: &[Message], config: &ContextConfig) -> (Vec<Message>, LevelReport) {
    let mut after = before.to_vec();
    let report = compact(&mut after, config);
    laws::pairs_intact(before, &after);
    laws::order_preserved(before, &after);
    let tokens = total_tokens(&after);
    assert!(tokens <= total_tokens(before), "never heavier");
    assert_eq!(report.irreducible.is_some(), tokens > config.budget_tokens() as u64, "{report:?}");
    (after, report)
}

/// What cannot be compacted stays as it is and is said to weigh too much.
fn is_irreducible(before: &[Message], tokens: usize, reached_tokens: u64) {
    let (after, report) = compacted(before, &budget(tokens));
    assert_eq!(after, before);
    assert_eq!(report.levels, [""; 0]);
    assert_eq!(report.irreducible, Some(Irreducible { target_tokens: tokens as u64, reached_tokens }));
}

#[test]
fn e01_a_boundary_between_results_is_pulled_back_before_their_reply() {
    let messages = [
        Message::user("u"),
        says("look", &["c0", "c1"]),
        result("c0", big(50)),
        result("c1", big(50)),
        Message::user("next"),
    ];
    assert_eq!(level2_summarize_old_turns(messages.to_vec(), 2), messages);
    assert_eq!(level2_summarize_old_turns(messages.to_vec(), 1).len(), 3);
}

#[test]
fn e02_a_head_that_ends_on_a_call_keeps_its_result_or_loses_both() {
    let messages = [
        Message::user("task"),
        says("look", &["c0"]),
        result("c0", big(40)),
        Message::user(big(60)),
        Message::assistant(big(60)),
        Message::user("next"),
    ];
    for tokens in 30..total_tokens(&messages) {
        let tokens = usize::try_from(tokens).unwrap();
        let config = ContextConfig { keep_recent: 1, ..CONTEXT_CONFIG };
        let after = level3_drop_middle(messages.to_vec(), &config, tokens);
        laws::pairs_intact(&messages, &after);
        let whole = after.len() > 3 && after[1..3] == messages[1..3];
        assert_eq!(whole, tokens >= 5 + 23 + 17 + 49 + 5, "kept as soon as it fits: {tokens}");
    }
}

#[test]
fn e03_a_small_result_does_not_outlive_its_large_call() {
    let messages =
        [Message::user("task"), says(big(60), &["c0"]), result("c0", "ok"), Message::user("go on")];
    let (after, report) = compacted(&messages, &budget(40));
    assert_eq!(after, [messages[0].clone(), mark(), messages[3].clone()]);
    assert_eq!(report.levels, ["drop-middle"]);
}

#[test]
fn e28_e29_an_extension_between_a_call_and_its_results_parts_nothing() {
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
        let summarized = level2_summarize_old_turns(messages.to_vec(), keep_recent);
        laws::pairs_intact(&messages, &summarized);
        assert!(summarized.contains(&extension()));
        for tokens in 0..70 {
            compacted(&messages, &ContextConfig { keep_recent, keep_first: 1, ..budget(tokens) });
        }
    }
    let (after, _) = compacted(&messages, &ContextConfig { keep_recent: 2, keep_first: 1, ..budget(60) });
    assert_eq!(after, [messages[0].clone(), mark(), extension(), messages[5].clone()]);
}

#[test]
fn e04_a_single_giant_request_is_kept_and_said_to_be_irreducible() {
    is_irreducible(&[Message::user(big(1000))], 100, 1004);
}

#[test]
fn e05_two_small_requests_over_a_budget_below_the_mark_stay() {
    is_irreducible(&[Message::user("hello there world"), Message::user("second")], 9, 15);
}

#[test]
fn e06_the_mark_is_charged_and_what_is_over_is_said() {
    let messages = [Message::user(big(50)), Message::user(big(46)), Message::user(big(46))];
    let (after, report) = compacted(&messages, &budget(100));
    assert_eq!(after, [messages[0].clone(), mark(), messages[2].clone()]);
    assert_eq!(report.irreducible, Irreducible::above(100, 54 + 23 + 50));
    let (after, _) = compacted(&messages, &budget(127));
    assert_eq!(total_tokens(&after), 127, "the budget is used to the last token where it must be");
}

#[test]
fn e19_a_system_prompt_larger_than_the_window_takes_no_request() {
    let config = ContextConfig { max_context_tokens: 10, system_prompt_tokens: 50, ..CONTEXT_CONFIG };
    assert_eq!(compact_messages(vec![Message::user("hi")], &config), [Message::user("hi")]);
    is_irreducible(&[Message::user("hi")], 0, 5);
}

#[test]
fn e31_nothing_is_dropped_where_the_mark_would_weigh_more() {
    is_irreducible(&["a", "b", "c"].map(Message::user), 14, 15);
}

#[test]
fn e08_e27_texts_of_a_few_lines_are_never_longer_nor_empty_after_a_cut() {
    for text in ["one", "one\ntwo", "one\r\ntwo\r\n", "1\n2\n3\n4\n5\n6\n7"] {
        for max_lines in 0..2 {
            assert_eq!(truncate_head_tail(text, max_lines), text);
        }
    }
}

#[test]
fn e17_the_task_stays_before_a_giant_reply() {
    let messages = [Message::user("TASK: fix bug"), Message::assistant(big(500)), Message::user("go on")];
    let (after, _) = compacted(&messages, &budget(100));
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
    let (after, report) = compacted(&messages, &budget(200));
    assert_eq!(report.levels, ["preview"]);
    assert_eq!(after[..2], messages[..2]);
    assert_eq!(after[3], messages[3]);
    assert!(after[2].blocks()[0].as_text().unwrap().contains(CLIP_MARK));
    assert_eq!(level1_truncate_tool_outputs(messages.to_vec(), 5), messages, "it has one line");
}

#[test]
fn e16_the_result_that_the_model_waits_for_is_not_summarized() {
    let messages = [Message::user("task"), says("run", &["c0"]), result("c0", big(500))];
    assert_eq!(level2_summarize_old_turns(messages.to_vec(), 0), messages);
}

fn summary_of(reply: Message, results: &[Message]) -> String {
    let messages = [&[reply], results, &[Message::user("end")]].concat();
    let after = level2_summarize_old_turns(messages, 1);
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
    };
    assert_eq!(summary_of(says("run", &["c0"]), &[failed]), "[Summary] run\nbash failed: FATAL: disk full");
    let nested = Block::ToolResult { call_id: "c1".to_owned(), output: json!("gone"), is_error: Some(true) };
    let results = [result("c0", big(40)), Message::user(vec![nested])];
    assert_eq!(summary_of(says("run", &["c0", "c1"]), &results), "[Summary] run\nbash failed: gone");
}

#[test]
fn e10_the_limit_of_a_short_text_is_in_characters_and_a_longer_one_is_clipped() {
    let ended = |text: &str| summary_of(says(text, &["c0"]), &[result("c0", big(40))]);
    let (accents, letters) = ("é".repeat(200), "a".repeat(200));
    assert_eq!(ended(&accents), format!("{COLLAPSED_PREFIX}{accents}"));
    assert_eq!(ended(&letters), format!("{COLLAPSED_PREFIX}{letters}"));
    assert_eq!(ended(&"a".repeat(201)), format!("{COLLAPSED_PREFIX}{}…", "a".repeat(199)));
    let alone = [Message::assistant(accents), Message::user("end")];
    assert_eq!(level2_summarize_old_turns(alone.to_vec(), 1), alone, "a summary would be heavier");
}

#[test]
fn e11_an_empty_text_does_not_hide_how_many_tools_were_used() {
    let results = [result("c0", big(40)), result("c1", "out")];
    assert_eq!(summary_of(says("", &["c0", "c1"]), &results), "[Summary] [Assistant used 2 tool(s)]");
    let thought = Block::Thinking { text: big(40), signature: None };
    assert_eq!(summary_of(Message::assistant_blocks(vec![thought]), &[]), "[Summary] [Assistant response]");
}

#[test]
fn a_summary_has_a_cap_whatever_the_reply_said_and_however_often_it_failed() {
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
fn e25_the_newest_result_is_whole_where_older_ones_are_enough() {
    let lines = "a line of output\n".repeat(100);
    let messages = [
        Message::user("task"),
        says("one", &["c0"]),
        result("c0", lines.as_str()),
        says("two", &["c1"]),
        result("c1", lines.as_str()),
    ];
    let (after, report) = compacted(&messages, &budget(800));
    assert_eq!(report.levels, ["tool-output"]);
    assert_ne!(after[2], messages[2]);
    assert_eq!(after[3..], messages[3..]);
    let (after, _) = compacted(&messages, &budget(500));
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
    let (after, _) = compacted(&messages, &budget(60));
    assert_eq!(after, [messages[0].clone(), messages[1].clone(), mark(), messages[3].clone()]);
}

#[test]
fn e12_summaries_are_not_summarized_again_and_the_oldest_are_the_first_to_go() {
    let old = |n: usize| Message::assistant(format!("{COLLAPSED_PREFIX}old {n} {}", big(40)));
    let mut messages: Vec<_> = (0..5).map(old).collect();
    messages.insert(0, Message::user("task"));
    messages.push(Message::user("end"));
    assert_eq!(level2_summarize_old_turns(messages.clone(), 1), messages);
    let after = level3_drop_middle(messages.clone(), &ContextConfig { keep_first: 0, ..CONTEXT_CONFIG }, 150);
    assert_eq!(after, [&[messages[0].clone(), mark()], &messages[4..]].concat());
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
fn e15_a_few_more_messages_start_no_compaction_and_the_front_stays_byte_for_byte() {
    let mut messages: Vec<_> = (0..10).map(|n| Message::user(format!("{n} {}", big(20)))).collect();
    messages.insert(0, Message::user("task"));
    let config = ContextConfig { keep_first: 1, keep_recent: 5, ..budget(150) };
    let (mut after, report) = compacted(&messages, &config);
    assert!(report.tokens_after <= 131, "seven eighths: {}", report.tokens_after);
    after.push(Message::assistant("fine"));
    let (mut again, report) = compacted(&after, &config);
    assert_eq!((&again, report.levels.len()), (&after, 0));
    for n in 0..20 {
        again.push(Message::user(format!("{n} {}", big(20))));
        again = compact_messages(again, &config);
        assert_eq!(again[..2], [Message::user("task"), mark()]);
    }
    assert_eq!(again.iter().filter(|message| **message == mark()).count(), 1);
}

#[test]
fn e26_line_ends_and_the_last_newline_of_what_is_kept_stay() {
    let lines = "one more line\r\n".repeat(40);
    let [after] =
        <[Message; 1]>::try_from(level1_truncate_tool_outputs(vec![result("c0", lines)], 6)).unwrap();
    let expected = "one more line\r\n\n[... 37 lines truncated ...]\n\none more line\r\none more line\r\n";
    assert_eq!(after.blocks(), [Block::text(expected)]);
}

#[test]
fn a_newest_reply_whose_results_are_too_large_together_is_shortened_and_stays() {
    let messages =
        script("u [a:bash t*30]x8 u a*20:bash,bash,bash,bash,bash,bash t*200 t*200 t*200 t*200 t*200 t*200");
    let (after, report) = compacted(&messages, &ContextConfig { keep_recent: 2, ..budget(900) });
    assert!(report.irreducible.is_none(), "{report:?}");
    assert_eq!(after.len() - after.iter().position(|message| *message == messages[18]).unwrap(), 7);
}

#[test]
fn the_mark_of_a_drop_never_stands_between_a_call_and_its_result() {
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
