//! Checks that what is read back is what was planned, in place and in another file.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::support::place::{entry, header, talk, text, user};
use crate::support::wb;

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "stopReason": "stop", "content": [{"type": "text", "text": text}]})
}

/// A session of pi in which the user ran a command last that printed much.
fn with_shell_output() -> String {
    let output = "a line of what the command printed\n".repeat(3_000);
    let shell = json!({"role": "bashExecution", "command": "make", "output": output, "exitCode": 0});
    let messages =
        [user("Build it."), assistant("I build it."), user("What do I run?"), assistant("make."), shell];
    let mut lines = vec![header("/project")];
    for (nth, message) in messages.iter().enumerate() {
        let parent = if nth == 0 { Value::Null } else { json!(format!("m{}", nth - 1)) };
        lines.push(entry(&format!("m{nth}"), &parent, message));
    }
    text(&lines)
}

fn json_of(words: &[&str]) -> Value {
    let answer = wb(words);
    assert_eq!(answer.code, 0, "{}{}", answer.stdout, answer.stderr);
    serde_json::from_str(&answer.stdout).unwrap()
}

/// Compacts a session in place and to another file, and returns the report and the weights of both.
fn compacted(bytes: &[u8], options: &[&str]) -> [Value; 3] {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["s.jsonl", "out.jsonl"].map(|name| folder.path().join(name).to_str().unwrap().to_owned());
    let [session, out] = paths.each_ref().map(String::as_str);
    fs::write(session, bytes).unwrap();
    let then = SystemTime::now() - Duration::from_mins(1);
    File::options().write(true).open(session).unwrap().set_modified(then).unwrap();
    let run = |file: &str, to: &[&str]| json_of(&[&["compact", file, "--json"], options, to].concat());
    run(session, &["-o", out]);
    let reported = run(session, &["--in-place"]);
    let weighed = |file: &str| json_of(&["weigh", file, "--json", "--window", "32k"]);
    [reported, weighed(session), weighed(out)]
}

#[test]
fn what_pi_cannot_shorten_is_not_said_to_be_shortened() {
    let options = ["--window", "8k", "--force"];
    let [reported, in_place, elsewhere] = compacted(with_shell_output().as_bytes(), &options);
    for weighed in [in_place, elsewhere] {
        assert_eq!((&reported["shortened"], &reported["changed"]), (&json!(0), &json!(true)));
        assert_eq!(weighed["messages"], reported["messages_after"]);
        let [planned, tokens] =
            [&reported["tokens_after"], &weighed["tokens"]].map(|tokens| tokens.as_u64().unwrap());
        assert!(planned.abs_diff(tokens) < 100, "{reported} {weighed}");
    }
}

