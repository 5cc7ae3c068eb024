//! Checks that a session is compacted in place, and that this can be undone.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::support::place::json_of;
use crate::support::{Answer, root, wb};

/// A session of Claude Code.
const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";

struct Place {
    folder: tempfile::TempDir,
    before: Vec<u8>,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let before = fs::read(root().join(SESSION)).unwrap();
        let place = Self { folder, before };
        fs::write(place.path(), &place.before).unwrap();
        place.age(60);
        place
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("session.jsonl")
    }

    /// Lets the session look as if it was written some time ago.
    fn age(&self, seconds: u64) {
        let then = SystemTime::now() - Duration::from_secs(seconds);
        File::options().write(true).open(self.path()).unwrap().set_modified(then).unwrap();
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.path()).unwrap()
    }

    fn run(&self, words: &[&str]) -> Answer {
        let path = self.path();
        let mut words = words.to_vec();
        words.insert(1, path.to_str().unwrap());
        wb(&words)
    }

    fn n_files(&self) -> usize {
        self.folder.path().read_dir().unwrap().count()
    }
}

#[test]
fn a_session_is_compacted_by_appending_undone_and_redone() {
    let place = Place::new();
    let done = json_of(&place.run(&["compact", "--in-place", "--force", "--json"]));
    assert_eq!((&done["changed"], &done["written"]["operation"]), (&Value::Bool(true), &Value::from(1)));
    let after = place.bytes();
    assert!(after.starts_with(&place.before) && after.len() > place.before.len());
    let weighed = json_of(&place.run(&["weigh", "--json"]));
    assert_eq!(weighed["messages"], done["messages_after"]);
    let [reported, found] = [&done["tokens_after"], &weighed["tokens"]].map(|it| it.as_u64().unwrap());
    assert!(
        reported.abs_diff(found) * 500 < found,
        "the reported tokens are those found: {reported} {found}"
    );

    // What wb wrote itself just now is no agent at work.
    let undone = json_of(&place.run(&["undo", "--json"]));
    assert_eq!((&undone["exact"], &undone["written"]), (&Value::Bool(true), &Value::Bool(true)));
    assert_eq!(place.bytes(), place.before);
    let redone = place.run(&["redo"]);
    assert!(redone.stdout.starts_with("operation 1 redone"), "{}", redone.stdout);
    assert!(redone.stdout.contains("\nto undo: wb undo "), "{}", redone.stdout);
    assert_eq!(place.bytes(), after);
    let log = json_of(&place.run(&["log", "--json"]));
    let what: Vec<&str> =
        log["operations"].as_array().unwrap().iter().map(|it| it["what"].as_str().unwrap()).collect();
    assert_eq!(what, ["compact", "undo", "redo"]);
}

#[test]
fn a_dry_run_writes_nothing() {
    let place = Place::new();
    let dry = json_of(&place.run(&["compact", "--in-place", "--force", "--dry-run", "--json"]));
    assert_eq!((place.bytes() == place.before, place.n_files()), (true, 1));
    assert_eq!((&dry["changed"], dry.get("written")), (&Value::Bool(true), None));
    let done = json_of(&place.run(&["compact", "--in-place", "--force", "--json"]));
    assert_eq!(done["tokens_after"], dry["tokens_after"]);
    let after = place.bytes();
    let reported = place.run(&["undo", "--dry-run"]).stdout;
    let expected = "would be undone (dry run, nothing written): the file would be restored byte for byte";
    assert!(reported.contains(expected), "{reported}");
    assert_eq!(place.bytes(), after);
}

#[test]
fn a_session_that_needs_nothing_is_left_alone_and_nothing_is_said_to_be_written() {
    let place = Place::new();
    let done = json_of(&place.run(&["compact", "--in-place", "--json"]));
    assert_eq!((&done["changed"], done.get("written")), (&Value::Bool(false), None));
    let reported = place.run(&["compact", "--in-place"]);
    assert_eq!((reported.code, reported.stderr.as_str()), (0, ""));
    assert!(reported.stdout.contains("  within budget: "), "{}", reported.stdout);
    assert_eq!((place.bytes() == place.before, place.n_files()), (true, 1));
}

