//! Document 1: the recorded estimates, levels and trackers, and the documented faults.

use serde_json::{Value, json};
use wb_compat::three_level::{
    ContextConfig, ContextTracker, Usage, compact_messages, content_tokens, estimate_tokens,
    keep_within_budget, level1_truncate_tool_outputs, level2_summarize_old_turns, level3_drop_middle,
    message_tokens, total_tokens, truncate_head_tail,
};
use wb_message::{Block, Message};
use wb_testkit::script;
use wb_testkit::vectors::three_level::{Case, cases};

fn config(case: &Case) -> ContextConfig {
    let defaults = ContextConfig::default();
    ContextConfig {
        max_context_tokens: case.number("max_context_tokens", defaults.max_context_tokens),
        system_prompt_tokens: case.number("system_prompt_tokens", defaults.system_prompt_tokens),
        keep_recent: case.number("keep_recent", defaults.keep_recent),
        keep_first: case.number("keep_first", defaults.keep_first),
        tool_output_max_lines: case.number("tool_output_max_lines", defaults.tool_output_max_lines),
    }
}

/// Checks a function against all recorded answers of its operation; returns their number.
fn check_answers(op: &str, function: impl Fn(Vec<Message>, &ContextConfig) -> Vec<Message>) -> usize {
    let cases = cases(op);
    for case in &cases {
        let config = config(case);
        let recorded = |key: &str| &case.expect[key];
        assert_eq!(recorded("budget"), config.budget_tokens(), "{}", case.id);
        assert_eq!(recorded("tokens_in"), total_tokens(&case.messages), "{}", case.id);
        let after = function(case.messages.clone(), &config);
        assert_eq!(after, case.expected(), "{}", case.id);
        assert_eq!(recorded("tokens_out"), total_tokens(&after), "{}", case.id);
        assert_eq!(recorded("fits"), total_tokens(&after) <= config.budget_tokens(), "{}", case.id);
        let (orphans, dangling) = unpaired(&after);
        assert_eq!(recorded("orphan_results"), &json!(orphans), "{}", case.id);
        assert_eq!(recorded("dangling_calls"), &json!(dangling), "{}", case.id);
    }
    cases.len()
}

/// Returns the ids of results that answer no call of the newest reply, and those of its open calls;
/// a user message closes open calls.
pub(crate) fn unpaired(messages: &[Message]) -> (Vec<&str>, Vec<&str>) {
    let (mut open, mut orphans, mut dangling) = (Vec::<&str>::new(), Vec::new(), Vec::new());
    for message in messages {
        if matches!(message, Message::Assistant { .. } | Message::User { .. }) {
            dangling.append(&mut open);
            open.extend(message.calls().map(|(id, _, _)| id));
        }
        for id in message.answered_ids() {
            match open.iter().position(|call| *call == id) {
                Some(at) => drop(open.remove(at)),
                None => orphans.push(id),
            }
        }
    }
    dangling.append(&mut open);
    (orphans, dangling)
}

#[test]
fn every_recorded_level_is_equal() {
    let level1 = |messages, config: &ContextConfig| {
        level1_truncate_tool_outputs(messages, config.tool_output_max_lines)
    };
    assert_eq!(check_answers("level1", level1), 13);
    let level2 = |messages, config: &ContextConfig| level2_summarize_old_turns(messages, config.keep_recent);
    assert_eq!(check_answers("level2", level2), 24);
    let level3 =
        |messages, config: &ContextConfig| level3_drop_middle(messages, config, config.budget_tokens());
    assert_eq!(check_answers("level3", level3), 18);
}

#[test]
fn every_recorded_compaction_is_equal() {
    assert_eq!(check_answers("compact", compact_messages), 42);
}

fn numbers(list: &Value) -> Vec<Option<usize>> {
    let number = |value: &Value| value.as_u64().map(|number| usize::try_from(number).unwrap());
    list.as_array().unwrap().iter().map(number).collect()
}

/// Returns the tokens of a message's content; extensions have none in the published model.
fn content(message: &Message) -> Option<usize> {
    match message {
        Message::Custom { .. } => None,
        other => Some(content_tokens(other.blocks())),
    }
}

