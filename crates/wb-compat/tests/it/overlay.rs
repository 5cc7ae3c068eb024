//! The notes of document 1: the recorded blocks of loops, and the contexts of sessions.

use serde_json::{Value, json};
use wb_compat::overlay::{
    BlockCompactionStrategy, CompactedSection, CompactionBlock, CompactionConfig, CompactionScope,
    DefaultBlockCompaction, LoopMessage, LoopRecord, Session, TurnMap, TurnRange, build_context_from_session,
    compact_session_loops,
};
use wb_compat::three_level::total_tokens;
use wb_message::Message;
use wb_testkit::script;
use wb_testkit::vectors::three_level::{Case, cases, messages, output};

use super::three_level::unpaired;

fn config(case: &Case) -> CompactionConfig {
    let defaults = CompactionConfig::default();
    let scope = &case.config["scope"];
    let fixed = scope["fixed"].as_u64().map(|n| CompactionScope::FixedCount(usize::try_from(n).unwrap()));
    let by_tokens = (scope == "token_budget").then_some(CompactionScope::TokenBudget);
    CompactionConfig {
        compaction_scope: fixed.or(by_tokens).unwrap_or(defaults.compaction_scope),
        keep_first_turns: case.number("keep_first_turns", defaults.keep_first_turns),
        keep_recent_turns: case.number("keep_recent_turns", defaults.keep_recent_turns),
        max_summary_tokens: case.number("max_summary_tokens", defaults.max_summary_tokens),
        tool_output_max_lines: case.number("tool_output_max_lines", defaults.tool_output_max_lines),
    }
}