#[test]
fn a_session_that_was_written_to_just_now_is_left_alone() {
    let place = Place::new();
    place.age(1);
    let refused = place.run(&["compact", "--in-place", "--force"]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains(
            "was written to in the last ten seconds\nhint: wait ten seconds and try again, or stop the agent"
        ),
        "{}",
        refused.stderr
    );
    assert_eq!((place.bytes() == place.before, place.n_files()), (true, 1));
    assert_eq!(place.run(&["compact", "--in-place", "--allow-open", "--force"]).code, 0);
}

#[test]
fn what_the_agent_wrote_since_stays_behind_what_comes_back() {
    let place = Place::new();
    let before = json_of(&place.run(&["weigh", "--json"]));
    json_of(&place.run(&["compact", "--in-place", "--force", "--json"]));
    let text = String::from_utf8(place.bytes()).unwrap();
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let next = serde_json::json!({
        "type": "user", "uuid": "11111111-2222-4333-8444-555555555555", "parentUuid": last["uuid"], "isSidechain": false,
        "timestamp": "2026-01-02T03:04:05.000Z", "message": {"role": "user", "content": "And now the changelog."},
    });
    fs::write(place.path(), format!("{text}{next}\n")).unwrap();
    place.age(60);
    let undone = json_of(&place.run(&["undo", "--json"]));
    assert_eq!(undone["exact"], Value::Bool(false));
    let now = json_of(&place.run(&["weigh", "--json"]));
    assert_eq!(now["messages"].as_u64(), before["messages"].as_u64().map(|n| n + 1));
}

/// Returns `n` turns with a tool result each, in the form of a request: the last message is the
/// user's.
fn turns(n: usize, call: impl Fn(usize) -> Value, result: impl Fn(usize) -> Value) -> Vec<Value> {
    let said = |role: &str, text: String| serde_json::json!({"role": role, "content": text});
    let turn = |nth| {
        let done = format!("done {nth}: {}", "I looked at all of it ".repeat(40));
        [said("user", format!("task {nth}")), call(nth), result(nth), said("assistant", done)]
    };
    (0..n).flat_map(turn).chain(["wait", "go on"].map(|text| said("user", text.to_owned()))).collect()
}

#[test]
fn messages_without_a_format_keep_that_of_the_compaction() {
    let chat = |n| {
        let call = |nth| {
            serde_json::json!({"role": "assistant", "content": null, "tool_calls":
                [{"id": format!("c{nth}"), "type": "function", "function": {"name": "ls", "arguments": "{}"}}]})
        };
        turns(
            n,
            call,
            |nth| serde_json::json!({"role": "tool", "tool_call_id": format!("c{nth}"), "content": "a.rs"}),
        )
    };
    let anthropic = |n| {
        let call = |nth| {
            serde_json::json!({"role": "assistant", "content":
                [{"type": "tool_use", "id": format!("c{nth}"), "name": "ls", "input": {}}]})
        };
        turns(n, call, |nth| {
            serde_json::json!({"role": "user", "content":
                [{"type": "tool_result", "tool_use_id": format!("c{nth}"), "content": "a.rs"}]})
        })
    };
    for (format, list, is_object) in [
        ("openai-chat", chat(6), false),
        ("openai-chat", chat(6), true),
        ("anthropic-messages", anthropic(6), false),
        ("anthropic-messages", anthropic(6), true),
    ] {
        let place = Place::new();
        let write = |list: &[Value]| {
            let document = if is_object { serde_json::json!({ "messages": list }) } else { list.into() };
            fs::write(place.path(), serde_json::to_string_pretty(&document).unwrap()).unwrap();
            place.age(60);
        };
        let list_now = || {
            let now: Value = serde_json::from_slice(&place.bytes()).unwrap();
            let list = if is_object { &now["messages"] } else { &now };
            list.as_array().unwrap().clone()
        };
        write(&list);
        let before = place.bytes();
        json_of(&place.run(&["compact", "--in-place", "--force", "--json"]));
        let compacted = list_now();
        assert!(compacted.iter().all(|it| it["role"] == "user"), "they tell no format: {compacted:?}");
        assert_eq!(json_of(&place.run(&["weigh", "--json"]))["format"], format);
        let undone = json_of(&place.run(&["undo", "--json"]));
        assert_eq!((&undone["exact"], place.bytes() == before), (&Value::Bool(true), true), "{format}");

        // A second compaction writes as the first one did.
        place.run(&["redo"]);
        write(&[compacted, turns(2, |_| list[3].clone(), |_| list[4].clone())].concat());
        json_of(&place.run(&["compact", "--in-place", "--force", "--json"]));
        assert!(list_now().iter().all(|it| it.get("timestamp").is_none()), "{format}");
        assert_eq!(json_of(&place.run(&["weigh", "--json"]))["format"], format);

        // A file replaced by another format since is read in that format.
        fs::copy(root().join(SESSION), place.path()).unwrap();
        assert_eq!(json_of(&place.run(&["weigh", "--json"]))["format"], "claude-code");
        let ours = [("user", "a"), ("toolResult", "b"), ("user", "c")].map(|(role, text)| {
            serde_json::json!({"role": role, "content": text, "toolCallId": "c", "toolName": "ls"})
        });
        write(&ours);
        assert_eq!(json_of(&place.run(&["weigh", "--json"]))["format"], "native", "{format}");
    }
}

