//! `wb repair`, `wb convert` and `wb formats`, as a user runs them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wb_message::{Block, Message};

use crate::support::{Answer, wb};

/// Writes a session that has the result of a call, but not the call.
fn broken(folder: &Path) -> PathBuf {
    let messages = [
        Message::user("Look."),
        Message::assistant("I look."),
        Message::tool_result("c1", "ls", "a.rs"),
        Message::assistant("There is one file."),
    ];
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&messages, &mut bytes).unwrap();
    let file = folder.join("broken.jsonl");
    std::fs::write(&file, bytes).unwrap();
    file
}

fn run(words: &[&str], file: &Path) -> Answer {
    wb(&[words, &[file.to_str().unwrap()]].concat())
}

/// Checks that a second repair of a file finds nothing, and that the first can be undone.
fn is_repaired_once_and_undone(file: &Path, before: &[u8]) {
    let again = run(&["repair", "--in-place", "--allow-open"], file);
    assert!(again.stdout.contains("nothing to repair"), "{}", again.stdout);
    assert_eq!(run(&["undo", "--allow-open"], file).code, 0);
    assert_eq!(std::fs::read(file).unwrap(), before);
}

#[test]
fn a_result_without_its_call_is_found_taken_out_and_can_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let file = broken(folder.path());
    let before = std::fs::read(&file).unwrap();
    let reported = run(&["doctor"], &file);
    assert_eq!(reported.code, 3, "{}", reported.stdout);
    let words = reported.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("answers no call (line 4)"), "{words}");
    assert!(reported.stdout.contains("wb repair "), "{}", reported.stdout);

    let shown = run(&["repair"], &file);
    assert!(shown.stdout.contains("4 findings would be repaired"), "{}", shown.stdout);
    assert_eq!(std::fs::read(&file).unwrap(), before, "nothing is written without --in-place");
    let repaired = run(&["repair", "--in-place", "--allow-open"], &file);
    assert_eq!(repaired.code, 0, "{}{}", repaired.stdout, repaired.stderr);
    let (_, shown) = repaired.stdout.split_once("see the change: wb show ").unwrap();
    let (word, id) = shown.lines().next().unwrap().rsplit_once(' ').unwrap();
    assert_eq!(word, file.to_str().unwrap());
    let shown = run(&["show"], &file);
    assert!(shown.stderr.contains("no compaction\nhint: `wb plan "), "{}", shown.stderr);
    let shown = wb(&["show", word, id]);
    assert!(shown.code == 0 && shown.stdout.starts_with("operation 1: repair"), "{}", shown.stderr);
    assert!(!shown.stdout.contains("tokens"), "a repair counts none: {}", shown.stdout);
    assert!(run(&["log"], &file).stdout.ends_with("  repair\n"));
    assert_eq!(run(&["validate"], &file).code, 0);
    assert_eq!(run(&["doctor"], &file).code, 0);
    is_repaired_once_and_undone(&file, &before);
    let log = run(&["log", "--json"], &file);
    assert!(
        log.stdout.contains("\"what\":\"repair\"") || log.stdout.contains("\"what\": \"repair\""),
        "{}",
        log.stdout
    );
}

/// Writes a pi session: its header, and consecutive messages.
fn session_of_pi(folder: &Path, messages: &[Value]) -> PathBuf {
    let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w"});
    let mut lines = vec![header.to_string()];
    for (at, message) in messages.iter().enumerate() {
        let parent = at.checked_sub(1).map(|at| format!("e{at}"));
        let entry =
            json!({"type": "message", "id": format!("e{at}"), "parentId": parent, "message": message});
        lines.push(entry.to_string());
    }
    let file = folder.join("pi.jsonl");
    std::fs::write(&file, lines.join("\n") + "\n").unwrap();
    file
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": [{"type": "text", "text": text}], "stopReason": "stop"})
}

fn call(id: &str) -> [Value; 2] {
    let call = json!({"type": "toolCall", "id": id, "name": "read", "arguments": {"path": "a.rs"}});
    let text = json!([{"type": "text", "text": "fn a() {}"}]);
    [
        json!({"role": "assistant", "content": [call], "stopReason": "toolUse"}),
        json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": text, "isError": false}),
    ]
}

