//! Checks that `wb hook` returns one answer to every request.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Answer, root, wb_in, wb_of};

/// A word that messages contain and no log may contain.
const SECRET: &str = "hunter2-token";

/// A session in which a digest would have no room for the user's words.
pub(crate) const SHORT: &str = r#"{"version":1,"keep_from":9,"session":{"messages":[
    {"role":"user","content":"Read the notes and keep port 4711 as it is."},
    {"role":"assistant","content":[{"kind":"tool_call","id":"a","name":"bash","input":{"command":"cat notes"}}]},
    {"role":"toolResult","toolCallId":"a","toolName":"bash","content":"one\ntwo\nthree\n"},
    {"role":"assistant","content":"They say one, two, three."}]}}"#;

pub(crate) fn messages(n: usize) -> Value {
    let turns = (0..n).flat_map(|at| {
        let (id, path) = (format!("c{at}"), format!("src/part_{at}.rs"));
        let call = json!({"kind": "tool_call", "id": id, "name": "read", "input": {"path": path}});
        [
            json!({"role": "user", "content": format!("Look at {path} and never touch the public API. {SECRET}")}),
            json!({"role": "assistant", "content": [{"kind": "text", "text": "I look."}, call]}),
            json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "content": "fn part() {}\n".repeat(60)}),
            json!({"role": "assistant", "content": format!("{path} holds one function.")}),
        ]
    });
    Value::Array(turns.collect())
}

pub(crate) fn ask(home: &Path, question: &Value) -> Value {
    answer_in(&wb_of(home, &["hook"], question.to_string().as_bytes()))
}

/// Returns the answer, which is one document on one line and all that is printed.
fn answer_in(answer: &Answer) -> Value {
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{}", answer.stdout);
    assert_eq!(answer.stdout.matches('\n').count(), 1, "{}", answer.stdout);
    serde_json::from_str(&answer.stdout).unwrap()
}

fn reason(answer: &Value) -> &str {
    assert_eq!(answer["action"], "pass", "{answer}");
    answer["reason"].as_str().unwrap()
}

fn log_of(home: &Path) -> String {
    fs::read_to_string(home.join(".local/state/wb/compactions.jsonl")).unwrap_or_default()
}

fn set(home: &Path, text: &str) {
    fs::create_dir_all(home.join(".config/wb")).unwrap();
    fs::write(home.join(".config/wb/config.toml"), text).unwrap();
}

#[test]
fn older_messages_become_a_digest_and_the_others_stay() {
    let home = tempfile::tempdir().unwrap();
    let question = json!({"version": 1, "session": {"messages": messages(30)}, "instructions": "Keep the list of parts."});
    let answer = ask(home.path(), &question);
    assert_eq!((&answer["version"], &answer["action"]), (&json!(1), &json!("replace")));
    let digest = answer["digest"].as_str().unwrap();
    assert!(digest.starts_with("[session digest"), "{digest}");
    assert!(digest.contains("The user asked of this compaction: Keep the list of parts.\n"), "{digest}");
    assert!(digest.contains("never touch the public API"), "{digest}");
    let keep = answer["keep"].as_array().unwrap();
    assert_eq!(keep.last().unwrap()["end"], 120);
    assert!(answer["report"]["tokens_after"].as_u64() < answer["report"]["tokens_before"].as_u64());
    assert!(answer.get("audit").is_none(), "{answer}");
}

#[test]
fn what_stays_anyway_takes_no_room_from_the_digest() {
    let home = tempfile::tempdir().unwrap();
    let digest_tokens = |messages: Value| {
        let answer = ask(home.path(), &json!({"version": 1, "session": {"messages": messages}}));
        answer["report"]["digest_tokens"].as_u64().unwrap_or_else(|| panic!("{answer}"))
    };
    let plain = messages(40);
    let rules =
        json!({"role": "custom", "customType": "developer", "content": "You are careful. ".repeat(5_000)});
    let led: Vec<Value> = std::iter::once(rules).chain(plain.as_array().unwrap().clone()).collect();
    assert!(digest_tokens(json!(led)) >= digest_tokens(plain));
}

