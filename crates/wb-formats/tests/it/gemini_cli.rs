//! Gemini CLI: what a compaction writes, and what was counted before it.

use wb_message::{Block, Edit, Patch, markers};
use wb_record::items;

use crate::laws::fold_all_but;
use crate::support::claude::{appended, open, write};
use crate::support::fixture;

#[test]
fn a_compaction_appends_a_list_with_copies_and_without_answers_that_are_told_twice() {
    let document = open(fixture("gemini-cli/session.jsonl"));
    let view = document.view("").unwrap();
    let patch = fold_all_but(8, &view);
    let set = write(document.as_ref(), &view, &items(&patch, view.messages.len())).unwrap();
    let lines = appended(&set);
    let list = lines[0]["$set"]["messages"].as_array().unwrap();
    let ids: Vec<&str> = list.iter().map(|it| it["id"].as_str().unwrap()).collect();
    assert_eq!((ids[0], &ids[2..]), ("ctx", &["g1", "i1", "g3", "g4", "u3", "g5"][..]));
    assert_eq!(lines[1]["$set"]["lastUpdated"], "2027-01-15T08:00:00.000Z");
}

#[test]
fn what_was_counted_before_another_list_is_not_told() {
    for name in ["gemini-cli/session.jsonl", "gemini-cli/old.json"] {
        for patch in 0..2 {
            let mut document = open(fixture(name));
            let view = document.view("").unwrap();
            let at = view.messages.iter().position(|it| it.answered_ids().next().is_some()).unwrap();
            let cleared = Edit::Body { at, content: markers::cleared_body() };
            let patch = if patch == 0 { fold_all_but(2, &view) } else { Patch::new(vec![cleared]) };
            let set = write(document.as_ref(), &view, &items(&patch, view.messages.len())).unwrap();
            document.commit(&set).unwrap();
            let usage = document.view("").unwrap().usage;
            assert!(usage.iter().all(|it| it.at < at), "{name}: {usage:?}");
        }
    }
}

#[test]
fn a_failed_result_stays_one_with_another_body() {
    let mut document = open(fixture("gemini-cli/session.jsonl"));
    let view = document.view("").unwrap();
    let body = vec![Block::text("short")];
    let patch = Patch::new(vec![Edit::Body { at: 4, content: body.clone() }]);
    let set = write(document.as_ref(), &view, &items(&patch, view.messages.len())).unwrap();
    document.commit(&set).unwrap();
    assert_eq!(document.view("").unwrap().messages[4], view.messages[4].with_body(body));
}
