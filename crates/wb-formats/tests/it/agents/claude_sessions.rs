//! Real sessions of Claude Code, held to the laws and compared with what hosts were seen to accept.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use wb_message::{Block, Edit, Message, Pairing, Patch, markers};
use wb_record::{Document, Item, MemoryParts, View, items};
use wb_testkit::depth::rounds;

use crate::support::claude::{appended, digest, lines, open, write};
use crate::support::{bytes_of, files_of, shared};
use crate::writing::laws::{Tried, holds, said};

const DIGEST: &str = "OURDIGEST-MARK: facts kept by the outside tool. Count is 60 notes.";

fn sessions() -> Vec<(String, PathBuf)> {
    shared("sessions/claude-code").map_or_else(Vec::new, |folder| files_of(&folder))
}

fn is_export(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "json")
}

#[test]
fn the_laws_hold_for_every_real_session() {
    let mut all = BTreeMap::new();
    for (name, path) in sessions() {
        let tried = holds(&MemoryParts::from_bytes(bytes_of(&path)), 3);
        assert!(tried.refused == 0 || is_export(&name), "{name}: {tried:?}");
        all.insert(name, tried);
    }
    let sum = |of: fn(&Tried) -> usize| all.values().map(of).sum::<usize>();
    assert!(all.is_empty() || (sum(|it| it.folds) > 50 && sum(|it| it.cleared) > 30), "{all:?}");
}

/// Folds a little more of the beginning, and clears a result now and then.
fn next_patch(view: &View, round: usize) -> Patch {
    let pairing = Pairing::new(&view.messages);
    let n = view.messages.len();
    let is_cut = |at: &usize| pairing.is_legal(*at) && view.provenance.is_seam(*at);
    let cut = (1 + n / 40..n).find(is_cut).unwrap_or(1);
    let with =
        vec![digest(&format!("round {round}")), Message::user("[Restored file after compaction] a.rs\n")];
    let mut edits = vec![Edit::Fold { range: 0..cut, with }];
    let result = (cut..n).find(|at| matches!(view.messages[*at], Message::ToolResult { .. }));
    if let (Some(at), 0) = (result, round % 7) {
        edits.push(Edit::Body { at, content: markers::cleared_body() });
    }
    Patch::new(edits)
}

/// Appends a turn as the host does: below the last line of the request.
fn go_on(document: &mut dyn Document, last: &str, round: usize) {
    let turn = [
        json!({ "parentUuid": last, "isSidechain": false, "type": "user", "uuid": format!("u{round}"),
            "message": { "role": "user", "content": format!("prompt {round}") } }),
        json!({ "parentUuid": format!("u{round}"), "isSidechain": false, "type": "assistant", "uuid": format!("a{round}"),
            "message": { "id": format!("m{round}"), "role": "assistant", "content": [{ "type": "text", "text": "answer" }] } }),
    ];
    let end = document.parts().len("").unwrap().unwrap();
    document.parts_mut().commit(&wb_record::ChangeSet::append("", end, lines(&turn))).unwrap();
    document.refresh().unwrap();
}

/// Returns the ids of all lines.
fn ids_of(bytes: &[u8]) -> HashSet<String> {
    let line = |line: &str| Some(serde_json::from_str::<Value>(line).ok()?.get("uuid")?.as_str()?.to_owned());
    String::from_utf8_lossy(bytes).lines().filter_map(line).collect()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().map_or(&[][..], Vec::as_slice).iter().map(|it| it.as_str().unwrap().to_owned()).collect()
}

/// Compacts a session many times while its host continues.
fn chains(name: &str, bytes: Vec<u8>) {
    let mut ids = ids_of(&bytes);
    let mut document = open(bytes);
    for round in 0..rounds(50) {
        let view = document.view("").unwrap();
        let patch = next_patch(&view, round);
        let set = write(document.as_ref(), &view, &items(&patch, view.messages.len())).unwrap();
        document.commit(&set).unwrap();
        let new = appended(&set);
        let is_new = new.iter().all(|line| ids.insert(line["uuid"].as_str().unwrap().to_owned()));
        let kept = texts(&new[0]["compactMetadata"]["preservedMessages"]["uuids"]);
        assert!(is_new && kept.iter().all(|id| ids.contains(id)), "{name} {round}");
        let mut expected = view.messages;
        let _ = patch.apply(&mut expected).unwrap();
        if round % 5 == 0 {
            let last = kept.last().map_or(new.last().unwrap()["uuid"].as_str().unwrap(), String::as_str);
            go_on(document.as_mut(), last, round);
            expected.extend([Message::user(format!("prompt {round}")), Message::assistant("answer")]);
            ids.extend([format!("u{round}"), format!("a{round}")]);
        }
        assert_eq!(said(&document.view("").unwrap().messages), said(&expected), "{name} {round}");
    }
}

#[test]
fn fifty_compactions_of_a_session_that_goes_on_lose_nothing_that_stays() {
    for (name, path) in sessions() {
        let bytes = bytes_of(&path);
        if bytes.len() > 500_000 {
            chains(&name, bytes);
        }
    }
}

