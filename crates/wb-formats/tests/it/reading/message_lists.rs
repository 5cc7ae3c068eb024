//! Documents that hold lists of messages: requests, and the trajectories and logs of agents.

use std::num::NonZeroUsize;

use insta::assert_snapshot;
use serde_json::json;
use wb_formats::FORMATS;
use wb_message::{Block, Message};
use wb_record::{Item, MemoryParts, Note, Stamp};

use crate::reading::composed::outline_of;
use crate::support::{bytes_of, detect, files_of, fixture, of_parts, open, shared};
use crate::writing::laws::holds;

#[test]
fn requests_of_chat_completions_keep_what_is_not_known_and_arguments_that_are_no_json() {
    assert_snapshot!(outline_of("openai-chat/body.json"));
    assert_snapshot!(outline_of("openai-chat/array.json"));
}

#[test]
fn results_are_named_by_the_calls_before_them_in_linear_time() {
    let call = |id: &str, name: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}});
    let result = |id: &str| json!({"role": "tool", "tool_call_id": id, "content": "a.rs"});
    let n = 20_000;
    let mut calls: Vec<_> = (0..n).map(|nth| call(&format!("c{nth}"), "read")).collect();
    calls.extend([call("two", "ls"), call("two", "cat")]);
    let mut messages =
        vec![json!({"role": "user", "content": "Look."}), json!({"role": "assistant", "tool_calls": calls})];
    messages.extend((0..n).map(|nth| result(&format!("c{nth}"))));
    messages.extend([result("two"), result("two"), result("none")]);
    let body = json!({"model": "gpt-4o", "messages": messages}).to_string();
    let view = of_parts(MemoryParts::from_bytes(body)).view("").unwrap();
    let names: Vec<&str> = view.messages[2..]
        .iter()
        .map(|message| match message {
            Message::ToolResult { tool_name, .. } => tool_name.as_str(),
            _ => "",
        })
        .collect();
    assert!(names[..n].iter().all(|name| *name == "read"));
    assert_eq!(names[n..], ["ls", "cat", ""]);
}

#[test]
fn requests_of_anthropic_have_each_result_as_a_message() {
    assert_snapshot!(outline_of("anthropic-messages/body.json"));
}

#[test]
fn a_trajectory_of_mini_swe_agent_reports_usage_and_failures() {
    assert_snapshot!(outline_of("mini-swe-agent/run.traj.json"));
}

#[test]
fn a_completion_of_openhands_is_a_request_and_its_answer() {
    assert_snapshot!(outline_of("openhands-llm-completions/step.json"));
}

#[test]
fn events_of_openhands_are_the_answers_that_they_were_made_of_and_what_a_condensation_left() {
    assert_snapshot!(outline_of("openhands-events/events.json"));
    assert_snapshot!(outline_of("openhands-events/runs.jsonl"));
    let document = of_parts(MemoryParts::from_bytes(fixture("openhands-events/runs.jsonl")));
    assert_eq!(document.conversations().unwrap(), ["5", "o__r-7"]);
    assert_eq!(document.view("5").unwrap().messages.len(), 7);
    assert!(!document.abilities().fold_head.is_there());
}

#[test]
fn a_session_of_cline_begins_with_its_summary_and_counts_only_what_was_sent_with_it() {
    assert_snapshot!(outline_of("cline/session.messages.json"));
}

#[test]
fn counts_of_kimi_cli_are_between_messages() {
    assert_snapshot!(outline_of("kimi-cli/context.jsonl"));
}

#[test]
fn a_log_of_kimi_code_is_the_history_that_it_builds() {
    assert_snapshot!(outline_of("kimi-code/wire.jsonl"));
}

#[test]
fn a_session_of_qwen_code_is_its_newest_way_after_its_last_compression() {
    assert_snapshot!(outline_of("qwen-code/session.jsonl"));
}

#[test]
fn a_session_of_droid_is_read_and_never_written() {
    assert_snapshot!(outline_of("droid/session.jsonl"));
    let document = of_parts(MemoryParts::from_bytes(fixture("droid/session.jsonl")));
    assert!(!document.abilities().fold_head.is_there());
}

#[test]
fn a_trajectory_of_swe_agent_has_results_by_the_ids_of_their_calls() {
    assert_snapshot!(outline_of("swe-agent/run.traj"));
}

#[test]
fn a_trajectory_of_swe_agent_is_one_although_a_call_does_not_say_who_speaks() {
    let mut run: serde_json::Value = serde_json::from_slice(fixture("swe-agent/run.traj")).unwrap();
    let call = run["history"][3].as_object_mut().unwrap();
    assert!(call.contains_key("action") && call.remove("role").is_some());
    assert_eq!(detect(run.to_string().as_bytes()).unwrap().name(), "swe-agent");
}