fn budget(case: &Case) -> usize {
    let number = |key, default| case.number(key, default);
    number("max_context_tokens", 100_000).saturating_sub(number("system_prompt_tokens", 4_000))
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Reads the messages of a loop with their turns.
fn loop_messages(list: &Value) -> Vec<LoopMessage> {
    let turns = items(list).iter().map(|value| value["turn"].as_u64().map(|at| u32::try_from(at).unwrap()));
    let messages = messages(list).into_iter().zip(turns);
    messages.map(|(message, turn_index)| LoopMessage { message, turn_index }).collect()
}

fn plain(messages: &[LoopMessage]) -> Vec<Message> {
    messages.iter().map(|it| it.message.clone()).collect()
}

fn range(recorded: &Value) -> Option<TurnRange> {
    let turn = |at: usize| recorded[at].as_u64().map(|turn| usize::try_from(turn).unwrap());
    Some(TurnRange { start_turn: turn(0)?, end_turn: turn(1)? })
}

fn outputs(recorded: &Value, input: &[Message]) -> Vec<Message> {
    items(recorded).iter().map(|value| output(value, input)).collect()
}

fn section(recorded: &Value, input: &[Message]) -> Option<CompactedSection> {
    let messages = outputs(&recorded["messages"], input);
    Some(CompactedSection { range: range(&recorded["range"])?, messages })
}

/// Reads a recorded block over the messages of its loop.
fn block(recorded: &Value, input: &[Message]) -> Option<CompactionBlock> {
    (!recorded.is_null()).then(|| CompactionBlock {
        keep_first: range(&recorded["keep_first"]),
        keep_recent: section(&recorded["keep_recent"], input),
        keep_compacted: section(&recorded["keep_compacted"], input),
    })
}

#[test]
fn every_recorded_block_and_its_rendering_are_equal() {
    let cases = cases("block");
    for case in &cases {
        let (config, loop_messages) = (config(case), loop_messages(&case.request["messages"]));
        let is_most_recent = case.request["most_recent"].as_bool().unwrap();
        let made = DefaultBlockCompaction.compact(&loop_messages, &config, is_most_recent);
        let recorded = |key: &str| &case.expect[key];
        assert_eq!(recorded("budget"), budget(case), "{}", case.id);
        assert_eq!(recorded("tokens_in"), total_tokens(&case.messages), "{}", case.id);
        assert_eq!(Some(&made), block(recorded("block"), &case.messages).as_ref(), "{}", case.id);
        let rendered = rendered(loop_messages, made, is_most_recent);
        assert_eq!(rendered, outputs(recorded("rendered"), &case.messages), "{}", case.id);
        assert_eq!(recorded("tokens_out"), total_tokens(&rendered), "{}", case.id);
        assert_eq!(recorded("fits"), total_tokens(&rendered) <= budget(case), "{}", case.id);
        let (orphans, dangling) = unpaired(&rendered);
        assert_eq!(recorded("orphan_results"), &json!(orphans), "{}", case.id);
        assert_eq!(recorded("dangling_calls"), &json!(dangling), "{}", case.id);
    }
    assert_eq!(cases.len(), 28);
}

/// Renders a loop with its block; an empty loop follows unless it is current.
fn rendered(messages: Vec<LoopMessage>, block: CompactionBlock, is_current: bool) -> Vec<Message> {
    let record = LoopRecord { compaction_block: Some(block), ..LoopRecord::new("L0", None, messages) };
    let session = Session { loops: vec![record, LoopRecord::new("L1", Some("L0"), Vec::new())] };
    let current = if is_current { "L0" } else { "L1" };
    build_context_from_session(&session, current, &CompactionConfig::default(), 0)
}

fn session(case: &Case) -> Session {
    let record = |value: &Value| {
        LoopRecord::new(
            value["id"].as_str().unwrap(),
            value["parent"].as_str(),
            loop_messages(&value["messages"]),
        )
    };
    Session { loops: items(&case.request["loops"]).iter().map(record).collect() }
}

#[test]
fn every_recorded_session_is_equal() {
    let cases = cases("session");
    for case in &cases {
        let (config, max_tokens, mut session) = (config(case), budget(case), session(case));
        for current in items(&case.request["compact"]) {
            let current = current.as_str().unwrap();
            compact_session_loops(&mut session, current, &DefaultBlockCompaction, &config, max_tokens);
        }
        let current = case.request["current"].as_str().unwrap();
        assert_eq!(case.expect["chain"], json!(session.loop_chain_to(current)), "{}", case.id);
        let input = |loop_id: &Value| {
            let record = session.loops.iter().find(|record| record.loop_id == *loop_id);
            record.map_or_else(Vec::new, |record| plain(&record.messages))
        };
        for record in &session.loops {
            let recorded = block(&case.expect["blocks"][&record.loop_id], &plain(&record.messages));
            assert_eq!(record.compaction_block, recorded, "{} {}", case.id, record.loop_id);
        }
        let context = build_context_from_session(&session, current, &config, max_tokens);
        let recorded =
            items(&case.expect["rendered"]).iter().map(|value| output(value, &input(&value["loop"])));
        assert_eq!(context, recorded.collect::<Vec<_>>(), "{}", case.id);
        assert_eq!(case.expect["tokens_out"], total_tokens(&context), "{}", case.id);
    }
    assert_eq!(cases.len(), 12);
}

fn script_with_turns(line: &str, turns: &[Option<u32>]) -> Vec<LoopMessage> {
    let messages = script(line).into_iter().zip(turns);
    messages.map(|(message, turn)| LoopMessage { message, turn_index: *turn }).collect()
}

#[test]
fn a_message_without_a_turn_splits_the_turn_around_it() {
    let messages = script_with_turns("u a:read s t a", &[None, Some(0), None, Some(0), Some(1)]);
    let turns = TurnMap::from_messages(&messages);
    assert_eq!(turns.turn_count(), 5);
    let n_messages =
        |start_turn, end_turn| turns.messages_for_range(&messages, TurnRange { start_turn, end_turn }).len();
    let ranges = [(1, 3), (0, 4), (0, 5), (4, 3), (5, 5)];
    assert_eq!(ranges.map(|(start, end)| n_messages(start, end)), [3, 5, 0, 0, 0]);
    assert_eq!(TurnMap::from_messages(&[]).turn_count(), 0);
}

#[test]
fn a_cycle_ends_and_an_unknown_loop_renders_nothing() {
    let record = |id: &str, parent: &str| LoopRecord::new(id, Some(parent), script_with_turns("u", &[None]));
    let mut session = Session { loops: vec![record("L0", "L1"), record("L1", "L0")] };
    assert_eq!(session.loop_chain_to("L1"), ["L0", "L1"]);
    let config = CompactionConfig::default();
    compact_session_loops(&mut session, "gone", &DefaultBlockCompaction, &config, 100);
    assert_eq!(build_context_from_session(&session, "gone", &config, 100), []);
    assert_eq!(build_context_from_session(&session, "L1", &config, 100).len(), 2);
}
