//! Gemini CLI: the output of a compaction, and the usage before it.

use serde_json::{Value, json};
use wb_message::{Block, Edit, Patch, markers};
use wb_record::{ChangeSet, items};

use crate::support::claude::{appended, open, write};
use crate::support::fixture;
use crate::writing::laws::fold_all_but;

#[test]
fn a_compaction_appends_a_list_with_copies_and_without_repeated_answers() {
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
fn what_was_counted_before_another_list_is_not_reported() {
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

/// Returns the lines that a resuming host appends for a list: the place where it runs, then the
/// whole list.
fn gone_on(list: &[Value]) -> String {
    let place = json!([{ "text": "<session_context>\nLinux, another day\n</session_context>" }]);
    let time = "2027-02-03T00:00:00.000Z";
    let user = |id: &Value, content: &Value| json!({ "id": id, "timestamp": time, "type": "user", "content": content });
    let said = |record: &Value| {
        let (id, calls) = (&record["id"], record["toolCalls"].as_array().cloned().unwrap_or_default());
        if record["type"] == "user" {
            let is_place = record["content"].to_string().contains("<session_context>");
            return vec![user(id, if is_place { &place } else { &record["content"] })];
        }
        let mut parts =
            vec![json!({ "text": "A thought.", "thought": true }), json!({ "text": record["content"] })];
        parts.retain(|part| part["text"] != "");
        let call = |it: &Value| json!({ "functionCall": { "id": it["id"], "name": it["name"], "args": it["args"] } });
        parts.extend(calls.iter().map(call));
        let results: Vec<Value> =
            calls.iter().filter_map(|it| it["result"].as_array()).flatten().cloned().collect();
        let with_all = |call: &Value| {
            let mut call = call.clone();
            call["result"] = results.clone().into();
            call
        };
        let calls: Vec<Value> = calls.iter().map(with_all).collect();
        let answer =
            json!({ "id": id, "timestamp": time, "type": "gemini", "content": parts, "toolCalls": calls });
        let results = (!results.is_empty()).then(|| user(id, &results.into()));
        [answer].into_iter().chain(results).collect()
    };
    let is_said = |record: &&Value| record["type"] == "user" || record["type"] == "gemini";
    let list: Vec<Value> = list.iter().filter(is_said).flat_map(said).collect();
    let set = |list: &[Value]| json!({ "$set": { "messages": list, "lastUpdated": time } });
    format!("{}\n{}\n", set(&list[..1]), set(&list))
}

#[test]
fn a_list_that_the_host_writes_again_when_it_goes_on_keeps_its_records() {
    let mut document = open(fixture("gemini-cli/session.jsonl"));
    let view = document.view("").unwrap();
    let set = write(document.as_ref(), &view, &items(&fold_all_but(8, &view), view.messages.len())).unwrap();
    let list = appended(&set)[0]["$set"]["messages"].as_array().unwrap().clone();
    document.commit(&set).unwrap();
    let before = document.view("").unwrap();
    let end = document.parts().len("").unwrap().unwrap();
    document.commit(&ChangeSet::append("", end, gone_on(&list).into_bytes())).unwrap();
    let after = document.view("").unwrap();
    assert_eq!(after.messages[1..], before.messages[1..]);
    assert!(format!("{:?}", after.messages[0]).contains("another day"));
    assert_eq!(after.provenance, before.provenance);
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
