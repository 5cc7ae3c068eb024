//! Real rollouts of Codex, read where they lie and written in memory.

use std::path::{Path, PathBuf};

use serde_json::Value;
use wb_message::{Message, Pairing, Patch};
use wb_record::{ChangeSet, Document, Item, MemoryParts, ONLY_CONVERSATION, Parts, Stamp, View, items};
use wb_testkit::depth::rounds;

use crate::reading::sessions::{ours, table, without_sizes};
use crate::support::{bytes_of, files_of, open, shared};
use crate::writing::laws::{fold_all_but, holds, said};

/// The file with a count and no answer.
const WITHOUT_ANSWER: &str = "jazzyalex-agent-sessions__codex_053_rate_limit.jsonl";

const STAMP: Stamp =
    Stamp { now_ms: 1_795_315_994_086, seed: 5, tokens_before: 11_560, tokens_after: 3000, by_hand: true };

/// Returns the rollouts of sessions, and those around compactions that real hosts went on from.
fn rollouts() -> Vec<(String, PathBuf)> {
    let folders = ["sessions/codex", "hosts/fixtures/codex"];
    folders.iter().filter_map(|folder| shared(folder)).flat_map(|folder| files_of(&folder)).collect()
}

#[test]
fn every_rollout_opens_without_an_orphan() {
    for (name, path) in rollouts() {
        let opened = open(&bytes_of(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(opened.format, "codex", "{name}");
        assert_eq!(Pairing::new(&opened.messages).orphans(), [0; 0], "{name}");
        let segments = wb_formats::segments(&mut bytes_of(&path).as_slice()).unwrap();
        let last = segments.last().unwrap();
        assert!(last.messages == opened.messages && last.usage == opened.usage, "{name}");
    }
}

#[test]
fn the_laws_hold_for_every_rollout() {
    for (name, path) in rollouts() {
        let tried = holds(&MemoryParts::from_bytes(bytes_of(&path)), 5);
        if name.contains("_full") || name.contains("after-kept") {
            assert!(tried.folds > 0 && tried.refused == 0, "{name}: {tried:?}");
        }
    }
}

/// The table counts the instructions, which are no message, and arguments as they are written.
#[test]
fn requests_of_codex_are_those_of_the_table() {
    let Some(sessions) = shared("sessions") else { return };
    for (name, theirs) in table(&sessions, "codex").into_iter().filter(|(name, _)| name != WITHOUT_ANSWER) {
        let path = sessions.join("codex").join(&name);
        let ours = ours(&path);
        assert!(theirs.keys().all(|at| *at < ours.len()), "{name} has {} segments", ours.len());
        for (at, (ours, _)) in ours.iter().enumerate() {
            let theirs = theirs.get(&at).map_or(&[][..], Vec::as_slice);
            assert_eq!(without_sizes(ours), without_sizes(theirs), "{name} segment {at}");
            if name.contains("_full") {
                let n_instructions = n_instructions(&path);
                let is_near =
                    |(ours, theirs): (usize, usize)| (ours + n_instructions).abs_diff(theirs) * 100 < theirs;
                assert!(ours.iter().zip(theirs).all(|(ours, theirs)| is_near((ours.2, theirs.2))), "{name}");
            }
        }
    }
}

fn n_instructions(path: &Path) -> usize {
    let text = String::from_utf8(bytes_of(path)).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    first["payload"]["base_instructions"]["text"].as_str().map_or(0, str::len)
}

fn document(bytes: &[u8]) -> (Box<dyn Document>, View) {
    let document = wb_formats::open(Box::new(MemoryParts::from_bytes(bytes))).unwrap();
    let view = document.view(ONLY_CONVERSATION).unwrap();
    (document, view)
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The history that another program wrote, and a real host continued: the developer's item, the
/// environment, a digest and the last three messages.
#[test]
fn what_is_appended_is_what_a_real_host_went_on_from() {
    let Some(folder) = shared("hosts/fixtures/codex") else { return };
    let before = bytes_of(&folder.join("before.jsonl"));
    let theirs = lines(&bytes_of(&folder.join("after-kept-tail.jsonl"))[before.len()..]);
    let (mut document, view) = document(&before);
    let text = theirs[0]["payload"]["replacement_history"][2]["content"][0]["text"].as_str().unwrap();
    let digest = Message::user(text);
    let n = view.messages.len();
    let items: Vec<Item<'_>> = [Item::Same(0), Item::Same(1), Item::New(&digest)]
        .into_iter()
        .chain((n - 4..n).map(Item::Same))
        .collect();
    let set = document.render(ONLY_CONVERSATION, &view, &items, &STAMP).unwrap();
    document.commit(&set).unwrap();
    let ours = lines(&document.parts().whole("").unwrap()[before.len()..]);
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let names = |line: &Value| line.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(ours), names(theirs));
        assert_eq!((&ours["type"], &ours["ordinal"]), (&theirs["type"], &theirs["ordinal"]));
        assert_eq!(names(&ours["payload"]), names(&theirs["payload"]));
    }
    assert!(ours[..3].iter().zip(&theirs).all(|(ours, theirs)| ours["payload"] == theirs["payload"]));
    let last = |line: &Value| line["payload"]["info"]["last_token_usage"].clone();
    assert_eq!(last(&ours[3]), last(&theirs[3]));
    assert_eq!(ours[4]["payload"]["item"]["type"], theirs[4]["payload"]["item"]["type"]);
}

/// A turn is added before each, as the host does.
#[test]
fn fifty_compactions_in_a_row_are_read_as_they_were_meant_and_undone() {
    for (name, path) in rollouts() {
        let bytes = bytes_of(&path);
        if bytes.len() > 500_000 {
            fifty(&name, &bytes);
        }
    }
}

fn fifty(name: &str, bytes: &[u8]) {
    let (mut document, _) = document(bytes);
    let mut written: Vec<ChangeSet> = Vec::new();
    for nth in 0..rounds(50) {
        let at = document.parts().len("").unwrap().unwrap();
        let line = |role: &str, kind: &str| {
            format!(
                r#"{{"timestamp":"2026-11-22T00:00:00Z","type":"response_item","payload":{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":"{nth}"}}]}}}}"#
            )
        };
        let turn = [line("user", "input_text"), line("assistant", "output_text"), String::new()].join("\n");
        written.push(ChangeSet::append("", at, turn.into_bytes()));
        document.commit(&written[written.len() - 1]).unwrap();
        let view = document.view(ONLY_CONVERSATION).unwrap();
        let patch: Patch = fold_all_but(view.messages.len().min(12), &view);
        let set =
            document.render(ONLY_CONVERSATION, &view, &items(&patch, view.messages.len()), &STAMP).unwrap();
        document.commit(&set).unwrap();
        written.push(set);
        let mut expected = view.messages;
        let _ = patch.apply(&mut expected).unwrap();
        assert_eq!(
            said(&document.view(ONLY_CONVERSATION).unwrap().messages),
            said(&expected),
            "{name} {nth}"
        );
    }
    let mut parts = MemoryParts::from_bytes(document.parts().whole("").unwrap());
    for set in written.iter().rev() {
        parts.commit(&set.inverse()).unwrap();
    }
    assert!(parts.whole("").unwrap() == bytes, "{name}");
}