#[test]
fn a_model_that_speaks_first_is_given_a_user_even_in_a_log_that_holds_a_digest_alone() {
    let folder = tempfile::tempdir().unwrap();
    let user = json!({"role": "user", "content": "Go on."});
    let file = session_of_pi(folder.path(), &[assistant("I begin."), user, assistant("Fine.")]);
    let before = std::fs::read(&file).unwrap();
    assert!(run(&["validate"], &file).stdout.contains("user-first"));
    assert!(run(&["doctor"], &file).stdout.contains("wb repair "));
    let repaired = run(&["repair", "--in-place", "--allow-open"], &file);
    assert_eq!(repaired.code, 0, "{}{}", repaired.stdout, repaired.stderr);
    assert_eq!(run(&["validate"], &file).code, 0);
    is_repaired_once_and_undone(&file, &before);
}

#[test]
fn calls_that_an_agent_answers_itself_are_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let user = |text: &str| json!({"role": "user", "content": text});
    let [first, _] = call("c1");
    let [last, _] = call("c2");
    let pi = session_of_pi(folder.path(), &[user("Look."), first, user("Go on."), last]);
    let time = json!({"created": 1000});
    let state = json!({"status": "pending", "input": {}, "raw": ""});
    let tool = json!({"type": "tool", "tool": "bash", "callID": "c1", "id": "prt_2", "state": state});
    let export = json!({"info": {"id": "ses_1", "directory": "/w"}, "messages": [
        {"info": {"role": "user", "id": "msg_1", "time": time}, "parts": [{"type": "text", "text": "Look.", "id": "prt_1"}]},
        {"info": {"role": "assistant", "id": "msg_2", "time": time}, "parts": [tool]},
    ]});
    let opencode = folder.path().join("opencode.json");
    std::fs::write(&opencode, export.to_string()).unwrap();
    for (file, agent, n) in [(pi, "pi", 2), (opencode, "opencode", 1)] {
        let before = std::fs::read(&file).unwrap();
        let reported = run(&["validate"], &file);
        assert_eq!((reported.code, run(&["doctor"], &file).code), (0, 0), "{}", reported.stdout);
        let itself = format!("tool calls without a result, answered by {agent} when it resumes: {n}");
        assert!(reported.stdout.contains(&itself), "{}", reported.stdout);
        let repaired = run(&["repair", "--in-place", "--allow-open"], &file);
        assert!(repaired.stdout.contains("nothing to repair"), "{}{}", repaired.stdout, repaired.stderr);
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }
}

#[test]
fn a_result_before_its_call_answers_it_until_undone() {
    let folder = tempfile::tempdir().unwrap();
    let user = |text: &str| json!({"role": "user", "content": text});
    let [called, result] = call("c1");
    let file = session_of_pi(folder.path(), &[user("Look."), result, called]);
    let before = std::fs::read(&file).unwrap();
    assert_eq!(run(&["validate"], &file).code, 3);
    let reported = run(&["doctor"], &file);
    assert!(
        reported.stdout.contains("wb repair ") && !reported.stdout.contains("nothing that wb writes"),
        "{}",
        reported.stdout
    );
    let repaired = run(&["repair", "--in-place", "--allow-open"], &file);
    assert_eq!(repaired.code, 0, "{}{}", repaired.stdout, repaired.stderr);
    let after = std::fs::read(&file).unwrap();
    assert!(after.starts_with(&before), "the log is only added to");
    assert_eq!((run(&["validate"], &file).code, run(&["doctor"], &file).code), (0, 0));
    let again = run(&["repair", "--in-place", "--allow-open"], &file);
    assert!(again.stdout.contains("nothing to repair"), "{}", again.stdout);
    assert_eq!(std::fs::read(&file).unwrap(), after);
    assert_eq!(run(&["undo", "--allow-open"], &file).code, 0);
    assert_eq!(std::fs::read(&file).unwrap(), before);

    // The agent appends a message, then the repair is undone.
    assert_eq!(run(&["redo", "--allow-open"], &file).code, 0);
    assert_eq!(std::fs::read(&file).unwrap(), after);
    let last: Value =
        serde_json::from_slice(after.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap()).unwrap();
    let next = json!({"type": "message", "id": "next", "parentId": last["id"], "message": user("Go on.")});
    std::fs::write(&file, [&after[..], next.to_string().as_bytes(), b"\n"].concat()).unwrap();
    let undone = run(&["undo", "--allow-open"], &file);
    assert_eq!(undone.code, 0, "{}{}", undone.stdout, undone.stderr);
    assert_eq!(run(&["validate"], &file).code, 3, "the result stands in front of its call again");
}

