//! `wb validate`, as a user runs it.

use std::fs;

use serde_json::{Value, json};
use wb_message::{Block, Message};

use crate::support::place::Place;
use crate::support::{Answer, root, wb, wb_with};

fn session(messages: &[Message]) -> Vec<u8> {
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(messages, &mut bytes).unwrap();
    bytes
}

/// A session in which the user spoke before the tool had answered.
fn interrupted() -> Vec<u8> {
    let call = Block::call("c1", "ls", json!({}));
    session(&[Message::user("Look."), Message::assistant_blocks(vec![call]), Message::user("Stop!")])
}

fn run(rest: &[&str], stdin: &[u8]) -> Answer {
    wb_with(&[&["validate", "-"], rest].concat(), stdin)
}

#[test]
fn a_finding_is_a_line_with_the_message_the_rule_and_what_to_do() {
    let answer = run(&[], &interrupted());
    assert_eq!(answer.code, 3, "{}", answer.stderr);
    let text = answer.stdout.replace("\n  ", " ");
    assert_eq!(
        text.lines().last(),
        Some(
            "message 1: call-unanswered: call `c1` of `ls` has no result; answer the call with a result that says it \
              was interrupted [anthropic, openai, openai-responses, gemini]"
        )
    );
    assert!(answer.stdout.contains("4 findings"), "{}", answer.stdout);
}

#[test]
fn a_session_that_waits_for_its_user_has_no_findings() {
    let answer = run(&[], &session(&[Message::user("Hello."), Message::assistant("Hi.")]));
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    assert!(answer.stdout.contains("no findings"), "{}", answer.stdout);
}

#[test]
fn a_session_of_an_agent_is_checked_as_its_provider_gets_it() {
    for (file, dialects) in [
        ("fixtures/sessions/flaky-checkout.jsonl", "anthropic"),
        ("fixtures/sessions/hello.jsonl", "anthropic, openai, openai-responses, gemini"),
    ] {
        let answer = wb(&["validate", file]);
        assert_eq!(answer.code, 0, "{}", answer.stdout);
        assert!(answer.stdout.contains(&format!(" messages · {dialects}\n")), "{}", answer.stdout);
    }
}

#[test]
fn messages_have_the_numbers_of_the_whole_session() {
    let place = Place::of_file(&root().join("fixtures/sessions/flaky-checkout.jsonl"));
    let run = |command: &str, rest: &[&str]| wb(&[&[command, &place.path("s.jsonl")], rest].concat());
    assert_eq!(run("compact", &["--in-place", "--force", "--allow-open"]).code, 0);
    let mut text = String::from_utf8(place.bytes()).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let call =
        json!({"type": "tool_use", "id": "toolu_lost", "name": "Bash", "input": {"command": "make lost"}});
    let entry = |uuid: &str, parent: &Value, role: &str, content: Value| {
        let message = json!({"role": role, "id": uuid, "content": content});
        json!({"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": last["sessionId"],
               "timestamp": last["timestamp"], "isSidechain": false, "message": message})
    };
    let calls = entry("lost", &last["uuid"], "assistant", json!([call]));
    let stops = entry("stop", &calls["uuid"], "user", json!("Stop!"));
    text.extend([calls, stops].map(|line| format!("{line}\n")));
    fs::write(place.path("s.jsonl"), text).unwrap();
    let found: Value = serde_json::from_str(&run("validate", &["--json"]).stdout).unwrap();
    let number = found["violations"][0]["message"].to_string();
    let shown = run("recall", &["--message", &number]).stdout;
    assert!(shown.contains("make lost"), "{number}: {shown}");
    for command in ["validate", "doctor", "repair"] {
        let shown = run(command, &[]).stdout;
        assert!(shown.contains(&format!("message {number}:")), "{command}: {shown}");
    }
}