#[test]
fn each_run_of_tau_bench_is_a_conversation_as_the_agent_sees_it() {
    assert_snapshot!(outline_of("tau-bench/runs.json"));
    assert_snapshot!(outline_of("tau-bench/simulations.json"));
    let document = of_parts(MemoryParts::from_bytes(fixture("tau-bench/runs.json")));
    assert_eq!(document.conversations().unwrap(), ["0/0", "1/0"]);
    assert_eq!(document.view("0/0").unwrap().messages.len(), 9);
    assert!(document.view("2/0").is_err());
}

#[test]
fn a_log_of_inspect_has_its_attachments_in_place() {
    assert_snapshot!(outline_of("inspect-ai/log.json"));
}

#[test]
fn results_of_the_ai_sdk_are_distinguished() {
    assert_snapshot!(outline_of("ai-sdk/messages.json"));
}

#[test]
fn parts_of_a_request_of_pydantic_ai_are_messages() {
    assert_snapshot!(outline_of("pydantic-ai/messages.json"));
}

#[test]
fn messages_of_langchain_have_each_call_once_and_failed_results() {
    assert_snapshot!(outline_of("langchain/messages.json"));
}

#[test]
fn each_record_of_a_call_in_langchain_changes_with_it() {
    let mut document = of_parts(MemoryParts::from_bytes(fixture("langchain/messages.json")));
    let view = document.view("").unwrap();
    let short = |at: usize| {
        let mut body = view.messages[at].blocks().to_vec();
        let Some(Block::ToolCall { input, .. }) =
            body.iter_mut().find(|block| matches!(block, Block::ToolCall { .. }))
        else {
            panic!("no call in {body:?}")
        };
        *input = json!({ "cut": true });
        Item::Body(at, body.into())
    };
    let items: Vec<Item<'_>> = (0..view.messages.len())
        .map(|at| if matches!(at, 2 | 4) { short(at) } else { Item::Same(at) })
        .collect();
    let set = document.render("", &view, &items, &Stamp::default()).unwrap();
    document.commit(&set).unwrap();
    let bytes = document.parts().held("").unwrap().to_vec();
    let list: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let (first, second) = (&list[2]["data"], &list[4]["data"]);
    let cut = json!({ "cut": true });
    assert_eq!((&first["tool_calls"][0]["args"], &first["content"][2]["input"]), (&cut, &cut));
    assert_eq!((&second["tool_calls"][0]["args"], &second["additional_kwargs"]), (&cut, &json!({})));
    assert_eq!(second["invalid_tool_calls"][0]["args"], "{\"kind\": ");
}

#[test]
fn steps_of_atif_hold_their_results_and_count_themselves() {
    assert_snapshot!(outline_of("atif/trajectory.json"));
    let document = of_parts(MemoryParts::from_bytes(fixture("atif/trajectory.json")));
    assert_eq!(document.conversations().unwrap(), ["sub-1", ""]);
    assert_eq!(document.view("sub-1").unwrap().messages.len(), 2);
}

