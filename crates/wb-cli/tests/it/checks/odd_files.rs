//! Checks that sessions in odd places and states are identified correctly, and that nothing is
//! lost.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Answer, root, wb};

const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";

/// A folder with a session in it.
struct Odd {
    folder: tempfile::TempDir,
    before: Vec<u8>,
}

impl Odd {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let before = fs::read(root().join(SESSION)).unwrap();
        fs::write(folder.path().join("s.jsonl"), &before).unwrap();
        Self { folder, before }
    }

    fn compacted() -> Self {
        let odd = Self::new();
        assert_eq!(odd.compact().code, 0);
        odd
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, verb: &str, name: &str, rest: &[&str]) -> Answer {
        let path = self.path(name);
        wb(&[&[verb, path.to_str().unwrap()], rest].concat())
    }

    fn compact(&self) -> Answer {
        self.run("compact", "s.jsonl", &["--in-place", "--force", "--allow-open"])
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path("s.jsonl")).unwrap()
    }

    /// Returns the error and the hint, without the folder's name.
    fn error_and_hint(&self, answer: &Answer) -> (String, String) {
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
        let folder = format!("{}/", self.folder.path().display());
        let text = answer.stderr.replace(&folder, "").replace("\n      ", " ");
        let (error, hint) = text.split_once("\nhint: ").unwrap();
        (error.strip_prefix("error: ").unwrap().to_owned(), hint.trim_end().to_owned())
    }
}

/// Takes the writers' lock, as another program does.
fn locked(path: PathBuf) -> File {
    let file = File::options().append(true).open(path).unwrap();
    file.lock().unwrap();
    file
}

#[test]
fn an_operation_that_was_cut_short_is_settled_before_it_is_undone() {
    let odd = Odd::compacted();
    let list = odd.path("s.jsonl.wb-log");
    let planned = fs::read_to_string(&list).unwrap().lines().next().unwrap().to_owned();
    fs::write(&list, planned + "\n").unwrap();
    let json_log =
        || -> Value { serde_json::from_str(&odd.run("log", "s.jsonl", &["--json"]).stdout).unwrap() };
    let compacted = odd.bytes();
    fs::write(odd.path("s.jsonl"), &odd.before).unwrap();
    let log = odd.run("log", "s.jsonl", &[]).stdout;
    assert!(log.starts_with("operation 1 was interrupted or left to the agent; the next `wb undo`"), "{log}");
    assert_eq!(json_log()["unsettled"], 1);
    fs::write(odd.path("s.jsonl"), compacted).unwrap();
    assert_eq!(
        (&json_log()["unsettled"], &json_log()["operations"][0]["operation"]),
        (&Value::Null, &Value::from(1))
    );
    let undone = odd.run("undo", "s.jsonl", &["--allow-open"]);
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    assert!(odd.bytes() == odd.before);
}

#[test]
fn a_list_that_another_program_holds_or_that_is_damaged_leaves_the_session_as_it_is() {
    let odd = Odd::new();
    fs::write(odd.path("s.jsonl.wb-log"), "").unwrap();
    let lock = locked(odd.path("s.jsonl.wb-log"));
    let (error, hint) = odd.error_and_hint(&odd.compact());
    assert_eq!(error, "s.jsonl: another program is changing the session");
    assert_eq!(hint, "wait until it is done and run the command again");
    assert_eq!(odd.run("log", "s.jsonl", &[]).code, 0, "who reads needs no lock");
    drop(lock);
    fs::write(odd.path("s.jsonl.wb-log"), "garbage\n").unwrap();
    for verb in ["log", "undo"] {
        let (error, hint) = odd.error_and_hint(&odd.run(verb, "s.jsonl", &[]));
        assert!(error.starts_with("s.jsonl: can't read the .wb-log file: line 1: "), "{error}");
        assert_eq!(
            hint,
            "`wb repair s.jsonl --in-place` rebuilds s.jsonl.wb-log from the lines that can be read"
        );
    }
    assert!(odd.bytes() == odd.before);
}

