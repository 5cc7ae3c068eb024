//! `wb log`: the operations on a session, and the fate of its records.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Answer, is_wrapped, root, wb, wb_in};

/// A copy of a session that may be written to.
struct Copy {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Copy {
    fn new(session: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("session.jsonl");
        fs::copy(root().join(session), &file).unwrap();
        Self { folder, file }
    }

    fn name(&self) -> &str {
        self.file.to_str().unwrap()
    }

    /// Folds all but the last messages.
    fn compact(&self, window: &str) {
        let options = ["--in-place", "--allow-open", "--force", "--window", window];
        let done = wb(&[&["compact", self.name()], &options[..]].concat());
        assert_eq!(done.code, 0, "{}", done.stderr);
    }

    fn log(&self, rest: &[&str]) -> Answer {
        wb(&[&["log", self.name()], rest].concat())
    }

    fn json(&self, rest: &[&str]) -> Value {
        let answer = self.log(&[rest, &["--json"]].concat());
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""), "{}", answer.stdout);
        serde_json::from_str(&answer.stdout).unwrap()
    }

    fn explained(&self, line: u64) -> Value {
        self.json(&["--explain", &line.to_string()])
    }

    fn screen(&self, columns: &str, rest: &[&str]) -> String {
        let args = [&["log", self.name()], rest].concat();
        let answer = wb_in(self.folder.path(), &[("COLUMNS", columns)], &args, b"");
        assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
        let shown = answer.stdout.replace(self.name(), "session.jsonl");
        format!("$ wb log session.jsonl {}\n{shown}", rest.join(" "))
    }
}

const CLAUDE: &str = "fixtures/sessions/flaky-checkout.jsonl";
const PI: &str = "fixtures/sessions/rename-flag.jsonl";

#[test]
fn operations_and_records_look_as_recorded() {
    let copy = Copy::new(CLAUDE);
    copy.compact("200k");
    let hidden = copy.json(&["1"])["hides"]["first"].to_string();
    let brought = copy.json(&["1"])["brought"]["last"].to_string();
    wb(&["undo", copy.name()]);
    wb(&["redo", copy.name()]);
    let mut known = String::new();
    for columns in ["100", "60"] {
        let runs = [&[][..], &["1"], &["2"], &["--explain", &hidden], &["--explain", &brought]];
        let shown: Vec<String> = runs.iter().map(|rest| copy.screen(columns, rest)).collect();
        let shown = shown.join("\n");
        if is_wrapped(&shown, &known) {
            continue;
        }
        known.clone_from(&shown);
        insta::with_settings!({
            filters => vec![(r"\d{4}-\d\d-\d\d[T ][\d:.]+Z?", "[when]")],
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(format!("log_at_{columns}"), shown);
        });
    }
}

#[test]
fn what_an_operation_hides_is_hidden_and_what_it_brought_is_seen_until_it_is_undone() {
    for session in [CLAUDE, PI] {
        let copy = Copy::new(session);
        copy.compact("200k");
        let shown = copy.json(&["1"]);
        let [first, last] = ["first", "last"].map(|end| shown["hides"][end].as_u64().unwrap());
        let brought = shown["brought"]["first"].as_u64().unwrap();
        assert!(first < last && last < brought, "{shown}");
        let lines = fs::read_to_string(&copy.file).unwrap().lines().count() as u64;
        assert_eq!(shown["brought"]["last"], json!(lines), "{session}");
        assert!(shown["hides"]["n"].as_u64().unwrap() <= last - first + 1);
        assert_eq!((&shown["stands_on"], &shown["undone"]), (&json!([]), &json!(false)));
        let headings: Vec<&str> =
            shown["digest"].as_array().unwrap().iter().map(|it| it["heading"].as_str().unwrap()).collect();
        assert!(headings.contains(&"Objective"), "{headings:?}");

        for line in [first, last] {
            let hidden = copy.explained(line);
            assert_eq!((&hidden["state"], &hidden["hidden_by"]), (&json!("hidden"), &json!([1])), "{hidden}");
        }
        let seen: Vec<Value> = (brought..=lines).map(|line| copy.explained(line)).collect();
        assert!(seen.iter().any(|it| it["brought_by"] == json!(1) && it["message"].is_null()), "{seen:?}");

        assert_eq!(wb(&["undo", copy.name()]).code, 0);
        assert_eq!(copy.explained(first)["state"], "seen");
        let undone = copy.json(&["1"]);
        assert_eq!((&undone["undone"], &undone["digest"]), (&json!(true), &shown["digest"]));
        assert_eq!((&undone["hides"]["first"], &undone["brought"]["first"]), (&json!(first), &json!(null)));
    }
}