#[test]
fn every_recorded_estimate_is_equal() {
    let cases = cases("estimate");
    for case in &cases {
        let expect = |key: &str| numbers(&case.expect[key]);
        let each: Vec<_> = case.messages.iter().map(|message| Some(message_tokens(message))).collect();
        assert_eq!(each, expect("per_message"), "{}", case.id);
        assert_eq!(case.expect["total"], total_tokens(&case.messages), "{}", case.id);
        let texts = case.request["texts"].as_array().unwrap();
        let each: Vec<_> = texts.iter().map(|text| Some(estimate_tokens(text.as_str().unwrap()))).collect();
        assert_eq!(each, expect("texts"), "{}", case.id);
        assert_eq!(case.messages.iter().map(content).collect::<Vec<_>>(), expect("content"), "{}", case.id);
    }
    assert_eq!(cases.len(), 17);
}

#[test]
fn every_recorded_answer_of_the_tracker_is_equal() {
    let cases = cases("tracker");
    for case in &cases {
        let mut tracker = ContextTracker::default();
        for record in case.request["records"].as_array().unwrap() {
            let number = |key: &str| record[key].as_u64().unwrap_or(0);
            match record["index"].as_u64().map(|index| usize::try_from(index).unwrap()) {
                None => tracker.reset(),
                Some(index) => {
                    let usage = Usage {
                        input: number("input"),
                        output: number("output"),
                        cache_read: number("cache_read"),
                        cache_write: number("cache_write"),
                    };
                    tracker.record_usage(&usage, index);
                }
            }
        }
        assert_eq!(case.expect["tokens"], tracker.estimate(&case.messages), "{}", case.id);
        assert_eq!(case.expect["estimate"], total_tokens(&case.messages), "{}", case.id);
    }
    assert_eq!(cases.len(), 10);
}

fn budget(max_context_tokens: usize) -> ContextConfig {
    ContextConfig { max_context_tokens, system_prompt_tokens: 0, ..ContextConfig::default() }
}

#[test]
fn the_uncharged_marker_exceeds_the_budget() {
    let messages = script("u*400 u*400");
    let tokens = message_tokens(&messages[1]);
    let kept = keep_within_budget(messages.clone(), tokens);
    assert_eq!(kept[0], Message::user("[Context compacted: 1 messages removed]"));
    assert_eq!(kept[1], messages[1]);
    assert!(total_tokens(&kept) > tokens);
    let config = budget(tokens);
    assert_eq!(level3_drop_middle(messages.clone(), &config, tokens), kept);
    assert_eq!(compact_messages(messages, &config), kept);
}

#[test]
fn a_single_request_over_the_budget_leaves_only_the_marker() {
    let kept = compact_messages(vec![Message::user("x".repeat(400))], &budget(50));
    assert_eq!(kept, [Message::user("[Context compacted: 1 messages removed]")]);
}

#[test]
fn the_second_level_separates_a_call_from_its_result() {
    let after = level2_summarize_old_turns(script("u a:read,bash t t u"), 2);
    assert!(unpaired(&after).0.len() == 1, "{after:?}");
}

#[test]
fn a_cut_text_is_cut_again() {
    let text = "line\n".repeat(100);
    let once = truncate_head_tail(&text, 10).into_owned();
    assert!(once.contains("[... 90 lines truncated ...]"));
    assert!(truncate_head_tail(&once, 10).contains("[... 3 lines truncated ...]"));
    assert!(truncate_head_tail("a\nb", 1).len() > "a\nb".len(), "longer than the original");
}

#[test]
fn images_and_unknown_parts_have_a_weight() {
    assert_eq!(content_tokens(&[Block::image("image/png", "")]), 85);
    assert_eq!(content_tokens(&[Block::image("image/png", "A".repeat(20_000_000))]), 16_000);
    let command = Block::Command { command: "test".into(), args: None };
    assert!(content_tokens(&[command]) > 0);
    assert_eq!(message_tokens(&Message::bash("make", "done", None)), 4 + 1 + 1);
}