#[test]
fn an_undo_says_what_is_true_of_the_bytes_and_no_number_is_left_out() {
    let place = Place::new();
    let mut list: Vec<Value> = (0..6)
        .flat_map(|nth| [("user", nth), ("assistant", nth)])
        .map(|(role, nth)| serde_json::json!({"role": role, "content": format!("{nth}: {}", "all of it ".repeat(80))}))
        .collect();
    list.extend(["wait", "go on"].map(|text| serde_json::json!({"role": "user", "content": text})));
    let write = |list: &[Value], indent: bool| {
        let document = serde_json::json!({"model": "gpt-4o", "messages": list});
        let text =
            if indent { serde_json::to_string_pretty(&document) } else { serde_json::to_string(&document) };
        fs::write(place.path(), text.unwrap()).unwrap();
        place.age(60);
    };
    let list_now = || {
        let now: Value = serde_json::from_slice(&place.bytes()).unwrap();
        now["messages"].as_array().unwrap().clone()
    };
    for indent in [false, true] {
        write(&list, false);
        place.run(&["compact", "--in-place", "--force"]);
        let compacted = place.bytes();
        let more = serde_json::json!({"role": "assistant", "content": "done"});
        write(&[list_now(), vec![more.clone()]].concat(), indent);
        for (words, stays) in
            [(&["undo", "--dry-run"][..], "later messages stay"), (&["undo"], "later messages kept")]
        {
            let reported = place.run(words).stdout;
            assert!(reported.contains(stays) && !reported.contains("bytes"), "{reported}");
        }
        assert_eq!(list_now(), [list.clone(), vec![more]].concat());
        let reported = place.run(&["redo"]).stdout;
        assert!(reported.contains("file restored byte for byte"), "nobody wrote since the undo: {reported}");
        fs::write(place.path(), compacted).unwrap();
        place.age(60);
        let reported = place.run(&["undo"]).stdout;
        assert!(reported.contains("later messages kept"), "another program wrote it: {reported}");
    }
    let log = json_of(&place.run(&["log", "--json"]));
    let numbers: Vec<u64> =
        log["operations"].as_array().unwrap().iter().map(|it| it["operation"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=8).collect::<Vec<_>>());
}

#[test]
fn nothing_is_written_over_unless_it_is_asked_for() {
    let place = Place::new();
    let out = place.folder.path().join("out.jsonl");
    let write =
        |words: &[&str]| place.run(&[&["compact", "--force", "-o", out.to_str().unwrap()], words].concat());
    assert_eq!(write(&[]).code, 0);
    let first = fs::read(&out).unwrap();
    assert!(first.starts_with(&place.before), "the copy is a session of Claude Code");
    let refused = write(&[]);
    assert_eq!(refused.code, 1);
    assert!(
        refused.stderr.contains("already exists\nhint: name a new file, or add --overwrite"),
        "{}",
        refused.stderr
    );
    assert_eq!(fs::read(&out).unwrap(), first);
    assert_eq!(write(&["--overwrite"]).code, 0);
}