#[test]
fn machines_get_one_object_with_the_place_and_the_source() {
    let answer = run(&["--json", "--dialect", "openai,gemini"], &interrupted());
    assert_eq!((answer.code, answer.stdout.lines().count()), (3, 1));
    let found: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!(found["dialects"], json!(["openai", "gemini"]));
    assert_eq!(found["n_violations"], 2);
    let first = &found["violations"][0];
    assert_eq!((&first["rule"], &first["message"]), (&json!("call-unanswered"), &json!(1)));
    assert_eq!(first["at"], "/messages/1/tool_calls/0");
    assert!(first["source"].as_str().unwrap().starts_with("https://"), "{first}");
}

/// Bodies with a call that has no result, and the position of the call.
fn bodies() -> [(Value, &'static str, usize); 4] {
    let function = json!({ "name": "ls", "arguments": "{}" });
    let calls = json!([{ "id": "c1", "type": "function", "function": function }]);
    let tool_use = json!({ "type": "tool_use", "id": "c1", "name": "ls", "input": {} });
    [
        (
            json!({ "model": "m", "system": "x", "messages": [
                { "role": "user", "content": "Look." }, { "role": "assistant", "content": [tool_use] }
            ] }),
            "anthropic",
            1,
        ),
        (
            json!({ "model": "m", "messages": [
                { "role": "system", "content": "x" }, { "role": "user", "content": "Look." },
                { "role": "assistant", "content": null, "tool_calls": calls }
            ] }),
            "openai",
            2,
        ),
        (
            json!({ "model": "m", "input": [
                { "role": "user", "content": "Look." },
                { "type": "function_call", "call_id": "c1", "name": "ls", "arguments": "{}" }
            ] }),
            "openai-responses",
            1,
        ),
        (
            json!({ "contents": [
                { "role": "user", "parts": [{ "text": "Look." }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "ls", "args": {} } }] }
            ] }),
            "gemini",
            1,
        ),
    ]
}

#[test]
fn request_bodies_are_checked_in_their_own_dialect_from_a_pipe_and_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body.json");
    for (body, dialect, at) in bodies() {
        std::fs::write(&file, serde_json::to_string_pretty(&body).unwrap()).unwrap();
        let of_file = wb(&["validate", file.to_str().unwrap()]);
        let piped = run(&[], body.to_string().as_bytes());
        for answer in [of_file, piped] {
            assert_eq!(answer.code, 3, "{dialect}: {}", answer.stderr);
            let expected = format!("message {at}: call-unanswered: ");
            assert!(answer.stdout.contains(&expected), "{dialect}: {}", answer.stdout);
            assert!(
                answer.stdout.contains(&format!("request · {} messages · {dialect}", at + 1)),
                "{}",
                answer.stdout
            );
        }
    }
}

#[test]
fn a_dialect_that_is_asked_for_goes_before_that_of_the_file() {
    let (body, ..) = bodies()[1].clone();
    let answer = run(&["--dialect", "anthropic"], body.to_string().as_bytes());
    assert!(answer.stdout.contains("· anthropic"), "{}", answer.stdout);
}

#[test]
fn a_dialect_that_is_not_there_is_wrong_usage_and_the_others_are_named() {
    let answer = run(&["--dialect", "claude"], b"");
    assert_eq!(answer.code, 2);
    assert!(
        answer.stderr.contains("expected one of anthropic, openai, openai-responses, gemini"),
        "{}",
        answer.stderr
    );
}

#[test]
fn what_is_neither_a_session_nor_a_request_is_an_error() {
    for stdin in [&b"hello"[..], b"", b"{\"a\":1}", b"[1,2]"] {
        let answer = run(&[], stdin);
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
        assert!(answer.stderr.starts_with("error: -: "), "{}", answer.stderr);
    }
}

