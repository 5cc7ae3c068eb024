//! `wb doctor`, as a user runs it.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wb_message::Message;

use crate::support::{Answer, root, wb, wb_with};

fn run(words: &[&str], file: &Path) -> Answer {
    wb(&[words, &[file.to_str().unwrap()]].concat())
}

fn lay(folder: &Path, messages: &[Message]) -> PathBuf {
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(messages, &mut bytes).unwrap();
    let file = folder.join("session.jsonl");
    fs::write(&file, bytes).unwrap();
    file
}

/// Writes a Claude Code session from lines without their common keys.
fn claude_code(folder: &Path, lines: &[Value]) -> PathBuf {
    let whole = |(at, line): (usize, &Value)| {
        let mut whole = json!({"userType": "external", "cwd": "/w", "sessionId": "s", "version": "2.1.0", "isSidechain": false,
            "uuid": format!("u{at}"), "parentUuid": at.checked_sub(1).map(|at| format!("u{at}")), "timestamp": "2026-01-01T00:00:00.000Z"});
        whole.as_object_mut().unwrap().extend(line.as_object().unwrap().clone());
        format!("{whole}\n")
    };
    let file = folder.join("session.jsonl");
    fs::write(&file, lines.iter().enumerate().map(whole).collect::<String>()).unwrap();
    file
}

fn user(text: &str) -> Value {
    json!({"type": "user", "message": {"role": "user", "content": text}})
}

fn agent(id: &str, text: &str) -> Value {
    let usage = json!({"input_tokens": 10, "output_tokens": 5});
    json!({"type": "assistant", "message": {"id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": text}], "usage": usage}})
}

fn compaction(summary: &str) -> [Value; 2] {
    let mut summary =
        user(&format!("This session is being continued from a previous conversation.\n\n{summary}"));
    summary["isCompactSummary"] = json!(true);
    let boundary = json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "isMeta": false,
        "level": "info", "parentUuid": null, "compactMetadata": {"trigger": "auto", "preTokens": 180_000}});
    [boundary, summary]
}

/// Returns the complaints, and runs each named command once: it must write something.
fn complaints(file: &Path, words: &[&str]) -> Vec<Value> {
    let reported = run(&[&["doctor", "--json"], words].concat(), file);
    assert_eq!(reported.code, 3, "{}{}", reported.stdout, reported.stderr);
    let reported: Value = serde_json::from_str(&reported.stdout).unwrap();
    let complaints = reported["complaints"].as_array().unwrap().clone();
    let mut tried = HashSet::new();
    for complaint in &complaints {
        let has_way = [&complaint["mend"], &complaint["advice"]].iter().any(|way| way.is_string());
        assert!(has_way, "{complaint}");
        let command = complaint["mend"].as_str().filter(|command| !command.starts_with("wb audit "));
        let Some(command) = command.filter(|command| tried.insert((*command).to_owned())) else { continue };
        let before = fs::read(file).unwrap();
        let words: Vec<&str> = command.split(' ').skip(1).chain(["--allow-open"]).collect();
        let done = wb(&words);
        assert_eq!(done.code, 0, "{command}: {}{}", done.stdout, done.stderr);
        assert_ne!(fs::read(file).unwrap(), before, "{command} wrote nothing");
        fs::write(file, before).unwrap();
        let _ = fs::remove_file(format!("{}.wb-log", file.display()));
    }
    complaints
}

/// Returns the one thing that is complained of.
fn only(file: &Path, words: &[&str]) -> Value {
    let found = complaints(file, words);
    let [one] = found.as_slice() else { panic!("{found:?}") };
    one.clone()
}