#[test]
fn what_no_repair_can_write_is_refused_with_a_hint_that_helps() {
    let folder = tempfile::tempdir().unwrap();
    let words = |answer: &Answer| {
        [&*answer.stdout, &answer.stderr].concat().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}]);
    let line = |id: &str, role: &str, content: Value| {
        json!({"type": "message", "id": id, "message": {"role": role, "content": content}}).to_string()
    };
    let start = json!({"type": "session_start", "id": "d", "version": "0.81.0"}).to_string();
    let droid = folder.path().join("droid.jsonl");
    std::fs::write(
        &droid,
        [start, line("m1", "user", json!("look")), line("m2", "assistant", call)].join("\n") + "\n",
    )
    .unwrap();
    let refused = run(&["repair", "--in-place", "--allow-open"], &droid);
    assert!(words(&refused).contains("the format droid cannot hold it"), "{}", words(&refused));
    assert!(words(&refused).contains("wb convert "), "{}", words(&refused));
    let out = folder.path().join("out.jsonl");
    assert_eq!(run(&["convert", "--to", "native", "-o", out.to_str().unwrap()], &droid).code, 0);
    assert_eq!(run(&["repair", "--in-place", "--allow-open"], &out).code, 0);
    assert_eq!(run(&["validate"], &out).code, 0);
}

#[test]
fn a_repeated_id_is_changed_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let calls = [call("c1"), call("c1")].concat();
    let rest = [json!({"role": "user", "content": "Go on."}), assistant("Done.")];
    let messages =
        [&[json!({"role": "user", "content": "Look."})][..], &calls, &[assistant("Read.")], &rest].concat();
    let file = session_of_pi(folder.path(), &messages);
    let before = std::fs::read_to_string(&file).unwrap();
    assert_eq!(run(&["repair", "--in-place", "--allow-open"], &file).code, 0);
    let after = std::fs::read_to_string(&file).unwrap();
    assert_eq!(after.matches("\"c1_2\"").count(), 2, "{after}");
    assert_eq!(after.replace("\"c1_2\"", "\"c1\""), before);
    assert_eq!((run(&["validate"], &file).code, run(&["doctor"], &file).code), (0, 0));
    assert_eq!(run(&["undo", "--allow-open"], &file).code, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);

    let native = folder.path().join("native.jsonl");
    let call = || Message::assistant_blocks(vec![Block::call("c1", "read", json!({"path": "a.rs"}))]);
    let result = || Message::tool_result("c1", "read", "fn a() {}");
    let messages = [Message::user("Look."), call(), result(), call(), result(), Message::user("Go on.")];
    wb_formats::write_jsonl(&messages, &mut std::fs::File::create(&native).unwrap()).unwrap();
    let before = std::fs::read_to_string(&native).unwrap();
    assert_eq!(run(&["repair", "--in-place", "--allow-open"], &native).code, 0);
    let after = std::fs::read_to_string(&native).unwrap();
    assert_eq!(after.matches("\"c1_2\"").count(), 2, "{after}");
    assert_eq!(after.replace("c1_2", "c1"), before, "nothing but the ids is changed");
    assert_eq!(run(&["undo", "--allow-open"], &native).code, 0);
    assert_eq!(std::fs::read_to_string(&native).unwrap(), before);
}