#[test]
fn a_list_with_a_torn_line_in_the_middle_is_refused_until_it_is_rebuilt() {
    let odd = Odd::compacted();
    let after = odd.bytes();
    let (name, aside) = ("s.jsonl.wb-log", odd.path("s.jsonl.wb-log.unreadable"));
    let list = fs::read_to_string(odd.path(name)).unwrap();
    let (planned, done) = list.split_once('\n').unwrap();
    let torn = format!("{planned}\n{}{done}", &planned[..planned.len() / 2]);
    for command in ["repair", "compact", "undo"] {
        fs::write(odd.path(name), &torn).unwrap();
        let session = if command == "compact" { &odd.before } else { &after };
        fs::write(odd.path("s.jsonl"), session).unwrap();
        let rest: &[&str] = if command == "repair" { &[] } else { &["--allow-open"] };
        let write: &[&str] = if command == "compact" { &["--in-place", "--force"] } else { &[] };
        let answer = odd.run(command, "s.jsonl", &[rest, write].concat());
        if command == "repair" {
            assert_eq!(answer.code, 0, "{}", answer.stderr);
            let expected = "would remove 1 unreadable line of the .wb-log file; a file next to it keeps what is removed\nline 2";
            assert!(answer.stdout.contains(expected), "{}", answer.stdout);
            assert!(answer.stdout.trim_end().ends_with("--in-place"), "{}", answer.stdout);
        } else {
            let (error, hint) = odd.error_and_hint(&answer);
            assert!(error.starts_with("s.jsonl: can't read the .wb-log file: line 2: "), "{error}");
            assert!(hint.starts_with("`wb repair s.jsonl --in-place` rebuilds"), "{hint}");
        }
        assert!(odd.bytes() == *session && fs::read_to_string(odd.path(name)).unwrap() == torn);
    }
    let doctor = odd.run("doctor", "s.jsonl", &[]);
    assert!(
        doctor.stdout.contains("nothing can be undone: 1 line of its .wb-log file cannot be read"),
        "{}",
        doctor.stdout
    );
    let repaired = odd.run("repair", "s.jsonl", &["--in-place", "--json"]);
    let repaired: Value = serde_json::from_str(&repaired.stdout).unwrap();
    assert_eq!((&repaired["unreadable_list_lines"], &repaired["changed"]), (&json!([2]), &json!(false)));
    assert_eq!(fs::read_to_string(&aside).unwrap().trim_end(), torn.lines().nth(1).unwrap());
    assert_eq!(odd.run("undo", "s.jsonl", &["--allow-open"]).code, 0);
    assert!(odd.bytes() == odd.before);
}

#[test]
fn a_session_that_another_program_has_locked_is_left_alone() {
    let odd = Odd::new();
    let lock = locked(odd.path("s.jsonl"));
    let (error, hint) = odd.error_and_hint(&odd.compact());
    assert_eq!(error, "s.jsonl: another program is writing the session");
    assert_eq!(hint, "close the session in the other program and run the command again");
    drop(lock);
    assert!(odd.bytes() == odd.before);
    assert_eq!(odd.compact().code, 0);
}

#[test]
fn a_session_that_was_cut_off_since_is_not_said_to_be_whole() {
    let odd = Odd::compacted();
    fs::write(odd.path("s.jsonl"), &odd.before[..5_000]).unwrap();
    let (error, hint) = odd.error_and_hint(&odd.run("undo", "s.jsonl", &["--allow-open"]));
    assert_eq!(error, "s.jsonl: the records that operation 1 had before are not in the session any more");
    assert_eq!(hint, "look for a copy of the session from before");
    assert!(odd.bytes() == odd.before[..5_000]);
}

#[test]
fn a_hint_to_write_elsewhere_needs_a_command_that_can() {
    let odd = Odd::new();
    let (_, hint) = odd.error_and_hint(&odd.run("compact", "s.jsonl", &["--in-place", "--force"]));
    assert!(
        hint.starts_with(
            "wait ten seconds and try again, or stop the agent, or write to another file with -o;"
        ),
        "{hint}"
    );
    assert_eq!(odd.compact().code, 0);
    let by_another = [odd.bytes(), b"{}\n".to_vec()].concat();
    fs::write(odd.path("s.jsonl"), by_another).unwrap();
    let (error, hint) = odd.error_and_hint(&odd.run("undo", "s.jsonl", &[]));
    assert_eq!(error, "s.jsonl: was written to in the last ten seconds");
    let first = "wait ten seconds and try again, or stop the agent";
    assert_eq!(hint, format!("{first}; pass --allow-open to write anyway"));
}