#[test]
fn a_context_that_is_larger_than_its_window_is_compacted_if_that_brings_it_in() {
    let folder = tempfile::tempdir().unwrap();
    let turn = |at: usize| {
        [
            Message::user(format!("Look at part {at}.")),
            Message::assistant("One more line of words.\n".repeat(2_000)),
        ]
    };
    let file = lay(folder.path(), &(0..30).flat_map(turn).collect::<Vec<_>>());
    // A guess is no finding.
    let assumed = run(&["doctor"], &file);
    assert!(
        assumed.code == 0 && assumed.stdout.contains("a window of 200,000 is assumed"),
        "{}",
        assumed.stdout
    );
    let reported = run(&["doctor", "--window", "200k"], &file);
    assert!(reported.code == 3 && reported.stdout.contains(", the window 200,000"), "{}", reported.stdout);
    assert!(reported.stdout.contains("wb compact "), "{}", reported.stdout);
    let complaint = only(&file, &["--window", "200k"]);
    assert!(complaint["mend"].as_str().unwrap().contains("wb compact "), "{complaint}");
    assert_eq!(run(&["doctor", "--window", "2m"], &file).code, 0);
    let smaller = only(&file, &["--window", "100000"]);
    assert!(smaller["mend"].as_str().unwrap().ends_with("--in-place --window 100000"), "{smaller}");
}

#[test]
fn advice_names_the_file() {
    let session = root().join("crates/wb-formats/tests/fixtures/droid/session.jsonl");
    let long = format!("run the tests, {}", "again and ".repeat(4_000));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("session.jsonl");
    fs::write(&file, fs::read_to_string(session).unwrap().replacen("run the tests, ", &long, 1)).unwrap();
    let complaint = only(&file, &["--window", "4k"]);
    let command = format!("`wb compact {} -o OUT`", file.display());
    assert!(complaint["advice"].as_str().unwrap().contains(&command), "{complaint}");
}

#[test]
fn a_prompt_that_fills_the_window_alone_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let file = lay(folder.path(), &[Message::user("One more line of words.\n".repeat(60_000))]);
    let complaint = only(&file, &["--window", "200k"]);
    assert!(complaint["mend"].is_null(), "{complaint}");
    assert!(
        complaint["advice"].as_str().unwrap().contains("no compaction makes it small enough"),
        "{complaint}"
    );
}

#[test]
fn a_loop_of_compactions_in_which_nothing_is_left_to_fold_has_no_command() {
    let folder = tempfile::tempdir().unwrap();
    let round = |at: usize| {
        let [boundary, summary] = compaction("Summary of the start.");
        [boundary, summary, agent(&format!("m{at}"), "Going on.")]
    };
    let lines: Vec<Value> = [user("Start.")].into_iter().chain((0..5).flat_map(round)).collect();
    let file = claude_code(folder.path(), &lines);
    let complaint = only(&file, &[]);
    assert!(complaint["what"].as_str().unwrap().contains("in a loop"), "{complaint}");
    assert!(complaint["mend"].is_null(), "{complaint}");
    assert!(complaint["advice"].as_str().unwrap().contains("no messages are left to compact"), "{complaint}");
}

#[test]
fn a_compaction_that_the_user_asked_for_makes_no_loop() {
    let said = |at: usize| agent(&format!("m{at}"), &"I looked at all of it and go on. ".repeat(200));
    for (n_rounds, is_loop) in [(2, false), (3, true)] {
        let folder = tempfile::tempdir().unwrap();
        let round = |at: usize| {
            let [boundary, summary] = compaction(&format!("Summary {at}."));
            [boundary, summary, user("Go on."), said(2 * at), user("And on."), said(2 * at + 1)]
        };
        let lines: Vec<Value> = [user("Start.")].into_iter().chain((0..n_rounds).flat_map(round)).collect();
        let file = claude_code(folder.path(), &lines);
        let is_reported = || run(&["doctor", "--json"], &file).stdout.contains("in a loop");
        assert_eq!(is_reported(), is_loop);
        let compacted = run(&["compact", "--in-place", "--force", "--allow-open"], &file);
        assert!(compacted.stderr.contains("to undo:"), "{}{}", compacted.stdout, compacted.stderr);
        assert_eq!(is_reported(), is_loop, "{n_rounds} of the agent's own");
    }
}

