//! `wb recall` and `wb mcp`: what was said in a session, across its compactions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::place::json_of;
use crate::support::wb_of;

/// A home with two sessions of Claude Code in a project; the older one is about something else.
struct Project {
    home: tempfile::TempDir,
    folder: PathBuf,
}

impl Project {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("work");
        std::fs::create_dir_all(&folder).unwrap();
        let project = Self { home, folder };
        project.write("11111111-old", &["The color of the logo is teal.", "Noted."]);
        project.write("22222222-new", &["Use port 9090 for the admin server.", "It listens on 9090 now."]);
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(format!(".claude/projects/-work/{name}.jsonl"))
    }

    /// Writes a session of alternating texts of the user and the agent.
    fn write(&self, name: &str, texts: &[&str]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut parent = Value::Null;
        let mut lines = String::new();
        for (at, text) in texts.iter().enumerate() {
            let role = ["user", "assistant"][at % 2];
            let content = if at % 2 == 0 { json!(text) } else { json!([{"type": "text", "text": text}]) };
            let id = format!("{name}-{at}");
            let row = json!({"type": role, "uuid": id, "parentUuid": parent, "cwd": self.folder, "sessionId": name,
                "timestamp": format!("2026-01-01T00:00:{at:02}.000Z"), "message": {"id": id, "role": role, "content": content}});
            lines += &(row.to_string() + "\n");
            parent = json!(id);
        }
        std::fs::write(path, lines).unwrap();
    }

    fn wb(&self, args: &[&str]) -> crate::support::Answer {
        wb_of(self.home.path(), args, b"")
    }
}

#[test]
fn a_session_is_named_by_its_file_its_id_or_its_project() {
    let project = Project::new();
    let (file, folder) = (project.path("11111111-old"), project.folder.display().to_string());
    for session in [file.to_str().unwrap(), "11111111"] {
        let answer = project.wb(&["recall", session, "logo", "color"]);
        assert!(answer.stdout.contains("     1| The color of the logo is teal."), "{}", answer.stderr);
        assert_eq!(answer.code, 0);
    }
    let newest = project.wb(&["recall", &folder, "port"]);
    assert!(newest.stdout.contains("22222222-new") && newest.stdout.contains("#0 the user · turn 1"));
    let all = project.wb(&["recall", &folder, "color", "--all"]);
    assert!(all.stdout.contains("11111111-old") && !all.stdout.contains("22222222-new"), "{}", all.stdout);
    project.write("0cd9aaaa-hex", &["The font is Inter.", "Noted."]);
    project.write("33333333-newest", &["No word of it.", "Right."]);
    let short = project.wb(&["recall", "0cd9", "font"]);
    assert!(short.stdout.contains("0cd9aaaa-hex") && short.code == 0, "{}", short.stdout);
}

