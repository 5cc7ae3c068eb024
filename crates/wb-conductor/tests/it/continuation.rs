//! Answers that were cut off at their limit.

use serde_json::{Value, json};
use wb_budget::{TokenHeuristic, Usage};
use wb_conductor::{
    CONTINUATION_PROMPT, CallDraft, DEFAULT_MAX_CONTINUATIONS, ReplyDraft, TruncationState,
    continuation_message, needs_truncation_recovery,
};
use wb_invoke::{Emission, Reply, StopReason};
use wb_message::markers::{Visibility, visibility};
use wb_message::{Block, Message};
use wb_testkit::vectors::policy::rows;

fn call(args: &str) -> CallDraft {
    CallDraft { id: "c".to_owned(), name: "write".to_owned(), args: args.to_owned() }
}

fn cut(text: &str, calls: Vec<CallDraft>) -> ReplyDraft {
    ReplyDraft { text: text.to_owned(), calls, stop: Some(StopReason::MaxOutput) }
}

fn heard(emissions: &[Emission]) -> ReplyDraft {
    let mut draft = ReplyDraft::default();
    for emission in emissions {
        draft.push(emission);
    }
    draft
}

fn streamed(id: &str, args: &[&str]) -> Vec<Emission> {
    let start = Emission::ToolCallStart { id: id.to_owned(), name: "write".to_owned() };
    let delta = |args: &&str| Emission::ToolCallDelta { id: id.to_owned(), args_delta: (*args).to_owned() };
    [start].into_iter().chain(args.iter().map(delta)).collect()
}

fn says(delta: &str) -> Emission {
    Emission::Text { delta: delta.to_owned() }
}

fn stops(stop: StopReason) -> Emission {
    Emission::Stop { stop }
}

fn done(blocks: Vec<Block>, stop: StopReason) -> Emission {
    Emission::Done { reply: Reply { model: "m".to_owned(), blocks, usage: Usage::EMPTY, stop } }
}

/// An answer as it was recorded: stop, text, whether a call is incomplete, how many are complete.
fn recorded(result: &Value) -> ReplyDraft {
    let stop = match result[0].as_str().unwrap() {
        "max" => Some(StopReason::MaxOutput),
        "tool" => Some(StopReason::ToolCalls),
        "end" | "seq" => Some(StopReason::Complete),
        "none" => None,
        other => panic!("unknown stop {other}"),
    };
    let mut calls = vec![call("{}"); usize::try_from(result[3].as_u64().unwrap()).unwrap()];
    if result[2] == true {
        calls.push(call("{\"path\":\"a"));
    }
    ReplyDraft { text: result[1].as_str().unwrap().to_owned(), calls, stop }
}

#[test]
fn every_recorded_decision_is_equal() {
    let rows = rows("aw.recovery");
    for row in &rows {
        let max = u32::try_from(row.input["max"].as_u64().unwrap()).unwrap();
        let mut state = TruncationState::default();
        let results = row.input["results"].as_array().unwrap();
        let retry: Vec<_> = results.iter().map(|result| state.should_retry(&recorded(result), max)).collect();
        assert_eq!(json!(retry), row.output["retry"], "{}", row.tag);
        assert_eq!(json!(state.retries), row.output["retries_used"], "{}", row.tag);
    }
    assert_eq!(rows.len(), 2);
}

#[test]
fn the_continuation_is_internal_and_has_its_cap() {
    insta::assert_snapshot!(CONTINUATION_PROMPT);
    assert_eq!(visibility(&continuation_message()), Visibility::Internal);
    assert!(TokenHeuristic::DEFAULT.text_tokens(CONTINUATION_PROMPT) <= 80);
    assert_eq!(DEFAULT_MAX_CONTINUATIONS, 2);
}

#[test]
fn all_parts_are_the_answer_in_order_and_a_step_starts_anew() {
    let mut state = TruncationState::default();
    let parts = ["Once upon a ti", "me there was a transc", "ript."];
    for part in &parts[..2] {
        let appended = state.continuation(&cut(part, vec![]), DEFAULT_MAX_CONTINUATIONS).unwrap();
        assert_eq!(appended, [Message::assistant(*part), continuation_message()]);
    }
    let last = ReplyDraft { stop: Some(StopReason::Complete), ..cut(parts[2], vec![]) };
    assert_eq!(state.continuation(&last, DEFAULT_MAX_CONTINUATIONS), None);
    assert_eq!(state.finish(&last.text), "Once upon a time there was a transcript.");
    assert_eq!(state, TruncationState::default());
    assert_eq!(state.finish("next"), "next");
}

#[test]
fn an_answer_that_is_cut_to_the_end_keeps_all_its_parts() {
    let mut state = TruncationState::default();
    for part in ["a", "b"] {
        assert!(state.should_retry(&cut(part, vec![]), DEFAULT_MAX_CONTINUATIONS));
    }
    assert!(!state.should_retry(&cut("c", vec![]), DEFAULT_MAX_CONTINUATIONS));
    assert_eq!((state.retries, state.finish("c").as_str()), (2, "abc"));
}

#[test]
fn zero_continuations_switch_it_off() {
    let mut state = TruncationState::default();
    assert!(!state.should_retry(&cut("text", vec![]), 0));
    assert_eq!(state, TruncationState::default());
}