#[test]
fn a_result_without_a_call_and_a_lost_line_are_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let [_, result] = call("gone");
    let user = |text: &str| json!({"role": "user", "content": text});
    let file = session_of_pi(folder.path(), &[user("Look."), result, user("Go on."), assistant("Done.")]);
    let doctor = || run(&["doctor"], &file).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let repair = || {
        let before = std::fs::read(&file).unwrap();
        let reported = run(&["repair", "--in-place", "--allow-open"], &file);
        assert_eq!(reported.code, 0, "{}{}", reported.stdout, reported.stderr);
        assert!(doctor().contains("no problems found"), "{}", doctor());
        assert_eq!(run(&["undo", "--allow-open"], &file).code, 0);
        assert!(std::fs::read(&file).unwrap().starts_with(&before), "it is taken back");
        reported.stdout
    };
    assert!(run(&["validate"], &file).stdout.contains("result-orphan"));
    assert!(doctor().contains("answers no call (line 3) wb repair"), "{}", doctor());
    repair();

    let [asked, answered] = call("c1");
    let file =
        session_of_pi(folder.path(), &[user("Look."), asked, answered, user("Go on."), assistant("Done.")]);
    let text = std::fs::read_to_string(&file).unwrap();
    let lost: Vec<&str> = text.lines().filter(|line| !line.contains("\"id\":\"e2\"")).collect();
    std::fs::write(&file, lost.join("\n") + "\n").unwrap();
    let note = "note: line 4 follows a line that is not in the file";
    assert!(run(&["weigh"], &file).stdout.contains(note));
    assert!(doctor().contains("the agent may see nothing before it (line 4) wb repair"), "{}", doctor());
    let reported = repair();
    assert!(reported.contains("1 line follows the newest line before"), "{reported}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), lost.join("\n") + "\n");
}

fn body() -> Value {
    let call = json!({"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}});
    json!({"model": "gpt-5-mini", "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": null, "tool_calls": [call]},
        {"role": "user", "content": "Well?"}
    ], "temperature": 0.50})
}

#[test]
fn a_repair_of_a_request_changes_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("request.json");
    let text = body().to_string().replace("\"temperature\":0.5", "\"temperature\": 0.50");
    std::fs::write(&file, &text).unwrap();
    let repaired = run(&["repair", "--in-place", "--allow-open"], &file);
    assert_eq!(repaired.code, 0, "{}{}", repaired.stdout, repaired.stderr);
    let after = std::fs::read_to_string(&file).unwrap();
    assert!(after.contains("[Tool execution was interrupted]"), "{after}");
    assert!(after.ends_with("\"temperature\": 0.50}") || after.contains("\"temperature\": 0.50"), "{after}");
    let new = after.find("{\"role\":\"tool\"").or(after.find("{\"content\":\"[Tool"));
    assert!(new.is_some(), "{after}");
    assert_eq!(run(&["validate"], &file).code, 0);
    assert_eq!(run(&["undo", "--allow-open"], &file).code, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
}

#[test]
fn a_session_is_written_as_each_provider_takes_it_and_what_is_lost_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for target in ["anthropic", "openai", "openai-responses", "gemini"] {
        let out = folder.path().join(target);
        let words = ["convert", "--to", target, "-o", out.to_str().unwrap()];
        let answer = wb(&[&words[..], &["fixtures/sessions/flaky-checkout.jsonl"]].concat());
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        assert!(answer.stderr.contains("lost: records and fields"), "{}", answer.stderr);
        let valid = run(&["validate", "--dialect", target], &out);
        // The session waits for its user, and so does the request; the unfinished turn was another
        // model's.
        let findings = valid.stdout.lines().skip(2);
        assert!(
            findings.clone().all(|line| line.contains("user-last") || line.contains("thought-signature")),
            "{target}: {}",
            valid.stdout
        );
    }
    let native = folder.path().join("native");
    let words = ["convert", "--to", "native", "-o", native.to_str().unwrap()];
    assert_eq!(wb(&[&words[..], &["fixtures/sessions/flaky-checkout.jsonl"]].concat()).code, 0);
    assert_eq!(run(&["weigh"], &native).code, 0);
}