#[test]
fn a_second_compaction_builds_on_the_first() {
    let copy = Copy::new(PI);
    copy.compact("200k");
    let first = copy.json(&["1"])["hides"]["first"].as_u64().unwrap();
    let next = json!({"type": "message", "id": "deadbeef", "parentId": null, "timestamp": "2026-05-01T09:00:00.000Z",
        "message": {"role": "user", "content": "Go on.", "timestamp": 0}});
    let text = fs::read_to_string(&copy.file).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let mut lines = text;
    let mut parent = last["id"].clone();
    for (at, role) in ["user", "assistant", "user"].into_iter().enumerate() {
        let mut line = next.clone();
        line["parentId"] = parent;
        line["id"] = json!(format!("deadbee{at}"));
        line["message"]["role"] = json!(role);
        if role == "assistant" {
            line["message"]["content"] = json!([{"type": "text", "text": "Done so far."}]);
        }
        parent = line["id"].clone();
        lines.extend([line.to_string().as_str(), "\n"]);
    }
    fs::write(&copy.file, lines).unwrap();
    copy.compact("200k");
    assert_eq!(copy.json(&["2"])["stands_on"], json!([1]));
    assert_eq!(copy.explained(first)["hidden_by"], json!([1, 2]));
    let reported = copy.log(&["--explain", &first.to_string()]).stdout;
    let expected = "is hidden by operation 1, whose result is hidden by operation 2";
    assert_eq!(reported, format!("line {first} {expected}\n"));
    for _ in 0..2 {
        assert_eq!(wb(&["undo", copy.name(), "--allow-open"]).code, 0);
    }
    let redo = |rest: &[&str]| wb(&[&["redo", copy.name(), "--allow-open"], rest].concat());
    let refused = redo(&["2"]).stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "operation 2 cannot be redone before operation 1, which was undone after it";
    assert!(refused.contains(&format!("{expected} hint: `wb redo {}` redoes", copy.name())), "{refused}");
    assert_eq!((redo(&[]).code, redo(&["2"]).code), (0, 0));
}

#[test]
fn what_was_undone_is_not_redone_once_the_agent_has_gone_on() {
    let copy = Copy::new(CLAUDE);
    copy.compact("200k");
    assert_eq!(wb(&["undo", copy.name(), "--allow-open"]).code, 0);
    let mut text = fs::read_to_string(&copy.file).unwrap();
    let mut next: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    next["parentUuid"] = next["uuid"].clone();
    next["uuid"] = json!("00000000-0000-4000-8000-000000000001");
    text.extend([next.to_string().as_str(), "\n"]);
    fs::write(&copy.file, text).unwrap();
    let refused = wb(&["redo", copy.name(), "--allow-open"]).stderr;
    assert!(
        refused.contains("the session was written to since it was undone\nhint: run `wb compact`"),
        "{refused}"
    );
}

#[test]
fn what_no_model_ever_saw_is_neither_seen_nor_hidden() {
    let copy = Copy::new(PI);
    assert_eq!(copy.explained(1)["state"], "outside");
    let reported = copy.log(&["--explain", "1"]).stdout;
    assert_eq!(reported, "line 1 is not seen by the model, and no operation of wb hides it\n");
    assert_eq!(copy.explained(4)["state"], "seen", "nothing was done yet");
}

