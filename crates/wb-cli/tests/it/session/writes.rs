//! `wb session branch`: the entries that it appends and the report.

use serde_json::{Value, json};
use wb_testkit::shared::shared_files;

use crate::support::place::{Place, n_orphans, ten_turns, user};
use crate::support::root;

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
fn a_branch_to_the_current_entry_writes_nothing() {
    let place = ten_turns();
    let before = place.bytes();
    let report = place.json("branch", &["0000101e", "--summarize"]);
    assert_eq!((&report["moved"], &report["written"]), (&json!(false), &json!(false)));
    assert_eq!(report["reason"], "the session is at 0000101e already");
    assert_eq!(place.bytes(), before);

    place.json("branch", &["00001006"]);
    let marked = place.bytes();
    let again = place.run("branch", &["00001006", "-o", &place.path("out.jsonl")]);
    assert!(again.stdout.contains("the session is at 00001006 already"), "{}", again.stdout);
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

#[test]
fn a_dry_branch_writes_nothing_and_shows_what_it_would_do() {
    let place = ten_turns();
    let before = place.bytes();
    let dry = place.json("branch", &["00001002", "--dry-run"]);
    assert_eq!((&dry["moved"], &dry["written"]), (&json!(true), &json!(false)));
    let shown = place.run("branch", &["00001002", "--dry-run"]).stdout;
    assert!(shown.contains("a dry run and writes nothing") && !shown.contains("appended"), "{shown}");
    assert_eq!((place.bytes(), place.names()), (before, vec!["s.jsonl".to_owned()]));
}

/// Compacts a session and undoes that; returns whether there was anything to compact.
fn round_trip(place: &Place) -> bool {
    let (before, whole) = (place.bytes(), place.messages());
    let report = place.command("compact", &["--force", "--in-place", "--allow-open"]);
    assert!(place.bytes().starts_with(&before));
    if place.bytes() == before {
        return false;
    }
    assert!(n_orphans(&place.messages()) <= n_orphans(&whole), "{report}");
    place.command("undo", &["--allow-open"]);
    assert_eq!(place.messages(), whole);
    true
}

#[test]
fn sessions_of_pi_are_compacted_and_come_back() {
    let folder = root().join("crates/wb-session/tests/fixtures");
    let fixtures = ["aborted", "bad-middle", "branches", "compactions", "edits"];
    let fixtures = fixtures.map(|name| folder.join(format!("{name}.jsonl")));
    for path in fixtures.into_iter().chain(shared_files("sessions/pi")) {
        let place = Place::of_file(&path);
        if place.json("tree", &[])["session_version"] != json!(3) {
            continue;
        }
        let is_compacted = round_trip(&place);
        assert!(is_compacted || place.bytes().len() < 20_000, "{}", path.display());
    }
}
