//! Checks that violations in small sessions and requests are found and repaired in place, and that
//! the repair can be undone.

use std::path::Path;

use serde_json::{Value, json};

use crate::support::wb;

/// A file: its name, its content, the rule that it breaks, and the content read after its repair.
type Case<'a> = (&'a str, Vec<Value>, &'a str, &'a str);

/// Writes a file of lines, or of one document, and runs every command on it that detects or
/// repairs.
fn is_found_repaired_and_undone(folder: &Path, (name, lines, rule, repaired): &Case<'_>) {
    let file = folder.join(name);
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let text = lines.join("\n") + "\n";
    std::fs::write(&file, &text).unwrap();
    let path = file.to_str().unwrap();
    let run = |words: &[&str]| wb(&[words, &[path]].concat());
    let found = run(&["validate"]);
    assert!(found.code == 3 && found.stdout.contains(rule), "{name}: {}{}", found.stdout, found.stderr);
    let reported = run(&["doctor"]);
    assert!(reported.stdout.contains("wb repair "), "{name}: {}{}", reported.stdout, reported.stderr);
    let done = run(&["repair", "--in-place", "--allow-open"]);
    assert_eq!(done.code, 0, "{name}: {}{}", done.stdout, done.stderr);
    let now = std::fs::read_to_string(&file).unwrap();
    assert!(now.contains(repaired), "{name}: {now}");
    assert_eq!(run(&["validate"]).code, 0, "{name}: {}", run(&["validate"]).stdout);
    let again = run(&["repair", "--in-place", "--allow-open"]);
    assert!(again.stdout.contains("nothing to repair"), "{name}: {}", again.stdout);
    assert_eq!(run(&["undo", "--allow-open"]).code, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "{name}");
}

fn claude(name: &str) -> Vec<Value> {
    let call = json!({"type": "tool_use", "id": "t1", "name": name, "input": {"name": name}});
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": "a.rs"});
    let line = |kind: &str, id: &str, before: Value, content: Value| {
        json!({"type": kind, "uuid": id, "parentUuid": before, "sessionId": "s", "cwd": "/w",
            "message": {"role": kind, "content": content}})
    };
    vec![
        line("user", "1", Value::Null, json!("Look.")),
        line("assistant", "2", json!("1"), json!([call])),
        line("user", "3", json!("2"), json!([result])),
    ]
}

fn codex(name: &str) -> Vec<Value> {
    let item = |payload: Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "response_item", "payload": payload});
    vec![
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/w"}}),
        item(
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Look."}]}),
        ),
        item(json!({"type": "function_call", "name": name, "arguments": "{}", "call_id": "c1"})),
        item(json!({"type": "function_call_output", "call_id": "c1", "output": "a.rs"})),
    ]
}

fn gemini(name: &str) -> Value {
    json!({"contents": [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": name, "response": {"output": "a.rs"}}}]},
    ]})
}

#[test]
fn a_call_of_a_tool_by_a_name_that_is_refused_gets_one_that_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut spaced = codex("read file");
    spaced[2]["payload"]["namespace"] = json!("my docs");
    for case in [
        ("claude.jsonl", claude("fs.read"), "tool-name", r#""name":"fs_read","input":{"name":"fs.read"}"#),
        ("codex.jsonl", codex("container.exec"), "tool-name", r#""name":"container_exec""#),
        ("spaced.jsonl", spaced, "tool-name", r#""namespace":"my_docs""#),
        ("gemini.json", vec![gemini("read file")], "tool-name", r#"{"functionResponse":{"name":"read_file""#),
    ] {
        is_found_repaired_and_undone(folder.path(), &case);
    }
}

/// Returns a chat request with a call, its result, and the next user message.
fn chat(call: &Value, next: &Value) -> Value {
    json!({"model": "gpt-4o", "messages": [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a.rs"},
        next,
    ]})
}

fn responses(items: &[Value]) -> Value {
    let user = json!({"role": "user", "content": "Look."});
    let items = [&[user], items].concat();
    json!({"model": "gpt-5", "input": items})
}

#[test]
fn roles_types_and_ids_of_requests_are_repaired_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (user, function) =
        (json!({"role": "user", "content": "Next."}), json!({"name": "ls", "arguments": "{}"}));
    let whole = json!({"id": "c1", "type": "function", "function": function});
    let human = json!({"role": "human", "content": "Next."});
    let said = |id: &str| json!({"type": "message", "id": id, "role": "assistant", "content": "Yes."});
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let called = json!({"role": "function_call", "content": "ls()"});
    for case in [
        ("role.json", vec![chat(&whole, &human)], "role-unknown", r#"{"role":"user","content":"Next."}"#),
        (
            "type.json",
            vec![chat(&json!({"id": "c1", "function": function}), &user)],
            "call-untyped",
            r#""type":"function""#,
        ),
        (
            "item-role.json",
            vec![responses(&[called])],
            "role-unknown",
            r#"{"role":"assistant","content":"ls()"}"#,
        ),
        (
            "item-id.json",
            vec![responses(&[said("msg_1"), said("msg_1")])],
            "item-repeated",
            r#"{"type":"message","role":"assistant","content":"Yes."}"#,
        ),
        (
            "reasoning.json",
            vec![responses(&[reasoning.clone(), said("msg_1"), reasoning, said("msg_2")])],
            "item-repeated",
            r#""id":"msg_1","role":"assistant","content":"Yes."},{"type":"message","id":"msg_2""#,
        ),
    ] {
        is_found_repaired_and_undone(folder.path(), &case);
    }
}

#[test]
fn a_result_behind_what_the_user_said_meanwhile_moves_to_its_call() {
    let folder = tempfile::tempdir().unwrap();
    let call = json!({"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    let messages = [
        json!({"role": "user", "content": "Look."}),
        json!({"role": "assistant", "content": "I look.", "tool_calls": [call]}),
        json!({"role": "user", "content": "Quick!"}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "a.rs"}),
        json!({"role": "assistant", "content": "There is one file."}),
    ];
    let marks =
        [json!({"role": "_system_prompt", "content": "Be short."}), json!({"role": "_checkpoint", "id": 0})];
    let kimi = [&marks, messages.as_slice()].concat();
    let result = r#""tool_call_id":"c1","content":"a.rs"}"#;
    let (line, item) = (
        format!("{result}\n{}", r#"{"role":"user","content":"Quick!"}"#),
        format!("{result},{}", r#"{"role":"user","content":"Quick!"}"#),
    );
    is_found_repaired_and_undone(folder.path(), &("context.jsonl", kimi, "result-misplaced", &line));
    let list = ("list.json", vec![messages.to_vec().into()], "result-misplaced", item.as_str());
    is_found_repaired_and_undone(folder.path(), &list);
}

#[test]
fn another_provider_is_written_names_that_it_takes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gemini.json");
    std::fs::write(&file, gemini("fs.read").to_string()).unwrap();
    assert_eq!(wb(&["validate", file.to_str().unwrap()]).code, 0);
    for to in ["anthropic", "openai", "openai-responses", "claude-code", "codex"] {
        let done = wb(&["convert", file.to_str().unwrap(), "--to", to]);
        assert!(done.stderr.contains("1 name of a tool in calls"), "{to}: {}", done.stderr);
        assert!(done.stdout.contains("fs_read") && !done.stdout.contains("fs.read"), "{to}: {}", done.stdout);
        assert!(!done.stderr.contains("finding"), "{to}: {}", done.stderr);
    }
}