#[test]
fn a_missing_operation_is_reported() {
    let copy = Copy::new(PI);
    let n = fs::read_to_string(&copy.file).unwrap().lines().count();
    let refused = |rest: &[&str], reported: &str| {
        let answer = copy.log(rest);
        assert_eq!((answer.code, answer.stdout.as_str()), (1, ""));
        assert!(answer.stderr.contains(reported), "{}", answer.stderr);
    };
    refused(&["7"], "there is no operation 7\nhint: `wb log ");
    for line in ["0", "100000", "-3", "one"] {
        let reported = format!("there is no record {line}\nhint: name a line of the file, from 1 to {n}");
        refused(&[&format!("--explain={line}")], &reported);
    }
    assert_eq!(copy.log(&["1", "--explain", "1"]).code, 2);
    let piped = wb(&["log", "-"]);
    assert_eq!(piped.code, 1);
    assert!(piped.stderr.contains("\nhint: name the session file"), "{}", piped.stderr);
}

#[test]
fn a_line_that_holds_a_record_in_an_envelope_is_known_by_it() {
    let copy = Copy::new("crates/wb-formats/tests/fixtures/codex/items.jsonl");
    let said = |role: &str, kind: &str, text: &str| {
        let payload = json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]});
        json!({"timestamp": "2026-03-01T09:00:24Z", "type": "response_item", "payload": payload})
    };
    let answer = said("assistant", "output_text", &"I looked at all of it. ".repeat(300));
    let log = fs::read_to_string(&copy.file).unwrap();
    let longer = format!("{log}{answer}\n{}\n", said("user", "input_text", "Go on."));
    fs::write(&copy.file, longer).unwrap();
    copy.compact("200k");
    let shown = copy.json(&["1"]);
    let [hidden, brought] = ["hides", "brought"].map(|key| shown[key]["first"].as_u64().unwrap());
    assert_eq!(copy.explained(hidden)["hidden_by"], json!([1]));
    assert_eq!(copy.explained(brought)["state"], "seen");
}

#[test]
fn an_unknown_operation_is_named() {
    let copy = Copy::new("fixtures/sessions/flaky-checkout.jsonl");
    copy.compact("8000");
    assert!(copy.log(&["9"]).stderr.contains("there is no operation 9"));
}

#[test]
fn a_list_cut_off_in_its_only_line_is_reported() {
    let copy = Copy::new("fixtures/sessions/flaky-checkout.jsonl");
    copy.compact("8000");
    let list = copy.folder.path().join("session.jsonl.wb-log");
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, &text[..200]).unwrap();
    let reported = copy.log(&[]).stdout;
    assert!(reported.contains("is truncated") && !reported.contains("nothing was done"), "{reported}");
    assert_eq!(copy.json(&[])["cut_off"], true);
}

#[test]
fn the_next_operation_removes_a_truncated_last_line() {
    for part in [1, 2, 3] {
        let copy = Copy::new(CLAUDE);
        let list = copy.folder.path().join("session.jsonl.wb-log");
        let start = fs::read(&copy.file).unwrap();
        copy.compact("200k");
        let whole = fs::read(&list).unwrap();
        let first = fs::read(&copy.file).unwrap();
        let torn = &br#"{"planned":{"id":2,"what":"compact","at_ms":17"#[..10 * part];
        fs::write(&list, [&whole[..], torn].concat()).unwrap();
        copy.compact("8000");
        let undo = || wb(&["undo", copy.name(), "--allow-open"]);
        assert_eq!(undo().code, 0, "{part}");
        assert_eq!(fs::read(&copy.file).unwrap(), first, "{part}");
        assert_eq!(undo().code, 0, "{part}");
        assert_eq!(fs::read(&copy.file).unwrap(), start, "{part}");
    }
}