/// A session as a real host left it, and the records written into it and accepted.
fn accepted(name: &str) -> Option<(Vec<u8>, Vec<Value>)> {
    let before = bytes_of(&shared("hosts/fixtures/claude-code/before.jsonl")?);
    let after = bytes_of(&shared(&format!("hosts/fixtures/claude-code/{name}"))?);
    let after = String::from_utf8(after).unwrap();
    let n_before = before.split_inclusive(|byte| *byte == b'\n').count();
    Some((before, after.lines().skip(n_before).map(|line| serde_json::from_str(line).unwrap()).collect()))
}

/// Returns a line with its keys in order, without ids and times of its own and without the header
/// of a digest.
fn bare(lines: &[Value]) -> Vec<String> {
    let mut text = serde_json::to_string_pretty(lines).unwrap();
    let key = |line: &Value, key: &str| line[key].as_str().unwrap_or_default().to_owned();
    for (n, line) in lines.iter().enumerate() {
        text = text.replace(&key(line, "uuid"), &format!("uuid {n}"));
        text = text.replace(&key(line, "timestamp"), "time");
    }
    text = text.replace(&format!("{}\\n", markers::DIGEST_HEADER), "");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn what_is_written_is_what_hosts_were_seen_to_accept() {
    for name in ["after-kept-by-reference.jsonl", "after-digest.jsonl"] {
        let Some((before, theirs)) = accepted(name) else { return };
        let document = open(before);
        let view = document.view("").unwrap();
        let cut = if name.contains("kept") { from(&view, "Last pair.") } else { view.messages.len() };
        let digest = digest(DIGEST);
        let items: Vec<Item<'_>> =
            std::iter::once(Item::New(&digest)).chain((cut..view.messages.len()).map(Item::Same)).collect();
        let ours = appended(&write(document.as_ref(), &view, &items).unwrap());
        assert_eq!(bare(&ours), bare(&theirs), "{name}");
    }
}

/// Returns the messages of a session from the text of one on.
fn from(view: &View, text: &str) -> usize {
    let is_it = |it: &Message| matches!(it.blocks(), [Block::Text { text: first }, ..] if first == text);
    view.messages.iter().position(is_it).unwrap()
}

#[test]
fn an_undo_after_the_host_went_on_is_what_hosts_were_seen_to_accept() {
    let Some((before, mut theirs)) = accepted("undo-by-append.jsonl") else { return };
    let undo = theirs.split_off(2);
    let mut document = open([before.clone(), lines(&theirs)].concat());
    let old = open(before).view("").unwrap();
    let spans =
        (0..old.messages.len()).flat_map(|at| old.provenance.places(at)).map(|place| place.record.clone());
    let items: Vec<Item<'_>> = spans.map(Item::Old).collect();
    let set = write(document.as_ref(), &document.view("").unwrap(), &items).unwrap();
    let meta = |lines: &[Value]| lines[0]["compactMetadata"]["preservedMessages"]["uuids"].clone();
    assert_eq!(meta(&appended(&set)), meta(&undo));
    document.commit(&set).unwrap();
    assert_eq!(said(&document.view("").unwrap().messages), said(&old.messages));
}

#[test]
fn copies_have_the_fields_of_those_that_hosts_were_seen_to_accept() {
    let Some((before, theirs)) = accepted("after-kept-by-copy.jsonl") else { return };
    let document = open(before);
    let view = document.view("").unwrap();
    let cut = from(&view, "Last pair.");
    let (digest, n) = (digest(DIGEST), view.messages.len());
    let result = view.messages.iter().rposition(|it| matches!(it, Message::ToolResult { .. })).unwrap();
    let kept = (cut..n).map(|at| {
        if at == result { Item::Body(at, vec![Block::text("short")].into()) } else { Item::Same(at) }
    });
    let items: Vec<Item<'_>> = std::iter::once(Item::New(&digest)).chain(kept).collect();
    let ours = appended(&write(document.as_ref(), &view, &items).unwrap());
    // The host copied the answer after the pair too.
    assert_eq!((ours.len(), theirs.len()), (7, 8));
    let known = ["sourceToolAssistantUUID", "toolUseResult"];
    let keys = |line: &Value| -> Vec<String> {
        line.as_object().unwrap().keys().filter(|key| !known.contains(&key.as_str())).cloned().collect()
    };
    for (ours, theirs) in ours.iter().zip(&theirs).skip(2) {
        assert_eq!(keys(ours), keys(theirs));
    }
    assert_eq!((ours[6].get("toolUseResult"), &ours[6]["sourceToolAssistantUUID"]), (None, &ours[3]["uuid"]));
    assert_eq!(
        (&ours[2]["message"]["id"], &ours[2]["message"]["id"]),
        (&ours[3]["message"]["id"], &ours[4]["message"]["id"])
    );
}

/// The real host then sent the digest, the tail and the prompt.
#[test]
fn what_a_host_adds_below_what_was_kept_follows_it() {
    let Some((before, theirs)) = accepted("after-kept-by-reference-then-turn.jsonl") else { return };
    let view = open([before, lines(&theirs)].concat()).view("").unwrap();
    assert!(markers::digest_body(&view.messages[0]).is_some() && from(&view, "Last pair.") == 1);
    let is_prompt = |it: &&Message| matches!(it, Message::User { .. });
    assert_eq!(view.messages.iter().filter(is_prompt).count(), 1);
    assert_eq!(view.usage.len(), 2);
}