#[test]
fn a_command_is_named_for_what_a_provider_refuses_only_if_it_writes_something() {
    let folder = tempfile::tempdir().unwrap();
    let lines = [agent("m1", "I speak first."), user("Well?"), agent("m2", "Hm.")];
    let found = complaints(&claude_code(folder.path(), &lines), &[]);
    assert!(
        found.iter().any(|it| it["what"].as_str().unwrap().contains("first message is from the assistant")),
        "{found:?}"
    );
    let orphan = json!({"type": "user", "message": {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "gone", "content": "a.rs"}]}});
    let lines = [user("Look."), agent("m1", "I look."), orphan, agent("m2", "One file.")];
    let complaint = only(&claude_code(folder.path(), &lines), &[]);
    assert!(complaint["mend"].as_str().unwrap().starts_with("wb repair "), "{complaint}");
    assert_eq!(complaint["line"], 3, "{complaint}");
}

#[test]
fn calls_with_one_id_are_repaired_by_the_named_command() {
    let folder = tempfile::tempdir().unwrap();
    let call = json!([{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}]);
    let of_agent = |id: &str| {
        let mut line = agent(id, "");
        line["message"]["content"] = call.clone();
        line
    };
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.rs"}]);
    let result = json!({"type": "user", "message": {"role": "user", "content": result}});
    let lines = [user("Look."), of_agent("m1"), result.clone(), of_agent("m2"), result, agent("m3", "One.")];
    let file = claude_code(folder.path(), &lines);
    let complaint = only(&file, &[]);
    assert!(complaint["what"].as_str().unwrap().contains("is used twice"), "{complaint}");
    assert_eq!(complaint["mend"], format!("wb repair {} --in-place", file.display()));
    let before = fs::read_to_string(&file).unwrap();
    assert_eq!(run(&["repair", "--in-place", "--allow-open"], &file).code, 0);
    let after = fs::read_to_string(&file).unwrap();
    let changed: Vec<_> = before.lines().zip(after.lines()).filter(|(one, other)| one != other).collect();
    assert_eq!(changed.len(), 2, "{after}");
    assert!(changed.iter().all(|(one, other)| one.replace("toolu_1", "toolu_1_2") == *other), "{after}");
    assert_eq!(run(&["doctor"], &file).code, 0);
}

#[cfg(unix)]
#[test]
fn the_command_that_is_named_takes_the_file_of_a_link_and_what_comes_through_a_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let file = claude_code(&folder, &[agent("m1", "I speak first."), user("Well?"), agent("m2", "Hm.")]);
    let link = folder.join("link.jsonl");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let command = |reported: &Answer| {
        let reported: Value = serde_json::from_str(&reported.stdout).unwrap();
        reported["complaints"][0]["mend"].clone()
    };
    let reported = run(&["doctor", "--json"], &link);
    assert_eq!(command(&reported), format!("wb repair {} --in-place", file.display()));
    let piped = |words: &[&str]| wb_with(words, &fs::read(&file).unwrap());
    let reported = piped(&["doctor", "--json", "-"]);
    assert_eq!(command(&reported), "wb repair - -o repaired.jsonl");
    let out = folder.join("repaired.jsonl");
    assert_eq!(piped(&["repair", "-", "-o", out.to_str().unwrap()]).code, 0);
    assert_eq!(run(&["doctor"], &out).code, 0);
}

/// Checks that a repair reports success, leaves no complaint, and can be undone.
fn is_repaired(file: &Path, reported: &str, expected: &str) {
    let before = fs::read_to_string(file).unwrap();
    let repaired = run(&["repair", "--in-place", "--allow-open"], file);
    assert!(repaired.stdout.contains(reported), "{}{}", repaired.stdout, repaired.stderr);
    assert_eq!(fs::read_to_string(file).unwrap(), expected);
    assert_eq!(run(&["doctor"], file).code, 0);
    assert_eq!(run(&["undo", "--allow-open"], file).code, 0);
    assert_eq!(fs::read_to_string(file).unwrap(), before);
}