#[test]
fn the_cut_of_a_host_ends_the_digest() {
    let home = tempfile::tempdir().unwrap();
    for (place, kept) in [(json!(100), json!([{"start": 100, "end": 120}])), (json!(1_000_000), json!([]))] {
        let question = json!({"version": 1, "session": {"messages": messages(30)}, "keep_from": place});
        assert_eq!(ask(home.path(), &question)["keep"], kept, "{place}");
    }
    let inside_a_pair = json!({"version": 1, "session": {"messages": messages(30)}, "keep_from": 102});
    assert!(reason(&ask(home.path(), &inside_a_pair)).contains("part a call from its result"));
}

#[test]
fn a_host_names_the_first_message_that_stays_by_the_id_of_its_record() {
    let home = tempfile::tempdir().unwrap();
    let mut lines = vec![
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/"}),
    ];
    for at in 0..40 {
        let parent = if at == 0 { Value::Null } else { json!(format!("e{}", at - 1)) };
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        let content =
            json!([{"type": "text", "text": format!("Step {at}. {}", "and more of it ".repeat(20))}]);
        lines.push(json!({"type": "message", "id": format!("e{at}"), "parentId": parent, "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": role, "content": content}}));
    }
    let text = lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let question = |id: &str| json!({"version": 1, "host": "pi", "session": {"text": text}, "keep_from": id});
    assert_eq!(ask(home.path(), &question("e34"))["keep"], json!([{"start": 34, "end": 40}]));
    assert_eq!(reason(&ask(home.path(), &question("gone"))), "the message that stays first is not there");
}

