//! A repair that is undone after the agent continued, rewrote its document, and was compacted: the
//! result is the original session followed by the new messages, or nothing is changed.

use serde_json::{Value, json};
use wb_formats::repair;
use wb_message::markers::DIGEST_HEADER;
use wb_message::{Edit, Message, Patch};
use wb_record::{
    Bytes, Change, ChangeSet, Document, History, HistoryError, MemoryParts, OperationKind, Stamp, items,
};

use crate::damage::broken::{Way, broken};
use crate::support::{fixtures, open};
use crate::writing::laws::said;
use crate::writing::rounds::{AGENTS, anew, longer};

/// Changes by others to a session between two operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    /// The agent adds a prompt and an answer.
    GoesOn,
    /// A document is written with other blanks and escapes, and something new in front.
    Anew,
    GoesOnAnew,
}

const ALL: [Meanwhile; 4] = [Meanwhile::Nothing, Meanwhile::GoesOn, Meanwhile::Anew, Meanwhile::GoesOnAnew];

/// A session with its list of operations.
struct World {
    document: Box<dyn Document>,
    history: History,
    now_ms: u64,
}

/// The outcome for a session.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// There was nothing to repair.
    Sound,
    /// The agent cannot do it, or the change cannot be written.
    Not,
    Undone,
    /// The refusal, which changed nothing, or a wrong result.
    Refused(String),
}

impl World {
    fn text(&self) -> String {
        String::from_utf8(self.document.parts().whole("").unwrap()).unwrap()
    }

    fn messages(&self) -> Vec<Message> {
        self.document.view("").unwrap().messages
    }

    fn stamp(&mut self) -> Stamp {
        self.now_ms += 1_000;
        Stamp { now_ms: self.now_ms.cast_signed(), seed: self.now_ms, by_hand: true, ..Stamp::default() }
    }

    /// Lets others act; returns the messages that this added, or `None` if it is not possible.
    fn let_others(&mut self, what: Meanwhile, n: usize) -> Option<Vec<Message>> {
        let (old, before) = (self.text(), self.messages());
        let mut text = old.clone();
        if matches!(what, Meanwhile::GoesOn | Meanwhile::GoesOnAnew) {
            let format = self.document.format().name();
            let (_, _, lines) = AGENTS.into_iter().find(|(name, ..)| *name == format)?;
            if serde_json::from_str::<Value>(&text).is_ok_and(|it| !it["messages"].is_array()) {
                return None;
            }
            text = longer(&text, n, lines);
        }
        if matches!(what, Meanwhile::Anew | Meanwhile::GoesOnAnew) {
            let document: Value = serde_json::from_str(&text).ok()?;
            text = match document {
                Value::Object(members) => {
                    let title = ("title".to_owned(), json!("y".repeat(100 * n)));
                    anew(&Value::Object([title].into_iter().chain(members).collect()))
                }
                document => anew(&document),
            };
        }
        let change = Change::Splice { at: 0, old: Bytes(old.into()), new: Bytes(text.into()) };
        self.document.parts_mut().commit(&ChangeSet { changes: vec![(String::new(), change)] }).unwrap();
        self.document.refresh().ok()?;
        // The lines continue from the last one, which may be on another branch.
        let mut now = self.messages();
        now.starts_with(&before).then(|| now.split_off(before.len()))
    }

    fn compact(&mut self) -> Option<()> {
        let (view, stamp) = (self.document.view("").unwrap(), self.stamp());
        let digest = Message::user(format!("{DIGEST_HEADER}\n# Goal\nStep {} — 😀.", self.now_ms));
        let patch = Patch::new(vec![Edit::Fold { range: 0..view.messages.len() - 1, with: vec![digest] }]);
        let set = self.document.render("", &view, &items(&patch, view.messages.len()), &stamp).ok()?;
        self.history.change(OperationKind::Compact, self.document.as_mut(), "", &view, &set, &stamp).ok()?;
        Some(())
    }
}

/// Repairs a session, lets others continue and maybe compacts, and undoes all of it.
fn outcome(bytes: &[u8], first: Meanwhile, then: Option<Meanwhile>) -> Outcome {
    let history = History::open(Box::new(MemoryParts::default())).unwrap();
    let Ok(document) = wb_formats::open(Box::new(MemoryParts::from_bytes(bytes))) else {
        return Outcome::Not;
    };
    let mut world = World { document, history, now_ms: 0 };
    let Ok(view) = world.document.view("") else { return Outcome::Not };
    let stamp = world.stamp();
    let Ok(repaired) = repair(world.document.as_ref(), "", &view, &stamp) else { return Outcome::Not };
    if repaired.changes.is_empty() {
        return Outcome::Sound;
    }
    let set = &repaired.changes;
    world.history.change(OperationKind::Repair, world.document.as_mut(), "", &view, set, &stamp).unwrap();
    let Some(mut since) = world.let_others(first, 901) else { return Outcome::Not };
    if let Some(then) = then {
        let Some(()) = world.compact() else { return Outcome::Not };
        let Some(more) = world.let_others(then, 902) else { return Outcome::Not };
        since.extend(more);
    }
    loop {
        let (text, stamp) = (world.text(), world.stamp());
        match world.history.undo(world.document.as_mut(), None, &stamp) {
            Ok(_) => {}
            Err(HistoryError::NothingToUndo) => break,
            Err(error) => {
                assert_eq!(world.text(), text);
                return Outcome::Refused(error.to_string());
            }
        }
    }
    let expected = [view.messages, since].concat();
    let (now, expected) = (said(&world.messages()), said(&expected));
    if let Some(at) = (0..now.len().max(expected.len())).find(|at| now.get(*at) != expected.get(*at)) {
        return Outcome::Refused(format!("message {at} is {:?} and not {:?}", now.get(at), expected.get(at)));
    }
    Outcome::Undone
}

/// Repairs that are not undone, with the reason.
const KEPT: [(&str, Way, &str); 1] = [
    // A result without its call is shown at the position of its line, which moves when the line is
    // rewritten.
    ("claude-code/kept.jsonl", Way::CallGone, "message 3 is"),
];

#[test]
fn a_repair_is_undone_whatever_came_after_it_or_nothing_is_changed() {
    let (mut n_undone, mut refused) = (0, Vec::new());
    for (name, bytes) in fixtures() {
        let Ok(view) = open(bytes) else { continue };
        let mut all = broken(bytes, &view);
        all.sort_by_key(|(way, ..)| *way);
        all.dedup_by_key(|(way, ..)| *way);
        for (way, _, bytes) in all {
            let cases = ALL.into_iter().flat_map(|first| [(first, None), (first, Some(first))]);
            for (first, then) in cases {
                match outcome(&bytes, first, then) {
                    Outcome::Undone => n_undone += 1,
                    Outcome::Refused(why) => {
                        let is_known = KEPT.iter().any(|(known, of, because)| {
                            known == name && *of == way && why.starts_with(because)
                        });
                        if !is_known {
                            refused.push(format!("{name}, {way:?}, {first:?}, {then:?}: {why}"));
                        }
                    }
                    Outcome::Not | Outcome::Sound => {}
                }
            }
        }
    }
    assert!(refused.is_empty(), "{n_undone} undone, {} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(n_undone > 300, "{n_undone}");
}