#[cfg(unix)]
#[test]
fn behind_a_link_a_session_is_read_with_its_list_and_not_written() {
    use std::os::unix::fs::symlink;
    let odd = Odd::compacted();
    symlink("s.jsonl", odd.path("link.jsonl")).unwrap();
    let log = odd.run("log", "link.jsonl", &["--json"]).stdout;
    let log: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(log["operations"][0]["what"], "compact");
    let (error, hint) = odd.error_and_hint(&odd.run("undo", "link.jsonl", &[]));
    assert_eq!(error, "link.jsonl: is a link to s.jsonl");
    assert_eq!(hint, "name the file that the link leads to");
    symlink("nowhere", odd.path("dangling.jsonl")).unwrap();
    let (error, hint) = odd.error_and_hint(&odd.run("weigh", "dangling.jsonl", &[]));
    assert_eq!(error, "dangling.jsonl: is a link to nowhere, which is not there");
    assert!(hint.starts_with("name the session itself"), "{hint}");
}

#[cfg(unix)]
#[test]
fn a_file_without_write_permission_is_not_an_unreadable_one() {
    use std::os::unix::fs::PermissionsExt;
    let odd = Odd::new();
    let allow = |name: &str, mode| {
        fs::set_permissions(odd.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    allow("s.jsonl", 0o444);
    if File::options().append(true).open(odd.path("s.jsonl")).is_ok() {
        return; // The administrator may write to any file.
    }
    let (error, hint) = odd.error_and_hint(&odd.compact());
    assert_eq!(error, "s.jsonl: may not be written");
    assert_eq!(hint, "ask its owner, or change its permissions with chmod");
    allow("s.jsonl", 0o644);
    allow("", 0o555);
    let (error, hint) = odd.error_and_hint(&odd.compact());
    let expected = "can't write the .wb-log file: s.jsonl.wb-log: creating it failed: Permission denied";
    assert_eq!(error, format!("s.jsonl: {expected}"));
    assert!(hint.starts_with("the list is next to the session"), "{hint}");
    let (_, hint) =
        odd.error_and_hint(&odd.run("replay", "s.jsonl", &["--html", odd.path("x.html").to_str().unwrap()]));
    assert_eq!(hint, "name a file in a folder of yours, such as ./x.html");
    allow("", 0o755);
    assert!(odd.bytes() == odd.before);
}

#[cfg(target_os = "linux")]
#[test]
fn a_pipe_with_a_name_is_read_as_standard_input_is() {
    let odd = Odd::new();
    let fifo = odd.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let read = |verb: &str, rest: &[&str]| {
        std::thread::scope(|scope| {
            // A program that reads nothing closes the pipe early.
            scope.spawn(|| fs::write(&fifo, &odd.before));
            odd.run(verb, "pipe", rest)
        })
    };
    for (verb, rest) in [("weigh", &["--json"][..]), ("audit", &[]), ("compare", &[]), ("replay", &[])] {
        let answer = read(verb, rest);
        assert_eq!(answer.code, 0, "{verb}: {}", answer.stderr);
    }
    let weighed: Value = serde_json::from_str(&read("weigh", &["--json"]).stdout).unwrap();
    assert_eq!((&weighed["format"], &weighed["messages"]), (&Value::from("claude-code"), &Value::from(147)));
    let (error, hint) = odd.error_and_hint(&odd.run("compact", "pipe", &["--in-place"]));
    assert_eq!(error, "pipe: a pipe can't be written in place");
    assert_eq!(hint, "name the session's own file");
}

#[test]
fn an_export_is_compacted_into_another_file_and_never_in_place() {
    let odd = Odd::new();
    let lines = String::from_utf8(odd.before.clone()).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    fs::write(odd.path("export.json"), serde_json::json!({"loglines": lines}).to_string()).unwrap();
    let shown = odd.run("compact", "export.json", &["--force"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.ends_with(" -o compacted.jsonl\n"), "{}", shown.stdout);
    let (error, hint) = odd.error_and_hint(&odd.run("compact", "export.json", &["--force", "--in-place"]));
    assert!(error.ends_with("window-budget makes of it: a web export is read only"), "{error}");
    assert_eq!(hint, "write the result in the format native with -o OUT");
    let out = odd.path("out.jsonl");
    let written = odd.run("compact", "export.json", &["--force", "-o", out.to_str().unwrap()]);
    assert!(written.code == 0 && written.stderr.contains("in the format native, not as claude-code"));
    assert!(fs::read_to_string(out).unwrap().starts_with("{\"type\":\"window-budget\""));
}

#[test]
fn what_an_older_layout_would_become_is_shown_although_it_is_not_written() {
    let odd = Odd::new();
    let mut old = fs::read(root().join("crates/wb-session/tests/fixtures/v1.jsonl")).unwrap();
    let text = "I repaired them one after the other. ".repeat(300);
    for message in [
        json!({"role": "assistant", "content": [{"type": "text", "text": text}], "timestamp": 1_735_689_607_000_i64}),
        json!({"role": "user", "content": "go on", "timestamp": 1_735_689_608_000_i64}),
    ] {
        let line = json!({"type": "message", "timestamp": "2025-01-01T00:00:07Z", "message": message});
        old.extend_from_slice(format!("{line}\n").as_bytes());
    }
    fs::write(odd.path("old.jsonl"), &old).unwrap();
    let shown = odd.run("compact", "old.jsonl", &["--force"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let (error, hint) =
        odd.error_and_hint(&odd.run("compact", "old.jsonl", &["--force", "--in-place", "--allow-open"]));
    assert!(error.contains("version 1 of the layout of pi"), "{error}");
    assert!(hint.starts_with("open the session in its agent once"), "{hint}");
    assert_eq!(fs::read(odd.path("old.jsonl")).unwrap(), old);
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_read_is_an_error_with_its_path() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let odd = Odd::new();
    let mode = |name: &str, mode| {
        fs::set_permissions(odd.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir_all(odd.path("all/shut")).unwrap();
    fs::copy(odd.path("s.jsonl"), odd.path("all/s.jsonl")).unwrap();
    mode("", 0o755);
    mode("all/shut", 0o000);
    let is_root = odd.path("all/shut").read_dir().is_ok();
    let weigh = |name: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wb"));
        command.arg("weigh").arg(odd.path(name)).env_clear();
        if is_root {
            command.uid(65_534);
        }
        command.output()
    };
    // Another user may be kept from the program itself.
    if let Ok(shut) = weigh("all/shut") {
        let text = String::from_utf8(shut.stderr).unwrap();
        assert!(text.contains("all/shut: may not be read\nhint: "), "{text}");
        assert_eq!((shut.status.code(), shut.stdout.len(), text.matches("error").count()), (Some(1), 0, 1));
        let all = weigh("all").unwrap();
        assert_eq!(all.status.code(), Some(1));
        assert!(String::from_utf8(all.stdout).unwrap().contains("1 session"));
        assert!(String::from_utf8(all.stderr).unwrap().contains("all/shut: may not be read\nhint: "));
    }
    mode("all/shut", 0o755);
}

#[test]
fn what_a_request_says_outside_of_its_messages_counts_toward_its_window() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body.json");
    let (system, said) = ("Keep to the rules. ".repeat(2_000), "some words ".repeat(100));
    let messages: Vec<Value> = (0..20)
        .map(|at| json!({ "role": if at % 2 == 0 { "user" } else { "assistant" }, "content": said }))
        .collect();
    let weighed = |body: Value| {
        std::fs::write(&file, body.to_string()).unwrap();
        let reported = wb(&["compact", file.to_str().unwrap(), "--window", "16000", "--json"]).stdout;
        let reported: Value = serde_json::from_str(&reported).unwrap();
        (
            reported["overhead"].as_u64().unwrap(),
            reported["changed"].as_bool().unwrap(),
            reported["tokens_after"].clone(),
        )
    };
    let bare = weighed(json!({ "model": "m", "max_tokens": 9, "messages": messages }));
    assert_eq!((bare.0, bare.1), (0, false));
    let tools = json!([{ "name": "read", "description": said, "input_schema": { "type": "object" } }]);
    let with =
        json!({ "model": "m", "max_tokens": 9, "system": system, "tools": tools, "messages": messages });
    let (overhead, changed, after) = weighed(with);
    assert!((8_000..12_000).contains(&overhead) && changed, "{overhead}");
    assert!(after.as_u64().unwrap() > overhead);
    let shown = wb(&["weigh", file.to_str().unwrap()]).stdout;
    assert!(shown.contains("includes system prompt and tools (about"), "{shown}");
}

#[test]
fn a_result_whose_call_reappears_is_not_to_be_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let lines = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"Look."}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs"}}],"stopReason":"toolUse"}}
{"type":"message","id":"r1","parentId":"gone","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"fn a() {}"}],"isError":false}}
{"type":"message","id":"u2","parentId":"r1","message":{"role":"user","content":"Well?"}}
"#;
    fs::write(&file, lines).unwrap();
    let file = file.to_str().unwrap();
    let repaired = wb(&["repair", file, "--in-place", "--allow-open"]);
    assert!(repaired.stdout.contains("answers no call"), "{}{}", repaired.stdout, repaired.stderr);
    assert!(!repaired.stdout.contains("drop the result"), "{}", repaired.stdout);
    let reported = wb(&["doctor", file]);
    assert_eq!(reported.code, 0, "{}", reported.stdout);
    assert_eq!(fs::read_to_string(file).unwrap(), lines.replace("\"gone\"", "\"a1\""));
}

#[test]
fn records_on_one_line_are_split_into_lines() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("s.jsonl");
    let lines = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}
{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"Look."}}
{"type":"message","id":"a1","parentId":"u1","message":{"role":"assistant","content":[{"type":"text","text":"One file."}],"stopReason":"stop"}}
{"type":"message","id":"u2","parentId":"a1","message":{"role":"user","content":"Well?"}}
"#;
    let glued =
        lines.replace("}\n{\"type\":\"message\",\"id\":\"a1\"", "}{\"type\":\"message\",\"id\":\"a1\"");
    fs::write(&file, &glued).unwrap();
    let file = file.to_str().unwrap();
    let reported = wb(&["doctor", "--json", file]).stdout;
    let reported: Value = serde_json::from_str(&reported).unwrap();
    let complaints = reported["complaints"].as_array().unwrap();
    assert!(
        complaints.iter().all(|it| it["mend"].as_str().is_some_and(|it| it.contains("wb repair"))),
        "{reported}"
    );
    let repaired = wb(&["repair", file, "--in-place", "--allow-open"]);
    assert!(repaired.stdout.contains("1 line broken between its records"), "{}", repaired.stdout);
    assert_eq!(fs::read_to_string(file).unwrap(), lines);
    assert_eq!(wb(&["doctor", file]).code, 0);
    assert_eq!(wb(&["undo", file, "--allow-open"]).code, 0);
    assert_eq!(fs::read_to_string(file).unwrap(), glued);
}

#[test]
fn a_named_format_is_used_unless_another_reads_more_messages() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body.json");
    fs::write(&file, r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}"#).unwrap();
    let file = file.to_str().unwrap();
    let format = |words: &[&str]| {
        let weighed = wb(&[&["weigh", "--json", file], words].concat()).stdout;
        serde_json::from_str::<Value>(&weighed).unwrap()["format"].as_str().unwrap().to_owned()
    };
    assert_eq!(format(&["--format", "anthropic-messages"]), "anthropic-messages");
    assert_eq!(format(&["--format", "openai-chat"]), "openai-chat");
    let both = wb(&["validate", file]).stdout;
    assert!(both.contains("anthropic, openai"), "{both}");
    let one = wb(&["validate", file, "--format", "anthropic-messages"]).stdout;
    assert!(one.contains("· anthropic\n"), "{one}");
    assert_eq!(wb(&["weigh", file, "--format", "nope"]).code, 2);
    let talk = r#"[{"role":"user","content":"Read it."},{"role":"assistant","content":null,"tool_calls":[{"id":"1",
        "type":"function","function":{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]"#;
    fs::write(file, talk).unwrap();
    let wrong = wb(&[
        "compact",
        file,
        "--target",
        "50%",
        "--format",
        "anthropic-messages",
        "--in-place",
        "--allow-open",
    ]);
    assert!(
        wrong.code != 0 && wrong.stderr.contains("as openai-chat, which it looks like, 3"),
        "{}",
        wrong.stderr
    );
    assert_eq!(fs::read_to_string(file).unwrap(), talk);
}

#[test]
fn a_key_that_a_provider_refuses_leaves_a_request_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body.json");
    let body = "{ \"compaction\": {\"type\": \"summarize\"},\n  \"context_management\": {\"edits\": []},\n  \"messages\": [{\"role\": \"user\", \"content\": \"hi\"}] }";
    fs::write(&file, body).unwrap();
    let path = file.to_str().unwrap();
    let repaired = wb(&["repair", path, "--in-place", "--allow-open"]);
    assert!(repaired.stdout.contains("compaction-alone"), "{}{}", repaired.stdout, repaired.stderr);
    let expected = body.replace(",\n  \"context_management\": {\"edits\": []}", "");
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(wb(&["undo", path, "--allow-open"]).code, 0);
    assert_eq!(fs::read_to_string(&file).unwrap(), body);
}