#[test]
fn a_dry_run_says_what_would_be_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = broken(folder.path());
    let before = std::fs::read(&file).unwrap();
    let out = folder.path().join("out");
    let out = out.to_str().unwrap();
    for words in [&["repair", "--dry-run", "--in-place"][..], &["repair", "--dry-run", "-o", out]] {
        let reported = run(words, &file);
        assert!(
            reported.stdout.contains("4 findings would be repaired"),
            "{}{}",
            reported.stdout,
            reported.stderr
        );
    }
    let reported = run(&["repair", "--dry-run", "-o", "-"], &file);
    assert!(reported.stdout.contains("would be repaired"), "{}", reported.stdout);
    for words in [
        &["convert", "--to", "anthropic", "--dry-run"][..],
        &["convert", "--to", "pi", "--dry-run", "-o", out],
    ] {
        let reported = run(words, &file);
        assert_eq!((reported.code, reported.stdout.as_str()), (0, ""), "{}", reported.stderr);
    }
    let reported = run(&["convert", "--to", "anthropic", "--dry-run", "--json"], &file);
    let reported: Value = serde_json::from_str(&reported.stdout).unwrap();
    assert_eq!(reported["messages"], 4, "{reported}");
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_eq!(folder.path().read_dir().unwrap().count(), 1);
}

#[test]
fn a_write_to_another_file_is_reported_without_a_repair() {
    let folder = tempfile::tempdir().unwrap();
    let file = Path::new("fixtures/sessions/hello.jsonl");
    for (words, is_on_stdout) in [(&["repair"][..], true), (&["convert", "--to", "native"], false)] {
        let out = folder.path().join(words[0]);
        let reported = run(&[words, &["-o", out.to_str().unwrap()]].concat(), file);
        let text = if is_on_stdout { &reported.stdout } else { &reported.stderr };
        assert!(text.ends_with(&format!("\nwritten to: {}\n", out.display())), "{text}");
        assert!(out.is_file());
        let reported = run(&[words, &["-o", "-"]].concat(), file);
        assert!(!reported.stderr.contains("written to"), "{}", reported.stderr);
    }
    let (copy, whole) = (folder.path().join("repair"), crate::support::root().join(file));
    assert_eq!(std::fs::read(copy).unwrap(), std::fs::read(whole).unwrap());
    assert!(!run(&["repair"], file).stdout.contains("written to"));
}

#[test]
fn a_session_becomes_a_new_one_of_another_agent() {
    let folder = tempfile::tempdir().unwrap();
    for target in ["claude-code", "codex", "pi"] {
        let out = folder.path().join(format!("{target}.jsonl"));
        let words = ["convert", "--to", target, "-o", out.to_str().unwrap()];
        let answer = wb(&[&words[..], &["fixtures/sessions/flaky-checkout.jsonl"]].concat());
        assert_eq!(answer.code, 0, "{}", answer.stderr);
        assert!(answer.stderr.contains("lost: records and fields"), "{}", answer.stderr);
        let valid = run(&["validate"], &out);
        assert!(valid.stdout.contains(&format!("  {target} · ")), "{}", valid.stdout);
        assert_eq!(valid.code, 0, "{}", valid.stdout);
    }
}

#[test]
fn every_format_is_listed_and_what_it_cannot_hold_has_a_reason() {
    let answer = wb(&["formats", "--json"]);
    let known: Value = serde_json::from_str(&answer.stdout).unwrap();
    let formats = known["formats"].as_array().unwrap();
    assert_eq!(formats.len(), wb_formats::FORMATS.len());
    let pi = formats.iter().find(|it| it["name"] == "pi").unwrap();
    assert!(pi["cannot"]["insert"].as_str().is_some_and(|why| !why.is_empty()), "{pi}");
    assert!(wb(&["formats"]).stdout.contains("claude-code"));
}

#[test]
fn an_open_call_of_claude_code_is_answered_by_one_line_and_without_a_compaction() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("open.jsonl"), folder.path().join("out.jsonl"));
    let whole = include_str!("../../../../../fixtures/sessions/flaky-checkout.jsonl");
    let calls = whole.lines().take(40).collect::<Vec<_>>();
    let last = calls.iter().rposition(|line| line.contains("\"tool_use\"")).unwrap();
    let open = calls[..=last].join("\n") + "\n";
    std::fs::write(&file, &open).unwrap();
    assert_eq!(run(&["repair", "-o", out.to_str().unwrap()], &file).code, 0);
    let repaired = std::fs::read_to_string(&out).unwrap();
    let added = repaired.strip_prefix(&open).unwrap();
    assert_eq!(added.lines().count(), 1, "{added}");
    assert!(added.contains("\"tool_result\"") && !added.contains("compact_boundary"), "{added}");
    assert_eq!(run(&["validate"], &out).code, 0);
}

