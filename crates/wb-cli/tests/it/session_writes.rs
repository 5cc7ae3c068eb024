//! `wb session compact`, `undo` and `branch`: what is appended and what is reported.

use std::fs;

use serde_json::{Value, json};
use wb_testkit::shared::shared_files;

use crate::place::{Place, call, header, n_orphans, result, talk, ten_turns, user};
use crate::support::root;

#[test]
fn a_compaction_is_appended_and_no_byte_before_it_changes() {
    let place = ten_turns();
    let (before, context) = (place.bytes(), place.json("context", &[]));
    let report = place.json("compact", &[]);
    assert_eq!((&report["compacted"], &report["written"]), (&json!(true), &json!(true)));
    assert_eq!((&report["digest_by"], &report["why"]), (&json!("local"), &json!("no model is set up")));
    assert_eq!((&report["reason"], &report["out"]), (&json!(null), &json!(null)));
    assert_eq!((&report["tokens_before"], &report["anchored_before"]), (&context["tokens"], &json!(true)));

    let after = place.bytes();
    assert!(after.starts_with(&before));
    let line: Value = serde_json::from_slice(&after[before.len()..]).unwrap();
    assert_eq!((&line["type"], &line["id"]), (&json!("compaction"), &report["entry"]));
    assert_eq!((&line["summary"], &line["parentId"]), (&report["digest"], &json!("0000101e")));
    assert_eq!(line["firstKeptEntryId"], report["first_kept_entry"]);
    assert!(line.get("fromHook").is_none());

    let seen = place.json("context", &[]);
    assert_eq!(seen["messages"][0]["role"], "compactionSummary");
    assert_eq!(seen["entries"][1], report["first_kept_entry"]);
    assert_eq!(n_orphans(&seen["messages"]), 0);
    assert_eq!((&seen["tokens"], &json!(false)), (&report["tokens_after"], &report["anchored_after"]));
    let n = |key: &str| report[key].as_u64().unwrap();
    assert_eq!(n("messages_summarized") + n("messages_kept"), n("messages_before"));
    assert_eq!(n("messages_kept") + 1, n("messages_after"));
    assert!(n("messages_of_split_turn") < n("messages_summarized") && n("digest_tokens") < n("tokens_after"));
}