#[test]
fn lines_that_cannot_be_read_have_words_and_one_that_was_cut_off_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = claude_code(folder.path(), &[user("Look."), agent("m1", "One file.")]);
    let whole = fs::read_to_string(&file).unwrap();
    fs::write(&file, whole.replacen('\n', "\nno json\n", 1)).unwrap();
    let complaint = only(&file, &[]);
    assert_eq!((complaint["line"].as_u64(), complaint["mend"].is_null()), (Some(2), true), "{complaint}");
    assert!(complaint["advice"].as_str().unwrap().contains("wb reads the others"), "{complaint}");
    let torn = format!("{whole}{{\"type\":\"user\"");
    fs::write(&file, &torn).unwrap();
    let complaint = only(&file, &[]);
    assert_eq!(complaint["line"], 3, "{complaint}");
    assert!(complaint["mend"].as_str().unwrap().starts_with("wb repair "), "{complaint}");
    is_repaired(&file, "removed 1 truncated line\nline 3\n", &whole);
}

#[test]
fn half_of_a_character_is_reported_and_replaced_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = claude_code(folder.path(), &[user("Look, 😀 and half."), agent("m1", "One file.")]);
    let whole = fs::read_to_string(&file).unwrap();
    // Both halves of the first, and one half of the second.
    let broken = whole.replace('😀', "\\ud83d\\ude00 \\\\ud83d \\ud83d");
    fs::write(&file, &broken).unwrap();
    let complaint = only(&file, &[]);
    assert!(complaint["what"].as_str().unwrap().contains("it contains 1 unpaired surrogate"), "{complaint}");
    assert_eq!(complaint["line"], 1, "{complaint}");
    assert!(complaint["mend"].as_str().unwrap().starts_with("wb repair "), "{complaint}");
    let Answer { code, stdout: found, .. } = run(&["validate"], &file);
    assert!(found.contains("unpaired surrogates, which the provider rejects as invalid JSON: 1"), "{found}");
    assert!(code == 3 && found.contains("1 finding\n"), "{found}");
    let expected = broken.replace("\\ud83d and", "\\ufffd and");
    is_repaired(&file, "1 unpaired surrogate replaced by U+FFFD", &expected);
}

#[test]
fn the_last_failure_is_shown_until_a_request_is_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut failed = agent("e1", "API Error: 400 no low surrogate in string");
    failed["isApiErrorMessage"] = json!(true);
    let mut lines = vec![user("Look."), agent("m1", "One file."), user("Well?"), failed, user("Go on.")];
    let reported = |lines: &[Value]| run(&["doctor", "--json"], &claude_code(folder.path(), lines)).stdout;
    let words = "its last request failed: “API Error: 400 no low surrogate in string” (line 4)";
    assert!(reported(&lines).contains(words), "{}", reported(&lines));
    // Sent again, it is refused again; a busy server is no finding.
    let file = claude_code(folder.path(), &lines);
    assert_eq!(only(&file, &[])["rule"], "last-request-refused");
    let busy = lines[3].to_string().replace("400 no low surrogate in string", "529 overloaded");
    lines[3] = serde_json::from_str(&busy).unwrap();
    assert_eq!(run(&["doctor"], &claude_code(folder.path(), &lines)).code, 0);
    lines.push(agent("m2", "Done."));
    assert!(!reported(&lines).contains("its last request failed"), "{}", reported(&lines));
}