/// Writes a Kimi CLI session in which the lines of a call and of a result have no role.
fn without_roles(folder: &Path) -> PathBuf {
    let call =
        |id: &str| json!([{"type": "function", "id": id, "function": {"name": "ls", "arguments": "{}"}}]);
    let lines = [
        json!({"role": "_system_prompt", "content": "Be brief."}),
        json!({"role": "user", "content": "Look."}),
        json!({"content": "I look.", "tool_calls": call("c1")}),
        json!({"content": "a.rs", "tool_call_id": "c1"}),
        json!({"content": "There is one file."}),
        json!({"role": "user", "content": "Well?"}),
    ];
    let file = folder.join("context.jsonl");
    std::fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    file
}

#[test]
fn messages_get_back_the_role_that_they_lost_and_nothing_else_changes() {
    let folder = tempfile::tempdir().unwrap();
    let file = without_roles(folder.path());
    let before = std::fs::read_to_string(&file).unwrap();
    let reported = run(&["doctor"], &file);
    assert!(reported.stdout.contains("3 messages do not have a role (line 3)"), "{}", reported.stdout);
    let repaired = run(&["repair", "--in-place", "--allow-open"], &file);
    assert!(repaired.stdout.contains("3 roles restored"), "{}{}", repaired.stdout, repaired.stderr);
    let roles = ["{\"role\":\"assistant\",", "{\"role\":\"tool\",", "{\"role\":\"assistant\","];
    let mut lines: Vec<String> = before.lines().map(str::to_owned).collect();
    for (line, role) in lines[2..5].iter_mut().zip(roles) {
        *line = line.replacen('{', role, 1);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{}\n", lines.join("\n")));
    assert_eq!(run(&["doctor"], &file).code, 0);
    assert_eq!(run(&["undo", "--allow-open"], &file).code, 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn an_empty_text_that_is_sent_verbatim_is_replaced_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let lines = r#"{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"Look."}}
{"type":"assistant","uuid":"2","parentUuid":"1","message":{"id":"m1","content":[{"type":"text","text":""}, {"type":"text","text":"I look."}]}}
{"type":"user","uuid":"3","parentUuid":"2","message":{"role":"user","content":[{"type":"text","text":""}]}}
"#;
    std::fs::write(&file, lines).unwrap();
    assert_eq!(run(&["validate"], &file).code, 3);
    let reported = run(&["doctor"], &file).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(reported.contains("message 1: a text is blank (line 2)"), "{reported}");
    assert!(reported.contains("message 2: a text is blank (line 3)"), "{reported}");
    assert_eq!(run(&["repair", "--in-place", "--allow-open"], &file).code, 0);
    let repaired = std::fs::read_to_string(&file).unwrap();
    let without = lines.replace(r#"{"type":"text","text":""}, "#, "");
    assert_eq!(repaired, without.replace(r#""text":"""#, r#""text":"(empty)""#));
    assert_eq!(run(&["doctor"], &file).code, 0);
    is_repaired_once_and_undone(&file, lines.as_bytes());
}

#[test]
fn an_agent_is_held_to_no_rule_of_a_provider_that_has_not_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let [call, _] = call("c1");
    let file = session_of_pi(folder.path(), &[assistant("Look."), call]);
    let dialects = || {
        let reported = run(&["validate", "--json"], &file).stdout;
        serde_json::from_str::<Value>(&reported).unwrap()["dialects"].clone()
    };
    assert_eq!(dialects(), json!(["anthropic", "openai", "openai-responses", "gemini"]));
    let lines = std::fs::read_to_string(&file).unwrap();
    let model = r#""role":"assistant","provider":"anthropic","model":"claude-sonnet-4-5""#;
    std::fs::write(&file, lines.replace(r#""role":"assistant""#, model)).unwrap();
    assert_eq!(dialects(), json!(["anthropic", "openai"]));
}