#[test]
fn what_cannot_be_answered_is_left_to_the_host() {
    let home = tempfile::tempdir().unwrap();
    let ask_text = |text: &str| answer_in(&wb_of(home.path(), &["hook"], text.as_bytes()));
    for (text, word) in [
        ("", "can't read request: empty"),
        (" \n", "can't read request: empty"),
        ("\u{0}\u{1}garbage", "can't read request: not valid JSON: expected value at line 1"),
        ("[]", "can't read request: not a JSON object"),
        ("{\"version\":1", "can't read request: not valid JSON: EOF"),
        ("{}", "can't read request: no version"),
        (r#"{"version":1}"#, "can't read request: missing field `session`"),
        (
            r#"{"version":1,"session":{"messages":[]},"window":"big"}"#,
            "can't read request: invalid type: string",
        ),
        (r#"{"version":7}"#, "unsupported version 7 (expected 1)"),
        (r#"{"version":"2","session":3}"#, "unsupported version \"2\" (expected 1)"),
        (r#"{"version":7,"session":{"messages":[]}}"#, "version 7"),
        (r#"{"version":1,"session":{"path":"/nowhere/at/all"}}"#, "/nowhere/at/all"),
        (r#"{"version":1,"session":{"text":"nonsense"}}"#, "unrecognized format"),
        (r#"{"version":1,"session":{"messages":[{"role":"user"}]}}"#, "content"),
        (r#"{"version":1,"session":{"messages":[{"role":"user","content":"Hi."}]}}"#, "fold"),
        (r#"{"version":1,"session":{"messages":[]}}"#, "fold"),
        (SHORT, "what the user asked for"),
    ] {
        assert!(reason(&ask_text(text)).contains(word), "{text}: {}", ask_text(text));
    }
    let late = json!({"version": 1, "budget_ms": 0, "session": {"messages": messages(200)}});
    assert_eq!(reason(&ask(home.path(), &late)), "there was not enough time");
    let in_time = json!({"version": 1, "session": {"messages": messages(30)}}).to_string();
    let late = wb_of(home.path(), &["hook", "--budget-ms", "0"], in_time.as_bytes());
    assert_eq!(reason(&answer_in(&late)), "there was not enough time");
}

#[test]
fn a_list_of_which_a_message_is_not_read_as_one_is_left_to_the_host() {
    let home = tempfile::tempdir().unwrap();
    let question = |sent: Vec<Value>| json!({"version": 1, "session": {"messages": sent}});
    // Another form; results with an unknown name are skipped.
    let chat = |result: &str| -> Vec<Value> {
        let turn = |at: usize| {
            let call = json!([{"id": format!("c{at}"), "type": "function", "function": {"name": "read", "arguments": "{}"}}]);
            [
                json!({"role": "user", "content": format!("Look at src/part_{at}.rs.")}),
                json!({"role": "assistant", "content": null, "tool_calls": call}),
                json!({"role": result, "tool_call_id": format!("c{at}"), "content": "fn part() {}\n".repeat(60)}),
                json!({"role": "assistant", "content": "It holds one function."}),
            ]
        };
        (0..30).flat_map(turn).collect()
    };
    let known = ask(home.path(), &question(chat("tool")));
    assert_eq!((&known["action"], &known["report"]["messages_before"]), (&json!("replace"), &json!(120)));
    let with = |at: usize, message: Value| [&chat("tool")[..at], &[message], &chat("tool")[at..]].concat();
    let wibble = || json!({"role": "wibble", "content": "Hello."});
    for (sent, at) in [
        (chat("tool_result"), 2),
        (with(10, wibble()), 10),
        (with(120, wibble()), 120),
        (with(10, json!(7)), 10),
    ] {
        let why = format!("message {at} of those sent is not read as one message of our own form");
        assert_eq!(reason(&ask(home.path(), &question(sent))), why);
    }
    let mixed = json!({"version": 1, "session": {"messages": {"messages": messages(30)}}});
    assert_eq!(
        reason(&ask(home.path(), &mixed)),
        "message 0 of those sent is not read as one message of our own form"
    );
}

#[test]
fn the_model_that_a_host_names_says_how_its_messages_are_weighed() {
    let home = tempfile::tempdir().unwrap();
    let tokens = |more: Value| {
        let mut question = json!({"version": 1, "session": {"messages": messages(30)}});
        question.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ask(home.path(), &question)["report"]["tokens_before"].as_u64().unwrap()
    };
    let plain = tokens(json!({}));
    assert_ne!(tokens(json!({"model": "gemini-2.5-pro"})), plain);
    assert_eq!(tokens(json!({"model": "nobody-knows"})), plain);
}

#[test]
fn a_host_that_says_nothing_is_answered_when_the_time_is_over() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wb"));
    let child = command.args(["hook", "--budget-ms", "50"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = child.env("HOME", "/nowhere").spawn().unwrap();
    let silent = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(silent);
    assert_eq!(reason(&serde_json::from_slice(&output.stdout).unwrap()), "there was not enough time");
}

#[test]
fn the_log_holds_sizes_and_names_but_no_content() {
    let home = tempfile::tempdir().unwrap();
    let question =
        json!({"version": 1, "host": "pi", "session_id": "s-1", "session": {"messages": messages(30)}});
    assert_eq!(ask(home.path(), &question)["action"], "replace");
    ask(home.path(), &json!({"version": 1, "session": {"text": SECRET}}));
    ask(home.path(), &json!({"version": 1, "session": {"messages": [{"role": SECRET}]}}));
    let log = log_of(home.path());
    assert_eq!(log.lines().count(), 3, "{log}");
    assert!(!log.contains(SECRET) && !log.contains("part_"), "{log}");
    let first: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!((&first["host"], &first["session"]), (&json!("pi"), &json!("s-1")));
    assert_eq!((&first["action"], &first["messages_before"]), (&json!("replace"), &json!(120)));
    let shown = wb_of(home.path(), &["log"], b"");
    assert_eq!((shown.code, shown.stdout.lines().count()), (0, 3), "{}", shown.stdout);
    assert!(shown.stdout.contains("pi s-1  auto: "), "{}", shown.stdout);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |below: &str| fs::metadata(home.path().join(below)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(".local/state/wb"), mode(".local/state/wb/compactions.jsonl")), (0o700, 0o600));
    }
}

#[test]
fn settings_switch_a_host_off_and_pin_sentences() {
    let home = tempfile::tempdir().unwrap();
    let question = |host: &str| json!({"version": 1, "host": host, "session": {"messages": messages(30)}});
    set(home.path(), "pin = [\"Never push to main.\"]\n[hosts]\npi = false\n");
    assert_eq!(reason(&ask(home.path(), &question("pi"))), "the settings leave this agent to itself");
    let digest = ask(home.path(), &question("opencode"))["digest"].as_str().unwrap().to_owned();
    assert!(digest.contains("\nThe user's settings say: Never push to main.\n"), "{digest}");
    set(home.path(), "strategy = \"ladder\"\n");
    assert_eq!(ask(home.path(), &question("pi"))["action"], "replace");
    for (text, word) in [
        ("\nkeep_recent = 5\n", "keep_recent`, expected"),
        ("strategy = \"policy\"", "window-budget, ladder"),
    ] {
        set(home.path(), text);
        let why = "the settings cannot be read; `wb config` says why";
        assert_eq!(reason(&ask(home.path(), &question("pi"))), why);
        assert!(log_of(home.path()).contains(why));
        let shown = wb_of(home.path(), &["config"], b"");
        assert!(shown.code == 1 && shown.stderr.contains(word), "{}", shown.stderr);
    }
}

#[test]
fn a_project_overrides_the_user_and_each_value_has_its_file() {
    let home = tempfile::tempdir().unwrap();
    let project = tempfile::tempdir().unwrap();
    set(home.path(), "keep_recent_tokens = 100\n[hosts]\npi = true\n");
    fs::write(project.path().join(".wb.toml"), "[hosts]\npi = false\n").unwrap();
    let below = project.path().join("src/deep");
    fs::create_dir_all(&below).unwrap();
    let question = json!({"version": 1, "host": "pi", "cwd": below, "session": {"messages": messages(30)}});
    let of_project = "the settings leave this agent to itself";
    assert_eq!(ask(home.path(), &question)["action"], "replace", "it is not trusted");
    let folder = project.path().to_str().unwrap();
    let trusted = wb_of(home.path(), &["config", "trust", folder], b"");
    assert_eq!(trusted.code, 0, "{}", trusted.stderr);
    assert_eq!(reason(&ask(home.path(), &question)), of_project);
    let mut writable = fs::metadata(project.path().join(".wb.toml")).unwrap().permissions();
    writable.set_mode(0o666);
    fs::set_permissions(project.path().join(".wb.toml"), writable).unwrap();
    assert_eq!(ask(home.path(), &question)["action"], "replace", "others may write it");
    wb_of(home.path(), &["config", "untrust", folder], b"");
    assert_eq!(fs::read_to_string(home.path().join(".config/wb/trusted-folders")).unwrap(), "");
    let shown = wb_of(home.path(), &["config"], b"").stdout;
    assert!(shown.contains("keep_recent_tokens = 100  ~/.config/wb/config.toml\n"), "{shown}");
    assert!(shown.contains("strategy = window-budget  default\n"), "{shown}");
}

#[test]
fn hooks_of_claude_code_add_facts_to_its_summary() {
    let home = tempfile::tempdir().unwrap();
    let path = root().join("fixtures/sessions/flaky-checkout.jsonl");
    let event = |name: &str, source: &str| {
        let event = json!({"hook_event_name": name, "source": source, "session_id": "s", "transcript_path": path, "trigger": "auto"});
        let answer = wb_of(home.path(), &["hook"], event.to_string().as_bytes());
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
        answer.stdout
    };
    let facts = event("PreCompact", "");
    assert!(
        facts.starts_with("These facts were collected from the whole session.")
            && facts.contains("# Guardrails")
    );
    assert_eq!(event("SessionStart", "startup"), "");
    assert_eq!(event("SessionStart", "compact"), "");
    assert_eq!(event("Stop", ""), "");
}

#[test]
fn the_log_shows_how_to_undo_in_claude_code() {
    let home = tempfile::tempdir().unwrap();
    let id = "11111111-2222-4333-8444-555555555555";
    let folder = home.path().join(".claude/projects/-a");
    let file = folder.join(format!("{id}.jsonl"));
    fs::create_dir_all(&folder).unwrap();
    fs::copy(root().join("fixtures/sessions/flaky-checkout.jsonl"), &file).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let newest = lines.rfind(|line| line["message"].is_object()).unwrap()["uuid"].clone();
    let question = json!({"version": 1, "host": "claude-code", "newest_record": newest, "session": {"messages": messages(30)}});
    let ids = [("CLAUDE_CODE_LAUNCHED_BY_SESSION_IDS", id)];
    // A damaged list is rebuilt, so that the compaction can be undone.
    let list = |end: &str| format!("{}.wb-log{end}", file.display());
    fs::write(list(""), "garbage\n").unwrap();
    let answer = wb_in(home.path(), &ids, &["hook"], question.to_string().as_bytes());
    assert_eq!(answer_in(&answer)["action"], "replace");
    assert_eq!(fs::read_to_string(list(".unreadable")).unwrap(), "garbage\n");
    assert!(fs::read_to_string(list("")).unwrap().contains("\"by_agent\""));
    let event = json!({"hook_event_name": "SessionStart", "source": "compact", "session_id": id, "transcript_path": file});
    let started = wb_of(home.path(), &["hook"], event.to_string().as_bytes());
    let started: Value = serde_json::from_str(&started.stdout).unwrap();
    let notice = started["systemMessage"].as_str().unwrap();
    assert!(
        notice.starts_with("wb compacted ") && notice.ends_with(&format!(" ms; to undo: wb undo {id}")),
        "{notice}"
    );
    let other = event.to_string().replace(id, "22222222-2222-4333-8444-555555555555");
    assert_eq!(wb_of(home.path(), &["hook"], other.as_bytes()).stdout, "");
    let shown = wb_of(home.path(), &["log"], b"").stdout;
    assert!(shown.contains(&format!("  claude-code {id}  auto: ")), "{shown}");
    let command = shown.lines().find_map(|line| line.strip_prefix("  to undo: wb ")).unwrap();
    assert_eq!(command, "undo 11111111");
    let entry: Value = serde_json::from_str(&log_of(home.path())).unwrap();
    assert_eq!((&entry["session"], &entry["file"]), (&json!(id), &json!(file)));
    fs::remove_file(&file).unwrap();
    assert!(!wb_of(home.path(), &["log"], b"").stdout.contains("to undo:"));
}

/// A Codex session whose summary makes a false claim.
fn compacted_by_codex() -> String {
    let line = |kind: &str, payload: &Value| {
        json!({"timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "payload": payload}).to_string()
    };
    let said = |role: &str, kind: &str, text: &str| json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
    let prompt = said("user", "input_text", "Fix the parser. Never touch the file schema.sql.");
    let summary =
        said("user", "input_text", "I ran all the tests and they pass. I changed src/never/there.rs.");
    [
        line("session_meta", &json!({"id": "c-1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/a", "originator": "codex_exec", "cli_version": "0.169.0"})),
        line("response_item", &prompt),
        line("response_item", &said("assistant", "output_text", "I look at the parser.")),
        line("compacted", &json!({"message": "I ran all the tests and they pass. I changed src/never/there.rs.", "replacement_history": [summary]})),
    ].join("\n") + "\n"
}

#[test]
fn the_log_counts_findings_in_a_summary_of_codex() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("rollout-2026-01-01T00-00-00-c-1.jsonl");
    fs::write(&file, compacted_by_codex()).unwrap();
    let event = json!({"hook_event_name": "SessionStart", "source": "compact", "session_id": "c-1", "transcript_path": file});
    let answer = wb_of(home.path(), &["hook"], event.to_string().as_bytes());
    assert!(answer.stdout.contains("held against the whole session"), "{}", answer.stdout);
    let shown = wb_of(home.path(), &["log"], b"").stdout;
    assert!(shown.contains("  codex c-1  compact: added facts to its own summary; "), "{shown}");
    let command = shown.lines().find_map(|line| line.strip_prefix("  what was found: wb ")).unwrap();
    assert_eq!(command, format!("audit {}", file.display()));
    assert_eq!(wb_of(home.path(), &["audit", file.to_str().unwrap()], b"").code, 3);
}