#[test]
fn a_refusal_that_was_repaired_is_no_finding() {
    let folder = tempfile::tempdir().unwrap();
    let mut orphan = agent("m1", "");
    orphan["message"]["content"] = json!([{"type": "advisor_tool_result", "tool_use_id": "srvtoolu_q",
        "content": {"type": "advisor_result", "text": "Mulch."}}]);
    for (refusal, blocks) in [
        ("unexpected `tool_use_id` found in `advisor_tool_result` blocks: srvtoolu_q", orphan),
        ("no low surrogate in string", agent("m1", "half \u{fffd}")),
    ] {
        let mut failed = agent("e1", &format!("API Error: 400 {refusal}"));
        failed["isApiErrorMessage"] = json!(true);
        let file = claude_code(folder.path(), &[user("Look."), blocks, user("Go on."), failed]);
        let broken = fs::read_to_string(&file).unwrap().replace('\u{fffd}', "\\ud83d");
        fs::write(&file, broken).unwrap();
        let rules: Vec<Value> = complaints(&file, &[]).iter().map(|it| it["rule"].clone()).collect();
        assert!(rules.contains(&json!("last-request-refused")) && rules.len() == 2, "{rules:?}");
        let copy = folder.path().join("copy.jsonl");
        let written = wb(&["repair", file.to_str().unwrap(), "-o", copy.to_str().unwrap()]);
        // A copy has no list of operations: only the ids in the refusal show that it was repaired.
        let code = if refusal.contains("srvtoolu_q") { 0 } else { 3 };
        assert_eq!((written.code, run(&["doctor"], &copy).code), (0, code));
        fs::remove_file(copy).unwrap();
        assert_eq!(run(&["repair", "--in-place", "--allow-open"], &file).code, 0);
        let reported = run(&["doctor"], &file);
        assert!(reported.code == 0 && reported.stdout.contains("repaired since"), "{}", reported.stdout);
        fs::remove_file(format!("{}.wb-log", file.display())).unwrap();
    }
}

#[test]
fn a_branch_of_a_copied_line_is_found_and_linked() {
    let folder = tempfile::tempdir().unwrap();
    let asked = user("Sow.");
    let lines =
        [vec![asked.clone()], compaction("The beans are sown.").to_vec(), vec![user("Water."), asked]];
    let file = claude_code(folder.path(), &[lines.concat(), vec![user("And now?")]].concat());
    let text = fs::read_to_string(&file).unwrap();
    // The copy has the id of the first line, which the last one follows.
    let copied = text.replace("\"u4\"", "\"u0\"").replace("\"parentUuid\":\"u3\"", "\"parentUuid\":null");
    fs::write(&file, copied).unwrap();
    let complaint = only(&file, &[]);
    assert_eq!((&complaint["rule"], &complaint["line"]), (&json!("lost-record"), &json!(6)), "{complaint}");
    assert!(complaint["what"].as_str().unwrap().contains("up to line 4"), "{complaint}");
    let repaired = run(&["repair", "--in-place", "--allow-open"], &file);
    assert!(repaired.stdout.contains("in place of one that is missing or a copy"), "{}", repaired.stdout);
    assert_eq!(run(&["doctor"], &file).code, 0);
}

#[test]
fn of_many_lines_that_cannot_be_read_the_first_few_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = claude_code(folder.path(), &[user("Look."), agent("m1", "One file.")]);
    let whole = fs::read_to_string(&file).unwrap();
    for (n, words) in [(2, "2 lines cannot be read: 2, 3"), (7, "7 lines cannot be read: 2, 3, 4, 5, 6, …")]
    {
        fs::write(&file, whole.replacen('\n', &format!("\n{}", "no json\n".repeat(n)), 1)).unwrap();
        assert_eq!(only(&file, &[])["what"], words);
    }
}