#[cfg(unix)]
#[test]
fn modes_are_those_of_the_source_and_what_is_new_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let place = Place::new();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o640)).unwrap();
    let out = place.folder.path().join("out.jsonl");
    place.run(&["compact", "--force", "-o", out.to_str().unwrap()]);
    json_of(&place.run(&["compact", "--in-place", "--force", "--json"]));
    assert_eq!([mode(&place.path()), mode(&out)], [0o640, 0o640]);
    assert_eq!(mode(&place.folder.path().join("session.jsonl.wb-log")), 0o600);
}

#[test]
fn undo_reports_what_it_cannot_do() {
    let place = Place::new();
    for (words, reported) in [
        (&["undo"][..], "nothing to undo"),
        (&["redo"], "nothing to redo"),
        (&["undo", "7"], "there is no operation 7"),
    ] {
        let refused = place.run(words);
        assert_eq!(refused.code, 1);
        assert!(refused.stderr.contains(reported), "{}", refused.stderr);
    }
    assert_eq!(
        place.run(&["log"]).stdout,
        format!("no operations recorded for {}\n", place.path().display())
    );
    assert_eq!((place.bytes() == place.before, place.n_files()), (true, 1));
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_anything_is_written() {
    let place = Place::new();
    fs::copy(root().join("fixtures/sessions/rename-flag.jsonl"), place.path()).unwrap();
    place.age(60);
    let before = place.bytes();
    let refused = place.run(&["compact", "--in-place", "--strategy", "three-level", "--window", "4k"]);
    assert_eq!(refused.code, 1);
    let reported = "what the strategy three-level makes of it: a pi compaction replaces only the oldest messages\nhint: leave";
    assert!(refused.stderr.contains(reported), "{}", refused.stderr);
    assert_eq!((place.bytes() == before, place.n_files()), (true, 1));
    let planned = json_of(&place.run(&["plan", "--force", "--json"]));
    let why = "pi allows nothing between its summary and the kept messages";
    assert_eq!(planned["left_out"], serde_json::json!([{"step": "restore", "why": why}]));
    let shown = place.run(&["plan", "--force", "-v"]).stdout.replace("\n    ", " ");
    assert!(shown.contains(&format!("skipped restore: {why}")), "{shown}");
    let out = place.folder.path().join("out.jsonl");
    let words = ["compact", "--strategy", "three-level", "--window", "4k", "-o", out.to_str().unwrap()];
    assert_eq!(place.run(&words).code, 0);
    assert!(fs::read_to_string(out).unwrap().starts_with("{\"type\":\"window-budget\""));
}

#[test]
fn one_of_several_writers_succeeds_and_the_others_wait() {
    for _ in 0..4 {
        let place = Place::new();
        let path = place.path();
        let words = ["compact", path.to_str().unwrap(), "--in-place", "--allow-open", "--force"];
        let answers: Vec<Answer> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..8).map(|_| scope.spawn(|| wb(&words))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(answers.iter().any(|answer| answer.code == 0), "{answers:?}");
        for answer in answers.iter().filter(|answer| answer.code != 0) {
            let is_other = answer.stderr.contains("another program");
            assert!(is_other && !answer.stderr.contains("allow writing"), "{}", answer.stderr);
        }
        // One that read the session again may have compacted what another had.
        let log = json_of(&place.run(&["log", "--json"]));
        assert!(
            log["operations"].as_array().is_some_and(|all| !all.is_empty()) && log["unsettled"].is_null(),
            "{log}"
        );
    }
}

#[test]
fn a_truncated_last_line_is_refused_until_it_is_repaired() {
    for session in ["flaky-checkout.jsonl", "rename-flag.jsonl"] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(session);
        let whole = fs::read(root().join("fixtures/sessions").join(session)).unwrap();
        let torn = [&whole[..], b"{\"type\":\"user\",\"mess"].concat();
        fs::write(&file, &torn).unwrap();
        let name = file.to_str().unwrap();
        let compact = || wb(&["compact", name, "--in-place", "--allow-open", "--force"]);
        let refused = compact();
        assert_eq!((refused.code, fs::read(&file).unwrap() == torn), (1, true), "{}", refused.stdout);
        assert!(
            refused.stderr.contains("is truncated") && refused.stderr.contains("wb repair"),
            "{}",
            refused.stderr
        );
        assert_eq!(wb(&["repair", name, "--in-place", "--allow-open"]).code, 0);
        assert_eq!(compact().code, 0, "{session}");
    }
}
