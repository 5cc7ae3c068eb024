//! Checks that each error comes with a correct hint.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Answer, wb, wb_in, wb_with};

const SESSION: &str = "fixtures/sessions/hello.jsonl";

/// Runs a command that fails, and returns its error and its hint.
fn refused(args: &[&str]) -> (String, String) {
    error_and_hint(&wb(args))
}

fn error_and_hint(answer: &Answer) -> (String, String) {
    assert_eq!((answer.code, answer.stdout.as_str()), (1, ""), "{}", answer.stderr);
    let (error, hint) = answer.stderr.split_once("\nhint: ").unwrap();
    // A hint may take several lines, each indented.
    (error.strip_prefix("error: ").unwrap().to_owned(), hint.replace("\n      ", " ").trim_end().to_owned())
}

fn in_folder(test: impl FnOnce(&dyn Fn(&str) -> String)) {
    let folder = tempfile::tempdir().unwrap();
    test(&|name| folder.path().join(name).to_str().unwrap().to_owned());
}

#[test]
fn a_file_that_is_not_there_has_a_near_name_if_there_is_one() {
    for verb in ["weigh", "plan", "compact", "compare", "replay", "audit", "validate"] {
        let (error, hint) = refused(&[verb, "fixtures/sessions/helo.jsonl"]);
        assert_eq!(error, "fixtures/sessions/helo.jsonl: no such file", "{verb}");
        assert_eq!(hint, "did you mean fixtures/sessions/hello.jsonl?", "{verb}");
    }
    let (error, hint) = refused(&["weigh", "fixtures/sessions/zzz"]);
    assert_eq!(error, "fixtures/sessions/zzz: no such file");
    assert_eq!(hint, "`wb` alone lists the newest sessions");
}

#[test]
fn a_mistyped_command_has_the_nearest_name() {
    for (typed, meant) in
        [("plam", "plan"), ("comapct", "compact"), ("wiegh", "weigh"), ("lgo", "log"), ("undoo", "undo")]
    {
        let answer = wb(&[typed]);
        let hint = format!("`{typed}` is no command\nhint: did you mean `wb {meant}`?");
        assert!(answer.stderr.contains(&hint), "{}", answer.stderr);
    }
    assert!(!wb(&["frobnicate"]).stderr.contains("did you mean"));
}

#[test]
fn an_empty_call_has_a_call_as_its_hint() {
    let answer: Value = serde_json::from_str(&wb(&["api"]).stdout).unwrap();
    let (_, call) = answer["error"]["hint"].as_str().unwrap().split_once("such as ").unwrap();
    assert_eq!(wb_with(&["api"], call.as_bytes()).code, 0, "{call}");
}

#[test]
fn a_missing_message_has_the_command_that_numbers_them() {
    let (_, hint) = refused(&["pin", SESSION, "500"]);
    assert_eq!(hint, format!("`wb plan {SESSION} --outline` numbers the messages"));
    assert!(wb(&["plan", SESSION, "--outline"]).code == 0, "it works on a pipe");
}

#[test]
fn a_near_name_is_quoted_for_the_shell() {
    in_folder(|path| {
        fs::write(path("my session.jsonl"), "").unwrap();
        let (_, hint) = refused(&["weigh", &path("my sesion.jsonl")]);
        assert_eq!(hint, format!("did you mean '{}'?", path("my session.jsonl")));
    });
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let (error, hint) = refused(&["plan", "fixturs/hello.jsonl"]);
    assert_eq!(error, "fixturs/hello.jsonl: its folder does not exist");
    assert_eq!(hint, "did you mean fixtures?");
}

#[test]
fn an_error_is_wrapped_at_the_width_of_the_screen() {
    let variables = [("COLUMNS", "60")];
    let refused = wb_in(Path::new("/nowhere"), &variables, &["session", "tree", SESSION], b"").stderr;
    assert!(
        refused.lines().count() > 2 && refused.lines().all(|line| line.chars().count() <= 60),
        "{refused}"
    );
}

#[test]
fn a_folder_is_no_session_but_may_hold_one() {
    for verb in ["plan", "compact", "compare", "audit", "validate"] {
        let (error, hint) = refused(&[verb, "fixtures/sessions"]);
        assert_eq!(error, "fixtures/sessions: is a folder", "{verb}");
        assert_eq!(hint, "name a session in it, such as fixtures/sessions/flaky-checkout.jsonl", "{verb}");
    }
    let (_, hint) = refused(&["plan", "docs"]);
    assert_eq!(hint, "name a session file; `wb weigh` and `wb replay` take folders");
    let (error, hint) = refused(&["session", "tree", "fixtures/sessions"]);
    assert_eq!(error, "fixtures/sessions: is a folder");
    assert_eq!(hint, "name a session file of pi in it");
}