#[test]
fn what_helps_where_something_cannot_be_read_depends_on_how_it_lies_in_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let lines = |bytes: &str| {
        let file = claude_code(folder.path(), &[user("Look."), agent("m1", "One file."), user("Well?")]);
        let [one, two, three] =
            [0, 1, 2].map(|at| fs::read_to_string(&file).unwrap().lines().nth(at).unwrap().to_owned());
        let spread = serde_json::to_string_pretty(&serde_json::from_str::<Value>(&two).unwrap()).unwrap();
        let bytes = bytes.replace("ONE", &one).replace("SPREAD", &spread);
        fs::write(&file, bytes.replace("TWO", &two).replace("THREE", &three)).unwrap();
        complaints(&file, &[])
    };
    for (bytes, what, advice) in [
        ("ONE\nno json\nTWO\nTHREE\n", "1 line cannot be read", "remove the line"),
        (
            "ONE\nTWOTHREE\nno json\n",
            "2 lines cannot be read",
            "break the line between the `}` of one record and",
        ),
        ("ONE\nSPREAD\nTHREE\n", "lines cannot be read", "session.jsonl > OUT`"),
    ] {
        let reported = lines(bytes).pop().unwrap();
        assert!(reported["what"].as_str().unwrap().contains(what), "{reported}");
        assert!(reported["advice"].as_str().unwrap().contains(advice), "{reported}");
        assert_eq!(reported["line"], 2, "{reported}");
    }
    let file = folder.path().join("session.json");
    let message = |kind: Value, text: &str| json!({"id": text, "timestamp": "2026-01-01T00:00:00.000Z", "type": kind, "content": text});
    let messages =
        [message(json!("user"), "Look."), message(json!(7), "One."), message(json!("gemini"), "Two.")];
    let session = json!({"sessionId": "s", "projectHash": "p", "startTime": "2026-01-01T00:00:00.000Z", "messages": messages});
    fs::write(&file, serde_json::to_string_pretty(&session).unwrap()).unwrap();
    let reported = only(&file, &[]);
    assert_eq!(reported["what"], "1 element cannot be read", "{reported}");
    assert!(
        reported["advice"].as_str().unwrap().contains("from the `{` at this line to its `}`"),
        "{reported}"
    );
}

#[test]
fn a_summary_that_plans_undone_work_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let [boundary, summary] =
        compaction("Summary:\n1. Pending Tasks:\n - Add a cache to server.py\n - Look at `gone.py`");
    let lines = [
        user("Please add a cache to server.py"),
        agent("m1", "I will."),
        user("Stop, forget the cache. Fix the login bug in auth.py instead."),
        agent("m2", "Okay, fixing the login bug."),
        boundary,
        summary,
    ];
    let complaint = only(&claude_code(folder.path(), &lines), &[]);
    assert!(
        complaint["what"].as_str().unwrap().contains("the user took it back: forget the cache."),
        "{complaint}"
    );
    assert!(complaint["what"].as_str().unwrap().contains("in 1 place: "), "{complaint}");
    assert_eq!(complaint["line"], 6, "{complaint}");
    assert!(complaint["what"].as_str().unwrap().ends_with("; 2 findings in all"), "{complaint}");
    assert!(complaint["mend"].as_str().unwrap().starts_with("wb audit "), "{complaint}");
}

#[test]
fn what_misleads_nobody_in_a_summary_is_counted_with_the_command_that_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let [boundary, summary] = compaction("Summary:\n1. Pending Tasks:\n - Look at `gone.py`");
    let lines = [user("Please look at server.py"), agent("m1", "I will."), boundary, summary];
    let reported = run(&["doctor", "--json"], &claude_code(folder.path(), &lines));
    assert_eq!(reported.code, 0, "{}", reported.stdout);
    let reported: Value = serde_json::from_str(&reported.stdout).unwrap();
    let note = reported["notes"].as_array().unwrap().last().unwrap().as_str().unwrap();
    assert!(note.contains("has 1 finding, none of which") && note.contains(": wb audit "), "{note}");
}