#[test]
fn what_would_drive_a_terminal_is_spelled_out() {
    let call = Block::call("c\u{1b}[2J", "l\u{202e}s", json!({}));
    let answer = run(&[], &session(&[Message::user("Look."), Message::assistant_blocks(vec![call])]));
    assert!(!answer.stdout.contains(['\u{1b}', '\u{202e}']), "{}", answer.stdout);
}

/// Request bodies in which one message breaks a rule, with the violation.
fn refused_bodies() -> [(Value, &'static str); 6] {
    let call = json!({"type": "tool_use", "id": "c1", "name": "ls", "input": {}});
    let user = json!({"role": "user", "content": "Look."});
    let answer = json!({"role": "assistant", "content": [call]});
    let anthropic =
        |messages: &[&Value]| json!({"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages});
    let result =
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.rs"}]});
    let of_tool = json!({"role": "tool", "tool_call_id": "c1", "content": "what it said"});
    let system = json!({"role": "system", "content": "what it said"});
    let gemini = |role: &str, parts: Value| {
        let said = |role: &str, parts: Value| json!({"role": role, "parts": parts});
        let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
        let result = |name: &str, text: &str| json!([{"functionResponse": {"name": name, "response": {"output": text}}}]);
        json!({"contents": [
            said("user", json!([{"text": "Look."}])), said("model", json!([call("ls"), call("cat")])),
            said("user", result("ls", "a.rs")), said("user", result("cat", "what it said")), said(role, parts),
            said("user", json!([{"text": "Well?"}])),
        ]})
    };
    let mut without_parts = gemini("model", json!([]));
    without_parts["contents"][4].as_object_mut().unwrap().remove("parts");
    [
        (anthropic(&[&user, &answer, &of_tool]), "what it said"),
        (anthropic(&[&system, &user, &answer, &result]), "what it said"),
        (anthropic(&[&user, &answer, &result, &system]), "what it said"),
        (gemini("model", json!([{"text": "Seen."}])), "what it said"),
        (gemini("assistant", json!([{"text": "I see."}])), "I see."),
        (without_parts, "what it said"),
    ]
}

#[test]
fn findings_in_a_body_are_repaired_as_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("request.json");
    let file = path.to_str().unwrap();
    let code = |words: &[&str]| wb(&[words, &[file]].concat()).code;
    for (body, said) in refused_bodies() {
        let before = body.to_string();
        std::fs::write(&path, &before).unwrap();
        assert_eq!(code(&["validate"]), 3, "{body}");
        assert!([0, 3].contains(&code(&["doctor"])), "it is read: {body}");
        assert_eq!(code(&["repair", "--in-place", "--allow-open"]), 0, "{body}");
        let after = std::fs::read_to_string(&path).unwrap();
        assert!(after.contains(said) && !after.contains("interrupted"), "{after}");
        assert_eq!(code(&["validate"]), 0, "{after}");
        let again = wb(&["repair", "--in-place", "--allow-open", file]);
        assert!(again.stdout.contains("nothing to repair"), "{}", again.stdout);
        assert_eq!(code(&["undo", "--allow-open"]), 0);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    }
}

#[test]
fn a_request_that_two_providers_can_have_names_both() {
    let both = json!({ "model": "m", "messages": [{ "role": "user", "content": "Look." }] }).to_string();
    let own = json!({ "model": "m", "messages": [{ "role": "user", "content": "Look." }], "system": "x" })
        .to_string();
    for command in [&["weigh", "-"][..], &["doctor", "-"], &["compact", "-", "--force"], &["plan", "-", "-v"]]
    {
        let said = |text: &str, more: &[&str]| wb_with(&[command, more].concat(), text.as_bytes()).stdout;
        let note = "fits anthropic-messages too";
        assert!(said(&both, &[]).contains(note), "{command:?}: {}", said(&both, &[]));
        assert!(
            !said(&own, &[]).contains("fits") && !said(&both, &["--format", "openai-chat"]).contains("fits")
        );
    }
    assert!(run(&[], both.as_bytes()).stdout.contains("anthropic, openai"));
}