#[test]
fn each_reason_for_no_answer_has_its_own_message() {
    let project = Project::new();
    let folder = project.folder.display().to_string();
    let nothing = project.wb(&["recall", &folder, "kubernetes"]);
    assert_eq!(nothing.code, 3);
    assert!(nothing.stdout.contains("Nothing found."));
    let unasked = project.wb(&["recall", &folder]);
    assert_eq!(unasked.code, 1);
    assert!(unasked.stderr.contains("nothing to look up") && unasked.stderr.contains("--message"));
    // The tests run in a folder of which this home has no session.
    let nowhere = project.wb(&["recall", "port"]);
    assert!(nowhere.stderr.contains("no session of this folder was found"), "{}", nowhere.stderr);
    assert_eq!(project.wb(&["recall", &folder, "--message", "x"]).code, 2);
    assert_eq!(project.wb(&["recall", &folder, "port", "--tokens", "5"]).code, 2);
    for wrong in [
        &["recall", "nofile.jsonl", "port"][..],
        &["recall", "deadbeef-1111-4222-8333-444455556666", "port"],
        &["recall", "README.md", "--turn", "1"],
        &["recall", &folder, "port", "--message", "1"],
    ] {
        let answer = project.wb(wrong);
        assert!(answer.code == 1 && answer.stdout.is_empty(), "{wrong:?}: {}", answer.stdout);
        assert!(answer.stderr.contains("is no session") || answer.stderr.contains("is a word"));
    }
    let empty = project.home.path().join("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    let answer = project.wb(&["recall", empty.to_str().unwrap(), "port"]);
    assert!(answer.code == 1 && answer.stderr.contains("the file is empty"), "{}", answer.stderr);
    assert!(project.wb(&["recall", &folder, "--file", " "]).stderr.contains("nothing to look up"));
}

#[test]
fn a_subfolder_of_a_repository_is_of_its_project() {
    let project = Project::new();
    let below = project.folder.join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    let ask = || project.wb(&["recall", below.to_str().unwrap(), "port"]);
    assert_eq!(ask().code, 1, "without a repository, the folder is another one");
    std::fs::create_dir(project.folder.join(".git")).unwrap();
    assert!(ask().stdout.contains("22222222-new"), "{}", ask().stderr);
}

#[test]
fn the_answer_as_json_has_the_message_its_author_and_its_lines() {
    let project = Project::new();
    let answer = project.wb(&["recall", "22222222", "9090", "--json"]);
    let found = &json_of(&answer)["sessions"][0]["excerpts"];
    assert_eq!((&found[0]["message"], &found[0]["author"]), (&json!(1), &json!("agent")));
    assert_eq!(found[0]["lines"], json!([[1, "It listens on 9090 now."]]));
}

#[test]
fn arguments_of_the_tool_are_answered_as_by_the_tool() {
    let project = Project::new();
    let answer = project.wb(&["recall", "22222222", "--arguments", r#"{"query": "kubernetes"}"#]);
    assert_eq!((answer.code, answer.stdout.starts_with("Nothing found.")), (0, true));
    let wrong = project.wb(&["recall", "22222222", "--arguments", "{"]);
    assert!(wrong.code == 1 && wrong.stderr.contains("--arguments: "));
}

#[test]
fn what_two_compactions_folded_is_found_again_in_every_kind_of_file() {
    let project = Project::new();
    let long: Vec<String> = (0..20).map(|n| format!("Step {n}: {}", "and so on ".repeat(90))).collect();
    let mut texts = vec!["Use port 9090 for the admin server; the code word is heron."];
    texts.extend(long.iter().map(String::as_str));
    project.write("22222222-new", &texts);
    let whole = project.path("22222222-new").display().to_string();
    for format in ["claude-code", "pi", "anthropic", "openai", "openai-responses", "gemini"] {
        let file = project.folder.join(format).display().to_string();
        project.wb(&["convert", &whole, "--to", format, "-o", &file]);
        for target in ["20%", "60%"] {
            let args = ["compact", &file, "--in-place", "--allow-open", "--target", target];
            let compacted = project.wb(&args);
            assert!(compacted.stderr.contains("folds"), "{format}: {}", compacted.stderr);
        }
        let answer = project.wb(&["recall", &file, "Step 3:", "--json"]);
        let session = &json_of(&answer)["sessions"][0];
        let found = (&session["excerpts"][0]["message"], &session["n_messages"]);
        assert_eq!(found, (&json!(4), &json!(21)), "{format}");
    }
}

#[test]
fn what_was_folded_is_found_and_undone_after_the_list_of_operations_lost_a_line() {
    let project = Project::new();
    let long: Vec<String> = (0..20).map(|n| format!("Step {n}: {}", "and so on ".repeat(90))).collect();
    project.write("33333333-new", &long.iter().map(String::as_str).collect::<Vec<_>>());
    let whole = project.path("33333333-new").display().to_string();
    // The outcome of the first or of the last compaction is lost.
    for (lost, rewritten) in [(1, false), (3, false), (3, true)] {
        let name = format!("{lost}-{rewritten}.json");
        let file = project.folder.join(&name);
        let path = file.display().to_string();
        project.wb(&["convert", &whole, "--to", "openai", "-o", &path]);
        let messages = || -> Value { serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap() };
        let before = messages();
        for target in ["60%", "20%"] {
            project.wb(&["compact", &path, "--in-place", "--allow-open", "--target", target]);
        }
        let list = project.folder.join(name + ".wb-log");
        let lines = std::fs::read_to_string(&list).unwrap();
        let mut lines: Vec<&str> = lines.split_inclusive('\n').collect();
        assert_eq!(lines.len(), 4);
        lines[lost] = if lost == 3 { "{\"done" } else { "" };
        std::fs::write(&list, lines.concat()).unwrap();
        if rewritten {
            // The agent writes the whole file again, in its own layout.
            std::fs::write(&file, messages().to_string()).unwrap();
        }
        let answer = json_of(&project.wb(&["recall", &path, "Step 3:", "--json"]));
        assert_eq!(answer["sessions"][0]["n_messages"], json!(20), "{answer}");
        for _ in 0..2 {
            let undone = project.wb(&["undo", &path, "--allow-open"]);
            assert_eq!(undone.code, 0, "{lost}: {}", undone.stderr);
        }
        assert_eq!(messages(), before);
    }
}

/// Talks to `wb mcp` and returns its answers.
fn served(home: &Path, folder: &Path, requests: &[Value]) -> Vec<Value> {
    let mut server = Command::new(env!("CARGO_BIN_EXE_wb"))
        .args(["mcp", "--host", "claude-code", "--project"])
        .arg(folder)
        .env_clear()
        .env("HOME", home)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = server.stdin.take().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let client = json!({"name": "test", "version": "1"});
    let begin = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client});
    let begin = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin});
    writeln!(stdin, "{begin}").unwrap();
    let mut answers = vec![serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap()];
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).unwrap();
    for request in requests {
        writeln!(stdin, "{request}").unwrap();
        answers.push(serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap());
    }
    drop(stdin);
    assert!(server.wait().unwrap().success());
    answers
}

#[test]
fn an_agent_looks_up_messages_over_its_protocol() {
    let project = Project::new();
    let call = |id: u32, name: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    let requests = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        call(2, "recall", json!({"query": "admin port"})),
        call(3, "recall", json!({"words": "port"})),
        call(4, "context", json!({})),
        call(5, "write", json!({})),
    ];
    let answers = served(project.home.path(), &project.folder, &requests);
    let names: Vec<&Value> =
        answers[1]["result"]["tools"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["recall", "context"]);
    let text = |at: usize| answers[at]["result"]["content"][0]["text"].as_str().unwrap_or_default();
    assert!(text(2).contains("     1| Use port 9090 for the admin server."), "{}", answers[2]);
    assert_eq!(answers[3]["result"]["isError"], json!(true));
    assert!(text(3).contains("unknown field `words`"), "{}", answers[3]);
    assert!(text(4).starts_with("The context has about "), "{}", answers[4]);
    assert_eq!(answers[5]["error"]["code"], json!(-32602));
    let elsewhere = tempfile::tempdir().unwrap();
    let none = served(project.home.path(), elsewhere.path(), &requests[1..2]);
    assert!(
        none[1]["result"]["content"][0]["text"].as_str().unwrap().contains("no session of "),
        "{}",
        none[1]
    );
}