#[test]
fn each_of_many_findings_has_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let orphan = |at: usize| {
        [
            Message::user("Look."),
            Message::assistant("I look."),
            Message::tool_result(format!("gone{at}"), "ls", "a.rs"),
            Message::assistant("There is one file."),
        ]
    };
    let file = lay(folder.path(), &(0..200).flat_map(orphan).collect::<Vec<_>>());
    let found = complaints(&file, &[]);
    let lines: Vec<u64> = found.iter().filter_map(|it| it["line"].as_u64()).collect();
    // The header is the first line.
    assert!((0..200).all(|at| lines.contains(&(at * 4 + 4))), "{lines:?}");
}

#[test]
fn each_unanswered_call_of_a_message_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
    let mut calls = agent("m1", "");
    calls["message"]["content"] = json!([call("toolu_1"), call("toolu_2")]);
    let lines = [user("Look."), calls, user("Well?"), agent("m2", "Hm.")];
    let found = complaints(&claude_code(folder.path(), &lines), &[]);
    for id in ["`toolu_1`", "`toolu_2`"] {
        let n = found.iter().filter(|it| it["what"].as_str().unwrap().contains(id)).count();
        assert_eq!(n, 1, "{found:?}");
    }
}

#[test]
fn a_call_in_a_message_of_several_lines_has_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let mut call = agent("m1", "");
    call["message"]["content"] =
        json!([{"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.rs"}}]);
    let lines = [user("Look."), agent("m1", "I look."), call, user("Well?")];
    let file = claude_code(folder.path(), &lines);
    assert_eq!(only(&file, &[])["line"], json!(3));
}

#[test]
fn a_session_of_an_old_layout_is_to_be_opened_in_its_agent_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("old.jsonl");
    let message = |message: Value| json!({ "type": "message", "timestamp": "2026-01-01T00:00:00.000Z", "message": message });
    let lines = [
        json!({ "type": "session", "id": "s1", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w" }),
        message(json!({ "role": "user", "content": [{ "type": "text", "text": "Look." }], "timestamp": 0 })),
        message(
            json!({ "role": "toolResult", "toolCallId": "c1", "toolName": "read", "isError": false, "content": [{ "type": "text", "text": "fn a() {}\n".repeat(9000) }], "timestamp": 0 }),
        ),
    ];
    std::fs::write(&file, lines.map(|line| format!("{line}\n")).concat()).unwrap();
    for words in [&[][..], &["--window", "8000"]] {
        let said = complaints(&file, words);
        let is_reported =
            |it: &Value| it["advice"].to_string().contains("open the session in its agent once");
        assert!(said.iter().all(is_reported) && said.len() == 1 + words.len() / 2, "{said:?}");
    }
}

#[test]
fn a_violation_of_a_raw_request_has_its_command() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body.json");
    // A picture large enough to push the rest beyond the first megabyte.
    let picture = json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "A".repeat(1_500_000) } });
    let call = json!({ "type": "tool_use", "id": "c1", "name": "ls", "input": {} });
    let result = json!({ "type": "tool_result", "tool_use_id": "c1", "content": "a.rs" });
    let said = |role: &str, part: &Value| json!({ "role": role, "content": [part] });
    let messages = [said("user", &picture), said("assistant", &call), said("user", &result)];
    fs::write(
        &file,
        json!({ "model": "claude-sonnet-4-5", "max_tokens": 9, "messages": messages }).to_string(),
    )
    .unwrap();
    assert_eq!(run(&["doctor"], &file).code, 0);
    let system = json!({ "role": "system", "content": "Be brief." });
    let messages = [&messages[1..], &[system]].concat();
    fs::write(&file, json!({ "max_tokens": 9, "messages": messages }).to_string()).unwrap();
    let reported = complaints(&file, &[]);
    let of_role = reported.iter().find(|it| it["what"].as_str().unwrap().contains(" as is: ")).unwrap();
    assert!(of_role["mend"].as_str().unwrap().starts_with("wb repair "), "{reported:?}");
}