#[test]
fn a_folder_without_sessions_has_nothing_to_weigh() {
    let (error, hint) = refused(&["weigh", "crates/wb-cli/src"]);
    assert_eq!(error, "crates/wb-cli/src: no session files found in or below this folder");
    assert!(hint.starts_with("session files end in .jsonl or .json"), "{hint}");
}

#[test]
fn requests_of_messages_are_read_as_sessions_are() {
    let anthropic = json!({"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}]});
    let chat = json!({"model": "m", "messages": [
        {"role": "system", "content": "x"}, {"role": "user", "content": "y"}]});
    let responses = json!({"model": "m", "instructions": "x", "input": [{"role": "user", "content": "y"}]});
    for (body, format) in
        [(anthropic, "anthropic-messages"), (chat, "openai-chat"), (responses, "openai-responses")]
    {
        let weighed = wb_with(&["weigh", "-", "--json"], body.to_string().as_bytes());
        assert!(weighed.stdout.contains(&format!("\"format\":\"{format}\"")), "{}", weighed.stdout);
    }
}

#[test]
fn what_helps_where_json_is_torn_depends_on_how_it_lies_in_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let header =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    let spread = header.replace(',', ",\n");
    for (name, text, expected) in [
        (
            "cut.json",
            "{\"messages\": [\n{\"role\": \"user\", \"content\": \"a".to_owned(),
            "the file is truncated",
        ),
        ("spread.jsonl", format!("{spread}\n{spread}\n"), "`jq -c . "),
        ("line.jsonl", format!("{{\"type\":\n{header}\n"), "remove or repair this line"),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let (_, hint) = refused(&["weigh", file.to_str().unwrap()]);
        assert!(hint.contains(expected), "{name}: {hint}");
    }
}

#[test]
fn a_file_without_a_session_is_shown_with_its_beginning() {
    let (error, hint) = error_and_hint(&wb_with(&["weigh", "-"], b"hello\nthere\n"));
    assert_eq!(error, "-: unrecognized format (starts with `hello`)");
    assert!(hint.contains("`wb formats` lists the known formats"), "{hint}");
    let (error, hint) = error_and_hint(&wb_with(&["weigh", "-"], b""));
    assert_eq!(error, "-: the file is empty");
    assert_eq!(hint, "name a session with at least one message");
}

#[test]
fn an_unwritable_folder_is_not_a_missing_one() {
    in_folder(|path| {
        let compact = |out: &str| refused(&["compact", SESSION, "--force", "-q", "-o", out]);
        let (error, hint) = compact(&path(""));
        assert_eq!(error, format!("{}: is a folder", path("")));
        assert_eq!(hint, format!("name a file in it, such as {}", path("compacted.jsonl")));
        let (error, hint) = compact(&path("none/out.jsonl"));
        assert_eq!(error, format!("{}: its folder does not exist", path("none/out.jsonl")));
        assert_eq!(hint, "make the folder first, or name a file in another one");
        fs::create_dir(path("folder")).unwrap();
        let (_, hint) = compact(&path("foldr/out.jsonl"));
        assert_eq!(hint, format!("did you mean {}?", path("folder")));
    });
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported() {
    let (error, hint) = refused(&["compact", SESSION, "--force", "-q", "-o", "/dev/full"]);
    assert_eq!(error, "/dev/full: no room is left there");
    assert_eq!(hint, "free some space, or name a file on another disk");
    for line in FAR_LINES {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let (code, reported) = run_into(full.into(), line);
        assert_eq!(code, Some(1), "wb {line}: {reported}");
        assert!(
            reported.starts_with("error: standard output: no space left on device\nhint: "),
            "wb {line}: {reported}"
        );
    }
}

#[test]
fn a_reader_that_went_away_gets_no_error() {
    for line in FAR_LINES {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(run_into(writer.into(), line), (Some(0), String::new()), "wb {line}");
    }
}

/// Commands that write in different ways.
const FAR_LINES: [&str; 6] = [
    "man",
    "formats",
    "weigh --json fixtures/sessions/flaky-checkout.jsonl",
    "--help",
    "hook",
    "hook --schema",
];

/// Runs a command with its standard output redirected, and returns its exit code and its error.
fn run_into(place: Stdio, line: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wb"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let line = line.split(' ');
    let done = command
        .args(line)
        .env_clear()
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(place)
        .output()
        .unwrap();
    (done.status.code(), String::from_utf8(done.stderr).unwrap())
}

#[test]
fn the_hint_to_save_repeats_every_option_and_does_what_was_shown() {
    in_folder(|path| {
        let session = path("my session.jsonl");
        fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(SESSION), &session).unwrap();
        let shown = wb(&["compact", &session, "--force", "--reserve-tokens", "0", "--dry-run"]).stdout;
        let hint = shown.lines().find_map(|line| line.strip_prefix("to apply: ")).unwrap();
        let expected = format!("wb compact '{session}' --reserve-tokens 0 --force --in-place");
        assert_eq!(hint, expected);
        assert!(!Path::new(&path("my session.jsonl.wb-log")).exists());
        let piped = wb_with(&["compact", "-", "--force"], &fs::read(&session).unwrap()).stdout;
        assert!(piped.ends_with("to apply: wb compact - --force -o compacted.jsonl\n"), "{piped}");
    });
}

#[test]
fn a_session_within_its_budget_has_a_hint_that_helps() {
    let within = wb(&["compact", SESSION, "--dry-run"]).stdout;
    assert!(within.ends_with("; --force compacts it\n") && within.lines().count() == 3, "{within}");
    let forced = wb(&["compact", SESSION, "--strategy", "three-level", "--force", "--dry-run"]).stdout;
    assert!(forced.contains("hint: this strategy stops at its target"), "{forced}");
}

#[test]
fn with_json_an_error_is_one_object_on_standard_output() {
    let of = |args: &[&str]| -> (i32, Value) {
        let answer = wb(args);
        assert_eq!((answer.stdout.lines().count(), answer.stderr.as_str()), (1, ""), "{args:?}");
        (answer.code, serde_json::from_str(&answer.stdout).unwrap())
    };
    let (code, missing) = of(&["weigh", "fixtures/sessions/helo.jsonl", "--json"]);
    let expected = json!({"version": 1, "error": {
        "message": "no such file",
        "hint": "did you mean fixtures/sessions/hello.jsonl?",
        "file": "fixtures/sessions/helo.jsonl",
        "line": null,
    }});
    assert_eq!((code, missing), (1, expected));
    let (code, usage) = of(&["--json", "convert"]);
    assert_eq!((code, &usage["error"]["file"]), (2, &json!(null)));
    let (_, asked) = of(&["man", "--json"]);
    assert!(asked["error"]["message"].as_str().unwrap().contains("it has no JSON form"), "{asked}");
    for verb in ["tree", "show", "context"] {
        let (code, error) = of(&["session", verb, "none.jsonl", "--json"]);
        assert_eq!((code, &error["error"]["message"]), (1, &json!("no such file")), "{verb}");
    }
}

#[test]
fn the_wrong_line_is_in_the_json() {
    let text =
        "{\"role\":\"user\",\"content\":\"a\"}\n{\"role\":\"user\"}\n{\"role\":\"user\",\"content\":\"a\"}\n";
    let answer = wb_with(&["weigh", "-", "--json"], text.as_bytes());
    let error: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((answer.code, &error["error"]["line"]), (1, &json!(2)), "{error}");
}

#[test]
fn every_json_document_has_a_version() {
    let pi = "fixtures/sessions/rename-flag.jsonl";
    for line in [
        String::new(),
        format!("weigh {pi}"),
        format!("plan {pi}"),
        format!("compact {pi} --dry-run"),
        format!("log {pi}"),
        format!("log {pi} --explain 1"),
        format!("compare {pi}"),
        format!("replay {pi}"),
        format!("audit {pi}"),
        format!("session tree {pi}"),
        format!("session show {pi}"),
        format!("session context {pi}"),
    ] {
        let args: Vec<&str> = line.split_whitespace().chain(["--json"]).collect();
        let document: Value = serde_json::from_str(&wb(&args).stdout).unwrap();
        assert_eq!(document.as_object().unwrap().keys().next().unwrap(), "version", "{line}");
        assert_eq!(document["version"], 1, "{line}");
    }
}