#[test]
fn people_read_what_is_summarized_what_stays_and_how_to_take_it_back() {
    let place = ten_turns();
    place.settings("project/.indusagi/settings.json", &json!({"compaction": {"keepRecentTokens": 300}}));
    let answer = place.run("compact", &[]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    let entry = place.json("tree", &[])["leaf"].as_str().unwrap().to_owned();
    let tokens = place.json("context", &[])["tokens"].to_string();
    let shown = answer.stdout.replace(place.file.to_str().unwrap(), "s.jsonl");
    let shown = shown.replace(&place.path("project"), "/project").replace(&entry, "cccccccc");
    let shown = shown.replace(&format!("→ {}", grouped(&tokens)), "→ 999");
    let digest = shown.lines().find(|line| line.starts_with("  digest")).unwrap();
    assert!(digest.ends_with(" tokens, the local digest, since no model is set up"), "{shown}");
    let expected = format!("s.jsonl  compacted
  settings: /project/.indusagi/settings.json
  summarized     25 messages, 1 of them the start of a split turn
  kept           5 messages, from 0000101a on
  context        9,191 tokens, counted by the provider up to its last answer → 999, estimated without system prompt and tools
{digest}
  files read     src/part_0.rs, src/part_1.rs, src/part_2.rs, src/part_3.rs, src/part_4.rs and 3 more
  files modified none
  entry          cccccccc, appended
  read it        wb session show s.jsonl cccccccc
  take it back   wb session undo s.jsonl
");
    assert_eq!(shown, expected);
}

fn grouped(n: &str) -> String {
    if n.len() > 3 { format!("{},{}", &n[..n.len() - 3], &n[n.len() - 3..]) } else { n.to_owned() }
}

#[test]
fn a_dry_run_writes_nothing_and_tells_what_the_run_does() {
    let place = ten_turns();
    let before = place.bytes();
    let mut dry = place.json("compact", &["--dry-run"]);
    let people = place.run("compact", &["--dry-run"]).stdout;
    assert_eq!((place.bytes(), place.names()), (before, vec!["s.jsonl".to_owned()]));
    assert!(people.contains("a dry run and writes nothing"), "{people}");
    for line in dry["digest"].as_str().unwrap().lines() {
        assert!(people.lines().any(|shown| shown.trim() == line.trim()), "{line}: {people}");
    }
    let mut run = place.json("compact", &[]);
    assert_eq!((dry["entry"].take(), dry["written"].take()), (json!(null), json!(false)));
    assert_eq!(run["written"].take(), json!(true));
    assert!(run["entry"].take().is_string());
    assert_eq!(dry, run);
}

#[test]
fn nothing_to_summarize_is_told_and_is_no_error() {
    let place = Place::with(|cwd| talk(cwd, 1));
    let short = place.bytes();
    let report = place.json("compact", &[]);
    assert_eq!((&report["compacted"], &report["written"]), (&json!(false), &json!(false)));
    let reason = report["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("nothing to summarize: all messages are among the recent 400 tokens"),
        "{reason}"
    );
    assert!(place.run("compact", &[]).stdout.contains(reason));
    assert_eq!(place.bytes(), short);

    let place = ten_turns();
    place.json("compact", &[]);
    let once = place.bytes();
    let again = place.json("compact", &["-o", &place.path("out.jsonl")]);
    let reason = again["reason"].as_str().unwrap();
    assert!(reason.starts_with("nothing to summarize: nothing was said since the compaction "), "{reason}");
    assert_eq!((place.bytes(), place.names()), (once, vec!["s.jsonl".to_owned()]));

    let place = Place::with(|cwd| vec![header(cwd)]);
    let reason = place.json("compact", &[])["reason"].clone();
    assert_eq!(reason, "nothing to summarize: the session has no messages for a model");
}

#[test]
fn calls_that_wait_for_their_results_stay() {
    let place = Place::with(|cwd| {
        let mut lines = talk(cwd, 10);
        lines.pop();
        lines
    });
    assert_eq!(place.json("compact", &[])["compacted"], true);
    let messages = place.messages();
    let last = messages.as_array().unwrap().last().unwrap();
    assert_eq!((&last["role"], &last["content"][1]["id"]), (&json!("assistant"), &json!("c9")));
    assert_eq!(n_orphans(&messages), 0);
    place.say("result", &result(9));
    assert_eq!(n_orphans(&place.messages()), 0);
}

#[test]
fn instructions_that_nobody_would_follow_are_refused() {
    let answer = ten_turns().run("compact", &["--instructions", "the parser"]);
    assert_eq!(answer.code, 2, "{}", answer.stdout);
    assert!(answer.stderr.contains("--model <PROVIDER:MODEL>"), "{}", answer.stderr);
}

#[test]
fn a_dry_undo_and_a_dry_branch_write_nothing_and_tell_what_they_would_do() {
    let place = ten_turns();
    place.json("compact", &[]);
    let before = place.bytes();
    let undo = place.json("undo", &["--dry-run"]);
    let first = place.json("tree", &[])["entries"][0]["id"].as_str().unwrap().to_owned();
    let branch = place.json("branch", &[&first, "--dry-run"]);
    for dry in [&undo, &branch] {
        assert_eq!(dry["written"], false, "{dry}");
    }
    for (verb, rest) in [("undo", vec!["--dry-run"]), ("branch", vec![first.as_str(), "--dry-run"])] {
        let shown = place.run(verb, &rest).stdout;
        assert!(shown.contains("a dry run and writes nothing"), "{shown}");
        assert!(!shown.contains("appended"), "{shown}");
    }
    assert_eq!((place.bytes(), place.names()), (before, vec!["s.jsonl".to_owned()]));
}

#[test]
fn an_undo_gives_back_the_context_and_a_branch_takes_the_undo_back() {
    let place = ten_turns();
    let whole = place.messages();
    let compaction = place.json("compact", &[])["entry"].clone();
    place.say("later", &user("Go on."));
    let (condensed, before) = (place.messages(), place.bytes());
    let report = place.json("undo", &[]);
    assert_eq!((&report["compaction"], &report["old_leaf"]), (&compaction, &json!("later")));
    assert_eq!((&report["entries_repeated"], &report["written"]), (&json!(1), &json!(true)));
    assert!(place.bytes().starts_with(&before));
    let undone = place.messages();
    let mut expected = whole.as_array().unwrap().clone();
    expected.extend(condensed.as_array().unwrap().last().cloned());
    assert_eq!(undone, json!(expected));

    let back = place.json("branch", &[compaction.as_str().unwrap()]);
    assert_eq!((&back["moved"], &back["follows"]), (&json!(true), &compaction));
    let mut expected = condensed.as_array().unwrap().clone();
    expected.pop();
    assert_eq!(place.messages(), json!(expected));
}

#[test]
fn an_undo_tells_people_what_was_taken_back_and_how_to_go_back() {
    let place = ten_turns();
    let compaction = place.json("compact", &[])["entry"].as_str().unwrap().to_owned();
    let answer = place.run("undo", &[]);
    assert_eq!((answer.code, answer.stderr.as_str()), (0, ""));
    let leaf = place.json("tree", &[])["leaf"].as_str().unwrap().to_owned();
    let shown = answer.stdout.replace(place.file.to_str().unwrap(), "s.jsonl");
    let shown = shown.replace(&compaction, "cccccccc").replace(&leaf, "dddddddd");
    for line in [
        "s.jsonl  a compaction is taken back",
        "  repeated       nothing, for nothing came after it",
        "  leaf           dddddddd, appended",
        "  go back        wb session branch s.jsonl cccccccc",
    ] {
        assert!(shown.lines().any(|shown| shown == line), "{line}\n{shown}");
    }
    assert!(shown.contains("  compaction     cccccccc \"- First request: Read part 0. "), "{shown}");
    assert!(shown.contains(" → 9,191, counted by the provider up to its last answer\n"), "{shown}");
}

#[test]
fn several_compactions_are_taken_back_one_after_the_other() {
    let place = ten_turns();
    let mut seen = vec![place.messages()];
    for round in 0..3 {
        assert_eq!(place.json("compact", &[])["compacted"], true);
        for step in 0..4 {
            let n = 100 + round * 10 + step;
            place.say(&format!("u{n}"), &user(&format!("And part {n}?")));
            place.say(&format!("a{n}"), &call(n));
            place.say(&format!("r{n}"), &result(n));
        }
        let last = place.messages().as_array().unwrap().clone();
        let new = &last[last.len() - 12..];
        for older in &mut seen {
            older.as_array_mut().unwrap().extend_from_slice(new);
        }
        seen.push(json!(last));
    }
    for expected in seen.iter().rev().skip(1) {
        let before = place.bytes();
        place.json("undo", &[]);
        assert!(place.bytes().starts_with(&before));
        assert_eq!(place.messages(), *expected);
    }
    assert!(place.refused("undo", &[]).contains("no compaction is on the path to the leaf"));
}

#[test]
fn without_a_compaction_an_undo_is_refused() {
    let place = ten_turns();
    let expected = "error: s.jsonl: no compaction is on the path to the leaf, so there is none to take back\n\
        hint: `wb session tree` shows where compactions are; go to an entry after one first\n";
    assert_eq!(place.refused("undo", &[]), expected);
}

#[test]
fn going_to_an_answer_is_there_when_the_session_is_opened_again() {
    let place = ten_turns();
    let (before, there) = (place.bytes(), place.json("context", &["00001002"])["messages"].clone());
    let report = place.json("branch", &["00001002"]);
    assert_eq!((&report["moved"], &report["written"]), (&json!(true), &json!(true)));
    assert_eq!((&report["old_leaf"], &report["editor_text"]), (&json!("0000101e"), &json!(null)));
    assert!(place.bytes().starts_with(&before));
    assert_eq!((place.messages(), &place.json("tree", &[])["leaf"]), (there, &report["entry"]));
    place.json("branch", &["0000101e"]);
    assert_eq!(place.messages().as_array().unwrap().len(), 30);
}

#[test]
fn going_to_a_prompt_leads_to_the_entry_before_it_and_prints_the_prompt() {
    let place = ten_turns();
    let answer = place.run("branch", &["00001004"]);
    assert!(answer.stdout.contains("  goes on from 00001003\n"), "{}", answer.stdout);
    assert!(answer.stdout.ends_with("\nPrompt\n  Read part 1.\n"), "{}", answer.stdout);
    assert_eq!(place.messages().as_array().unwrap().len(), 3);
    let report = place.json("branch", &["00001001"]);
    assert_eq!((&report["editor_text"], &report["follows"]), (&json!("Read part 0."), &json!(null)));
    assert_eq!(place.messages(), json!([]));
}

#[test]
fn going_where_the_session_stands_writes_nothing() {
    let place = ten_turns();
    let before = place.bytes();
    let report = place.json("branch", &["0000101e", "--summarize"]);
    assert_eq!((&report["moved"], &report["written"]), (&json!(false), &json!(false)));
    assert_eq!(report["reason"], "the session stands at 0000101e already");
    assert_eq!(place.bytes(), before);

    place.json("branch", &["00001006"]);
    let marked = place.bytes();
    let again = place.run("branch", &["00001006", "-o", &place.path("out.jsonl")]);
    assert!(again.stdout.contains("the session stands at 00001006 already"), "{}", again.stdout);
    let prompt = place.json("branch", &["00001007"]);
    assert_eq!((&prompt["moved"], &prompt["editor_text"]), (&json!(false), &json!("Read part 2.")));
    assert_eq!((place.bytes(), place.names()), (marked, vec!["s.jsonl".to_owned()]));
}

#[test]
fn a_branch_that_is_left_is_summarized_where_the_session_goes_on() {
    let place = ten_turns();
    let before = place.bytes();
    let report = place.json("branch", &["00001003", "--summarize"]);
    assert_eq!((&report["digest_by"], &report["why"]), (&json!("local"), &json!("no model is set up")));
    assert!(report["read_files"].as_array().unwrap().contains(&json!("src/part_9.rs")), "{report}");
    assert_eq!(report["settings_files"], json!([place.path("project/.indusagi/settings.json")]));
    let after = place.bytes();
    assert!(after.starts_with(&before));
    let line: Value = serde_json::from_slice(&after[before.len()..]).unwrap();
    assert_eq!((&line["type"], &line["parentId"]), (&json!("branch_summary"), &json!("00001003")));
    assert_eq!((&line["fromId"], &line["summary"]), (&json!("0000101e"), &report["digest"]));
    let messages = place.messages();
    assert_eq!((messages.as_array().unwrap().len(), &messages[3]["role"]), (4, &json!("branchSummary")));
    assert_eq!(report["tokens_after"], place.json("context", &[])["tokens"]);
}

#[test]
fn where_nothing_is_left_behind_a_mark_stands_for_the_summary() {
    let place = ten_turns();
    place.json("branch", &["00001003"]);
    let report = place.json("branch", &["00001009", "--summarize"]);
    assert_eq!((&report["moved"], &report["digest"]), (&json!(true), &json!(null)));
    assert_eq!(report["notes"], json!(["nothing to summarize: no messages are left behind"]));
    assert_eq!(place.messages().as_array().unwrap().len(), 9);
}

#[test]
fn entries_may_be_abbreviated_and_unknown_ones_are_refused() {
    let place = ten_turns();
    assert!(place.refused("branch", &["00001"]).contains("30 entries have an id that begins with"));
    assert!(place.refused("branch", &["zzz"]).contains("no entry has an id like \"zzz\""));
    place.say("zebra", &user("Hi."));
    place.json("branch", &["00001003"]);
    assert_eq!(place.json("branch", &["zeb"])["target"], "zebra");
}

/// Compacts a copy, takes that back and goes back again; tells whether there was anything to compact.
fn round_trip(place: &Place) -> bool {
    let (before, whole) = (place.bytes(), place.messages());
    let dry = place.json("compact", &["--dry-run"]);
    let report = place.json("compact", &[]);
    assert!(place.bytes().starts_with(&before));
    assert_eq!((&dry["digest"], &dry["tokens_after"]), (&report["digest"], &report["tokens_after"]));
    if report["compacted"] == json!(false) {
        assert_eq!((place.bytes(), report["reason"].is_string()), (before, true));
        return false;
    }
    let condensed = place.messages();
    assert_eq!(condensed[0]["role"], "compactionSummary");
    assert!(n_orphans(&condensed) <= n_orphans(&whole));
    place.json("undo", &[]);
    assert_eq!(place.messages(), whole);
    place.json("branch", &[report["entry"].as_str().unwrap()]);
    assert_eq!(place.messages(), condensed);
    assert!(place.bytes().starts_with(&before));
    true
}

#[test]
fn our_own_fixtures_are_compacted_and_come_back() {
    let folder = root().join("crates/wb-session/tests/fixtures");
    let mut n_compacted = 0;
    for name in ["aborted", "bad-middle", "branches", "compactions", "edits"] {
        let place = Place::of_file(&folder.join(format!("{name}.jsonl")));
        n_compacted += usize::from(round_trip(&place));
    }
    assert!(n_compacted > 0);
}

#[test]
fn every_real_session_is_compacted_and_comes_back() {
    for path in shared_files("sessions/pi") {
        let place = Place::of_file(&path);
        place.settings(
            "home/.indusagi/agent/settings.json",
            &json!({"compaction": {"keepRecentTokens": 2_000}}),
        );
        if place.json("tree", &[])["session_version"] != json!(3) {
            let (out, before) = (place.path("out.jsonl"), place.bytes());
            place.refused("compact", &[]);
            let report = place.json("compact", &["-o", &out]);
            assert_eq!((&report["written"], place.bytes()), (&json!(true), before));
            fs::rename(&out, &place.file).unwrap();
            place.json("undo", &[]);
        }
        let is_compacted = round_trip(&place);
        assert!(is_compacted || place.bytes().len() < 5_000, "{}", path.display());
    }
}