#[test]
fn steps_of_atif_are_numbered_anew_and_a_result_joins_the_step_of_its_call() {
    let mut document = of_parts(MemoryParts::from_bytes(fixture("atif/trajectory.json")));
    let view = document.view("").unwrap();
    let (digest, late) = (Message::user("All of it."), Message::tool_result("c4", "task", "And once more."));
    let kept = (7..view.messages.len()).map(Item::Same);
    let mut items: Vec<Item<'_>> = [Item::Same(0), Item::New(&digest)].into_iter().chain(kept).collect();
    items.insert(4, Item::New(&late));
    let set = document.render("", &view, &items, &Stamp::default()).unwrap();
    document.commit(&set).unwrap();
    let trajectory: serde_json::Value = serde_json::from_slice(document.parts().held("").unwrap()).unwrap();
    let steps = trajectory["steps"].as_array().unwrap();
    let ids: Vec<_> = steps.iter().map(|step| step["step_id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (1..=steps.len() as u64).collect::<Vec<_>>());
    assert_eq!(steps[2]["observation"]["results"][1]["content"], "And once more.", "{steps:#?}");
    let alone = [Item::New(&digest), Item::New(&late)];
    let refused = document.render("", &document.view("").unwrap(), &alone, &Stamp::default()).unwrap_err();
    assert!(refused.to_string().contains("a result apart from the step of its call"), "{refused}");
}

#[test]
fn the_providers_own_summary_hides_what_precedes_it() {
    assert_snapshot!(outline_of("anthropic-messages/compacted.json"));
}

/// Formats whose real files have tests of their own.
const TESTED_APART: [&str; 4] = ["claude-code", "codex", "opencode", "pi"];

#[test]
fn real_files_are_written_and_undone_as_composed_ones_are() {
    let Some(folder) = shared("sessions") else { return };
    let mut n_files = 0;
    let folders = FORMATS.iter().map(|row| row.format.name()).filter(|name| !TESTED_APART.contains(name));
    let folders = folders.map(|name| folder.join(name)).filter(|folder| folder.is_dir());
    for (name, path) in folders.flat_map(|folder| files_of(&folder)) {
        let parts = MemoryParts::from_bytes(bytes_of(&path));
        let Ok(document) = wb_formats::open(Box::new(parts.clone())) else { continue };
        n_files += 1;
        let view = document.view(&wb_formats::newest(document.as_ref()).unwrap()).unwrap();
        let tried = holds(&parts, 3);
        let is_foldable = document.abilities().fold_head.is_there();
        assert!(tried.folds > 0 || view.messages.len() < 4 || !is_foldable, "{name}: {tried:?}");
        assert!(tried.refused == 0 || tried.folds > tried.refused, "{name}: {tried:?}");
    }
    assert!(n_files >= 15, "only {n_files}");
}

#[test]
fn two_conversations_of_one_name_have_two() {
    let said = |role: &str, text: &str| json!({ "role": role, "content": text });
    let run = |text: &str| json!({ "task_id": 1, "trial": 0, "reward": 1.0, "info": {}, "traj": [said("user", text)] });
    let document =
        of_parts(MemoryParts::from_bytes(json!([run("one"), run("two")]).to_string().into_bytes()));
    assert_eq!(document.format().name(), "tau-bench");
    let names = document.conversations().unwrap();
    let texts: Vec<Message> =
        names.iter().map(|name| document.view(name).unwrap().messages[0].clone()).collect();
    assert_eq!(texts, [Message::user("one"), Message::user("two")]);
}

#[test]
fn a_part_of_an_unknown_kind_that_is_shortened_becomes_a_text() {
    let call = json!({ "id": "c1", "type": "function", "function": { "name": "ls", "arguments": "{}" } });
    let request = json!({ "model": "m", "messages": [
        { "role": "user", "content": "Look." },
        { "role": "assistant", "content": null, "tool_calls": [call] },
        { "role": "tool", "tool_call_id": "c1", "content": [{ "type": "system", "text": "a.rs b.rs c.rs" }] },
    ] });
    let mut document = of_parts(MemoryParts::from_bytes(request.to_string()));
    let view = document.view("").unwrap();
    let short = [Block::text("{\"type\":\"system\",\"text\":\"a.rs […]\"}")];
    let items = [Item::Same(0), Item::Same(1), Item::Body(2, short.as_slice().into())];
    let set = document.render("", &view, &items, &Stamp::default()).unwrap();
    document.commit(&set).unwrap();
    assert_eq!(document.view("").unwrap().messages[2].blocks(), short);
}

#[test]
fn what_identifies_a_request_may_follow_two_megabytes() {
    let picture = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "A".repeat(2_000_000) } });
    let call = json!({ "type": "tool_use", "id": "c1", "name": "ls", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "c1", "content": "a.rs" });
    let said = |role: &str, part: &serde_json::Value| json!({ "role": role, "content": [part] });
    let messages = [said("user", &picture), said("assistant", &call), said("user", &result)];
    let body = json!({ "messages": messages }).to_string();
    assert_eq!(detect(body.as_bytes()).unwrap().name(), "anthropic-messages");
    let tool = json!({ "name": "ls", "description": "d".repeat(2_000_000) });
    let contents = json!([{ "role": "user", "parts": [{ "text": "look" }] }]);
    let body = json!({ "tools": [{ "functionDeclarations": [tool] }], "contents": contents }).to_string();
    assert_eq!(detect(body.as_bytes()).unwrap().name(), "gemini-contents");
}

#[test]
fn a_message_of_a_role_that_is_not_known_is_passed_over_with_its_line() {
    let list = br#"[{"role":"system","content":"Be short."},
        {"role":"human","content":"Look."},
        {"role":"assistant","content":"Yes."}]"#;
    let view = open(list).unwrap();
    assert_eq!((view.format, view.messages.len()), ("openai-chat", 2));
    assert_eq!(view.notes, [Note::IgnoredLines { n: 1, line: NonZeroUsize::new(2) }]);
}