#[test]
fn after_a_cut_call_the_text_starts_a_new_paragraph() {
    let mut state = TruncationState::default();
    let appended = state.continuation(&cut("I write it.", vec![call("{\"pa")]), 1).unwrap();
    assert_eq!(appended, [Message::assistant("I write it."), continuation_message()], "no call is replayed");
    assert_eq!(state.finish("In two pieces."), "I write it.\n\nIn two pieces.");
    let appended = state.continuation(&cut(" \n", vec![call("{\"pa")]), 1).unwrap();
    assert_eq!(appended, [continuation_message()], "no provider takes an empty answer");
}

#[test]
fn a_call_that_was_cut_anywhere_is_never_complete() {
    let whole = r#"{"path":"a \" é","n":[1,{"x":null}]}"#;
    for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let (head, tail) = whole[..end].split_at(whole[..end].floor_char_boundary(end / 2));
        let mut emissions = vec![says("I write.")];
        emissions.extend(streamed("b", &["{}"]));
        emissions.extend(streamed("c", &[head, tail]));
        emissions.push(stops(StopReason::MaxOutput));
        let draft = heard(&emissions);
        assert_eq!(draft.complete_calls(), [Block::call("b", "write", json!({}))], "{end}");
        assert!(needs_truncation_recovery(&draft), "{end}");
    }
}

#[test]
fn only_objects_are_arguments_and_blanks_are_an_empty_one() {
    let complete =
        |args: &str, stop| ReplyDraft { stop: Some(stop), ..cut("", vec![call(args)]) }.complete_calls();
    for args in ["[]", "null", "\"x\"", "7", "{} {}", "{'a':1}", "{\"a\":1", &"[".repeat(100_000)] {
        assert_eq!(complete(args, StopReason::ToolCalls), [], "{args:.20}");
    }
    let empty = vec![Block::call("c", "write", json!({}))];
    assert_eq!(complete(" ", StopReason::ToolCalls), empty);
    assert_eq!(complete("", StopReason::MaxOutput), [], "it may have been about to say more");
    assert_eq!(complete("{}", StopReason::MaxOutput), empty);
}

#[test]
fn a_malformed_call_of_a_whole_answer_is_not_continued() {
    let draft = ReplyDraft { stop: Some(StopReason::ToolCalls), ..cut("t", vec![call("{")]) };
    assert!(!needs_truncation_recovery(&draft));
    assert_eq!(draft.complete_calls(), []);
}

#[test]
fn calls_that_stream_at_the_same_time_keep_their_arguments() {
    let mut emissions = streamed("a", &["{\"n\""]);
    emissions.extend(streamed("b", &["{\"m\""]));
    let delta = |id: &str, args: &str| Emission::ToolCallDelta { id: id.into(), args_delta: args.into() };
    emissions.extend([
        delta("a", ":1}"),
        delta("b", ":2}"),
        delta("nobody", "{}"),
        stops(StopReason::ToolCalls),
    ]);
    let expected = [Block::call("a", "write", json!({"n": 1})), Block::call("b", "write", json!({"m": 2}))];
    assert_eq!(heard(&emissions).complete_calls(), expected);
}

#[test]
fn streamed_arguments_win_over_those_of_the_whole_answer() {
    let mut emissions = streamed("c", &["{\"path\":\"a"]);
    emissions.push(done(vec![Block::call("c", "write", json!({}))], StopReason::MaxOutput));
    assert_eq!(heard(&emissions).complete_calls(), []);

    let whole = Block::call("c", "write", json!({"path": "a"}));
    let mut emissions = streamed("c", &[]);
    emissions.push(done(vec![Block::text("all"), whole.clone()], StopReason::ToolCalls));
    let draft = heard(&emissions);
    assert_eq!((draft.text.as_str(), draft.complete_calls()), ("all", vec![whole]));
}

#[test]
fn an_answer_that_comes_whole_is_read_as_one_that_streams() {
    let raw = |raw: &str| Block::call("c", "write", json!(raw));
    let draft = |blocks| heard(&[done(blocks, StopReason::MaxOutput)]);
    let cut = draft(vec![Block::text("a"), Block::text("b"), raw("{\"path\":\"a")]);
    assert_eq!((cut.text.as_str(), cut.complete_calls().len()), ("ab", 0));
    let whole = draft(vec![raw("{\"n\":1}"), Block::call("d", "ls", json!({"z": 1, "a": 2}))]);
    let calls = whole.complete_calls();
    assert_eq!(calls[0], Block::call("c", "write", json!({"n": 1})));
    let Block::ToolCall { input, .. } = &calls[1] else { panic!() };
    assert_eq!(input.to_string(), r#"{"z":1,"a":2}"#, "keys keep their order");
    let texts = heard(&[says("streamed"), done(vec![], StopReason::Complete)]);
    assert_eq!(texts.text, "streamed");
}

#[test]
fn a_state_survives_json_and_an_older_one_is_read() {
    let mut state = TruncationState::default();
    state.should_retry(&cut("part", vec![]), 2);
    let line = serde_json::to_string(&state).unwrap();
    assert_eq!(line, r#"{"retries":1,"parts":["part"]}"#);
    assert_eq!(serde_json::from_str::<TruncationState>(&line).unwrap(), state);
    let older: TruncationState = serde_json::from_str(r#"{"retries":1}"#).unwrap();
    assert_eq!((older.retries, older.parts.len()), (1, 0));
}