#[test]
fn answers_that_follow_each_other_may_be_read_as_one() {
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload});
    let item = |payload: Value| line("response_item", payload);
    let mut lines = vec![line("session_meta", json!({"id": "s", "cwd": "/p", "cli_version": "0.99.0"}))];
    lines.push(item(
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]}),
    ));
    for nth in 0..60 {
        let id = format!("c{nth}");
        let reported = format!("Part {nth}. {}", "It says much. ".repeat(60));
        lines.push(item(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": reported}]})));
        lines.push(item(json!({"type": "function_call", "name": "shell", "arguments": "{}", "call_id": id})));
        lines.push(item(
            json!({"type": "function_call_output", "call_id": id, "output": "line\n".repeat(90)}),
        ));
    }
    let options = ["--window", "8k", "--strategy", "three-level"];
    let [reported, in_place, elsewhere] = compacted(text(&lines).as_bytes(), &options);
    assert_eq!(reported["changed"], true);
    assert_eq!((&in_place["messages"], &in_place["tokens"]), (&elsewhere["messages"], &elsewhere["tokens"]));
}

/// A session of Gemini CLI, whose list of messages a compaction replaces, with the counts.
fn counted_by_gemini() -> Vec<Value> {
    let header = json!({"sessionId": "5f0c", "projectHash": "ab12", "startTime": "2026-01-01T00:00:00.000Z", "kind": "main"});
    let turn = |nth: usize| {
        let at = "2026-01-01T00:00:01.000Z";
        let report = format!("Part {nth}. {}", "It says much. ".repeat(90));
        [
            json!({"id": format!("u{nth}"), "timestamp": at, "type": "user", "content": [{"text": "Report it."}]}),
            json!({"id": format!("g{nth}"), "timestamp": at, "type": "gemini", "content": report, "model": "gemini-3-flash",
                "tokens": {"input": 20_000 + 300 * nth, "output": 300, "cached": 0, "thoughts": 0, "tool": 0, "total": 20_300 + 300 * nth}}),
        ]
    };
    std::iter::once(header).chain((0..20).flat_map(turn)).collect()
}

#[test]
fn the_system_prompt_and_the_tools_are_still_weighed_after_a_compaction() {
    let options = ["--window", "32k", "--force"];
    let gemini = compacted(text(&counted_by_gemini()).as_bytes(), &["--force"]);
    let tokens = |it: &Value, name: &str| it[name].as_u64().unwrap();
    let (planned, read) = (tokens(&gemini[0], "tokens_after"), tokens(&gemini[1], "tokens"));
    assert!(planned > 18_000 && planned.abs_diff(read) < 100, "{gemini:?}");

    let [reported, in_place, elsewhere] = compacted(text(&talk("/project", 10)).as_bytes(), &options);
    let overhead = |it: &Value| tokens(it, "overhead");
    assert_eq!((&in_place["anchored"], &in_place["tokens"]), (&json!(false), &elsewhere["tokens"]));
    assert!(
        overhead(&in_place) >= overhead(&reported) && overhead(&reported) > 5_000,
        "{reported} {in_place}"
    );
}

#[test]
fn an_overhead_too_large_for_a_window_that_is_tried_out_is_left_out_before_and_after() {
    let mut lines = talk("/project", 60);
    for (nth, line) in lines.iter_mut().enumerate() {
        if let Some(usage) = line.pointer_mut("/message/usage") {
            // The system prompt and tools take most of the window.
            let input = 20_000 + 400 * nth;
            *usage = json!({"input": input, "output": 10, "totalTokens": input + 10});
        }
    }
    let [reported, in_place, elsewhere] = compacted(text(&lines).as_bytes(), &["--window", "32k"]);
    let limit = reported["limit"].as_u64().unwrap();
    assert_eq!((&reported["changed"], &reported["irreducible"]), (&json!(true), &json!(false)), "{reported}");
    for it in [&reported, &in_place, &elsewhere] {
        let tokens = it.get("tokens_after").unwrap_or(&it["tokens"]).as_u64().unwrap();
        assert_eq!(it["overhead"], 0, "{it}");
        assert!(tokens <= limit, "{it}");
    }
}

/// Gemini contents without call ids, as is usual: each task calls tools, also two at once.
fn contents_without_ids(tools: &[&str], n_at_once: usize) -> Value {
    let turn = |role: &str, parts: Value| json!({"role": role, "parts": parts});
    let task = |nth: usize| {
        let names: Vec<&str> = (nth..nth + n_at_once).map(|at| tools[at % tools.len()]).collect();
        let output = format!("line {nth} ").repeat(200);
        let call = |name| json!({"functionCall": {"name": name, "args": {"n": nth}}});
        let response = |name| json!({"functionResponse": {"name": name, "response": {"output": output}}});
        [
            turn("user", json!([{"text": format!("Please do task {nth}.")}])),
            turn("model", names.iter().map(call).collect()),
            turn("user", names.iter().map(response).collect()),
            turn("model", json!([{"text": format!("Task {nth} is done.")}])),
        ]
    };
    (0..30).flat_map(task).collect()
}

#[test]
fn calls_that_only_differ_by_order_are_compacted() {
    for (tools, n_at_once) in [(&["shell"][..], 1), (&["shell"], 2), (&["shell", "read", "edit"], 2)] {
        let contents = contents_without_ids(tools, n_at_once);
        for body in [json!({"contents": contents}), contents] {
            for strategy in ["window-budget", "three-level", "policy", "ladder"] {
                let options = ["--window", "8k", "--force", "--strategy", strategy];
                let [reported, in_place, elsewhere] = compacted(body.to_string().as_bytes(), &options);
                assert_eq!(reported["changed"], true, "{strategy}");
                // Consecutive user messages are one content, except digests.
                let n = |it: &Value, key: &str| it[key].as_u64().unwrap();
                let (n_read, n_planned) = (n(&in_place, "messages"), n(&reported, "messages_after"));
                let is_read = n_read == n_planned || strategy == "three-level" && n_read < n_planned;
                assert!(is_read, "{strategy} {tools:?}: {n_read} of {n_planned}");
                assert_eq!(in_place["tokens"], elsewhere["tokens"], "{strategy} {tools:?}");
            }
        }
    }
}

#[test]
fn a_digest_and_what_the_user_says_behind_it_are_one_content_of_gemini() {
    let folder = tempfile::tempdir().unwrap();
    let [file, out] = ["body.json", "out.json"].map(|name| folder.path().join(name).display().to_string());
    let mut contents = contents_without_ids(&["shell"], 1);
    contents.as_array_mut().unwrap().push(json!({"role": "user", "parts": [{"text": "What is left?"}]}));
    fs::write(&file, json!({ "contents": contents }).to_string()).unwrap();
    for strategy in ["window-budget", "three-level", "policy", "ladder"] {
        let options = ["--window", "8k", "--strategy", strategy, "-o", &out, "--overwrite", "--json"];
        let reported = json_of(&[&["compact", &file], &options[..]].concat());
        let (body, weighed) = (json_of(&["validate", &out, "--json"]), json_of(&["weigh", &out, "--json"]));
        assert_eq!(
            (&reported["changed"], &body["n_violations"]),
            (&json!(true), &json!(0)),
            "{strategy}: {body}"
        );
        assert!(weighed["messages"].as_u64() <= reported["messages_after"].as_u64(), "{strategy}");
        let again = json_of(&["compact", &out, "--force", "-o", &file, "--overwrite", "--json"]);
        assert_eq!(json_of(&["validate", &file, "--json"])["n_violations"], 0, "{strategy}: {again}");
        fs::write(&file, json!({ "contents": contents }).to_string()).unwrap();
    }
}

/// `weigh` writes no digest, so it must not depend on what is in one.
#[test]
fn weigh_names_the_cut_of_the_plan() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.jsonl");
    let talk: Vec<String> = (0..60)
        .flat_map(|n| {
            let rule = format!("Never change src/m{n}.rs, and keep the port of service {n}. ").repeat(8);
            let said = "That part of the work is done. ".repeat(20);
            [json!({"role": "user", "content": rule}), json!({"role": "assistant", "content": said})]
        })
        .map(|message| message.to_string())
        .collect();
    fs::write(&rules, talk.join("\n")).unwrap();
    for session in [rules.to_str().unwrap(), "fixtures/sessions/flaky-checkout.jsonl"] {
        for window in ["6k", "8k", "16k", "200k"] {
            let cut = |command: &str| json_of(&[command, session, "--window", window, "--json"]);
            assert_eq!(cut("weigh")["would_cut"], cut("plan")["cut"], "{session} in {window}");
        }
    }
}
