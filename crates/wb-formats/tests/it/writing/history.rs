//! Written changes are undone, redone, and settled after a power cut.

use wb_message::{Block, Edit, Message, Patch, markers};
use wb_record::{
    ChangeSet, DelegatedCompaction, Document, Format, FormatError, History, HistoryError, MemoryParts,
    NotExpressible, OperationKind, Parts, Stamp, UndoMethod, View, Wanted, WriteError, items,
};

use crate::support::{fixture, of_parts};
use crate::writing::laws::{fold_all_but, said};
use crate::writing::rounds::{AGENTS, longer};

fn stamp(now_ms: i64) -> Stamp {
    Stamp { now_ms, seed: 7, tokens_before: 900, tokens_after: 90, by_hand: true }
}

fn document(name: &str) -> Box<dyn Document> {
    of_parts(MemoryParts::from_bytes(fixture(name)))
}

fn text(document: &dyn Document) -> String {
    String::from_utf8(document.parts().whole("").unwrap()).unwrap()
}

fn messages(document: &dyn Document) -> Vec<Message> {
    document.view("").unwrap().messages
}

fn compact(document: &mut dyn Document, history: &mut History, now_ms: i64) -> u64 {
    let view = document.view("").unwrap();
    let patch: Patch = fold_all_but(2, &view);
    let set = document.render("", &view, &items(&patch, view.messages.len()), &stamp(now_ms)).unwrap();
    history.change(OperationKind::Compact, document, "", &view, &set, &stamp(now_ms)).unwrap().0
}

/// Sessions with an append, as their host writes it.
const SESSIONS: [(&str, &str); 2] =
    [("native/lines.jsonl", "{\"role\":\"user\",\"content\":\"and then?\"}\n"), ("pi/tree.jsonl", "")];

fn empty() -> History {
    History::open(Box::new(MemoryParts::default())).unwrap()
}

#[test]
fn an_operation_is_undone_and_redone_to_the_same_bytes() {
    for (name, _) in SESSIONS {
        let (mut document, mut history) = (document(name), empty());
        let before = text(document.as_ref());
        let id = compact(document.as_mut(), &mut history, 1);
        let after = text(document.as_ref());
        assert_ne!(before, after, "{name}");
        for _ in 0..2 {
            assert_eq!(
                history.undo(document.as_mut(), None, &stamp(2)).unwrap(),
                (id, UndoMethod::Exactly),
                "{name}"
            );
            assert_eq!(text(document.as_ref()), before, "{name}");
            assert!(history.is_undone(id));
            assert!(matches!(
                history.undo(document.as_mut(), None, &stamp(3)),
                Err(HistoryError::NothingToUndo)
            ));
            assert_eq!(
                history.redo(document.as_mut(), None, &stamp(4)).unwrap(),
                (id, UndoMethod::Exactly),
                "{name}"
            );
            assert_eq!(text(document.as_ref()), after, "{name}");
            assert!(matches!(
                history.redo(document.as_mut(), None, &stamp(5)),
                Err(HistoryError::NothingToRedo)
            ));
        }
    }
}

#[test]
fn what_the_host_wrote_since_stays_behind_what_an_undo_brings_back() {
    for (name, appended) in SESSIONS {
        let (mut document, mut history) = (document(name), empty());
        let before = messages(document.as_ref());
        let id = compact(document.as_mut(), &mut history, 1);
        let new = if name.starts_with("pi") { next_of_pi(document.as_ref()) } else { appended.to_owned() };
        let end = document.parts().len("").unwrap().unwrap();
        document.parts_mut().commit(&ChangeSet::append("", end, new.into_bytes())).unwrap();
        document.refresh().unwrap();
        let (of, _) = history.undo(document.as_mut(), None, &stamp(2)).unwrap();
        let now = messages(document.as_ref());
        assert_eq!((of, now.len()), (id, before.len() + 1), "{name}");
        assert_eq!(said(&now[..before.len()]), said(&before), "{name}");
    }
}

#[test]
fn results_that_claude_code_had_cleared_stay_cleared_when_their_records_come_back() {
    let (mut document, mut history) = (document("claude-code/microcompact.jsonl"), empty());
    let before = messages(document.as_ref());
    let n_cleared = before.iter().filter(|it| markers::is_cleared(it.blocks())).count();
    assert!(n_cleared > 0);
    compact(document.as_mut(), &mut history, 1);
    let (_, _, lines) = AGENTS.into_iter().find(|(name, ..)| *name == "claude-code").unwrap();
    let new = longer(&text(document.as_ref()), 7, lines).split_off(text(document.as_ref()).len());
    let end = document.parts().len("").unwrap().unwrap();
    document.parts_mut().commit(&ChangeSet::append("", end, new.into_bytes())).unwrap();
    document.refresh().unwrap();
    assert_eq!(history.undo(document.as_mut(), None, &stamp(2)).unwrap(), (1, UndoMethod::ByAppending));
    let now = messages(document.as_ref());
    assert_eq!(said(&now[..before.len()]), said(&before));
    assert_eq!(now.len(), before.len() + 2);
}

/// A session of pi that was compacted once, with a result among what came after that.
const COMPACTED: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}
{"type":"message","id":"u0","parentId":null,"message":{"role":"user","content":"first"}}
{"type":"message","id":"u1","parentId":"u0","message":{"role":"user","content":"start"}}
{"type":"compaction","id":"k0","parentId":"u1","summary":"older","firstKeptEntryId":"u1","tokensBefore":9}
{"type":"message","id":"a1","parentId":"k0","message":{"role":"assistant","content":[{"type":"toolCall","id":"c1","name":"read","arguments":{"path":"a.rs"}}],"stopReason":"toolUse"}}
{"type":"message","id":"r1","parentId":"a1","message":{"role":"toolResult","toolCallId":"c1","toolName":"read","content":[{"type":"text","text":"fn a() {}"}],"isError":false}}
{"type":"message","id":"a2","parentId":"r1","message":{"role":"assistant","content":[{"type":"text","text":"read"}],"stopReason":"stop"}}
"#;

#[test]
fn what_pi_wrote_since_stays_behind_bodies_that_an_undo_brings_back() {
    let body = |at: usize| Edit::Body { at, content: vec![Block::text("cleared")] };
    let fold = |end| Edit::Fold {
        range: 0..end,
        with: vec![Message::user(format!("{}\nnewer", markers::DIGEST_HEADER))],
    };
    let uncompacted = COMPACTED.replace(r#""type":"compaction","id":"k0""#, r#""type":"label","id":"k0""#);
    for (before, patches) in [
        (uncompacted.as_str(), vec![vec![body(3)]]),
        (COMPACTED, vec![vec![body(3)]]),
        (COMPACTED, vec![vec![fold(2), body(3)]]),
        (COMPACTED, vec![vec![body(3)], vec![body(4)], vec![fold(2), body(3)]]),
    ] {
        let (mut document, mut history) = (of_parts(MemoryParts::from_bytes(before)), empty());
        let mut then = Vec::new();
        for (patch, now_ms) in patches.into_iter().zip(1..) {
            let (view, patch) = (document.view("").unwrap(), Patch::new(patch));
            then.clone_from(&view.messages);
            let items = items(&patch, then.len());
            let set = document.render("", &view, &items, &stamp(now_ms)).unwrap();
            history
                .change(OperationKind::Compact, document.as_mut(), "", &view, &set, &stamp(now_ms))
                .unwrap();
        }
        let end = document.parts().len("").unwrap().unwrap();
        let new = next_of_pi(document.as_ref());
        document.parts_mut().commit(&ChangeSet::append("", end, new.into_bytes())).unwrap();
        document.refresh().unwrap();
        history.undo(document.as_mut(), None, &stamp(9)).unwrap();
        let now = messages(document.as_ref());
        assert_eq!((said(&now[..then.len()]), now.len()), (said(&then), then.len() + 1));
    }
}

/// Returns a prompt as pi would append it.
fn next_of_pi(document: &dyn Document) -> String {
    let text = text(document);
    let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let message = serde_json::json!({"role": "user", "content": "and then?"});
    let entry =
        serde_json::json!({"type": "message", "id": "ffffffff", "parentId": last["id"], "message": message});
    format!("{entry}\n")
}

#[test]
fn an_operation_that_was_cut_short_is_settled_from_the_bytes() {
    let (mut document, mut history) = (document("pi/tree.jsonl"), empty());
    let before = text(document.as_ref());
    compact(document.as_mut(), &mut history, 1);
    let (after, list) = (text(document.as_ref()), history.into_list().whole("").unwrap());
    let planned = list.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    for end in before.len()..=after.len() {
        let mut document = of_parts(MemoryParts::from_bytes(&after.as_bytes()[..end]));
        let mut history = History::open(Box::new(MemoryParts::from_bytes(&list[..planned]))).unwrap();
        history.settle(document.as_mut()).unwrap();
        let is_whole = end == after.len();
        assert_eq!(text(document.as_ref()), if is_whole { after.as_str() } else { before.as_str() });
        assert_eq!(history.operations().count(), usize::from(is_whole));
    }
    for end in 0..list.len() {
        let history = History::open(Box::new(MemoryParts::from_bytes(&list[..end]))).unwrap();
        assert!(history.operations().count() <= 1);
    }
}

/// A session that cannot be read once it was written to: not taken in, or not shown.
#[derive(Debug)]
struct UnreadableOnceWritten {
    inner: Box<dyn Document>,
    as_opened: Vec<u8>,
    is_taken_in: bool,
}

impl UnreadableOnceWritten {
    fn check(&self) -> Result<(), FormatError> {
        let is_written = self.parts().whole("").unwrap() != self.as_opened;
        if is_written { Err(FormatError::Empty) } else { Ok(()) }
    }
}

impl Document for UnreadableOnceWritten {
    fn format(&self) -> &'static dyn Format {
        self.inner.format()
    }

    fn view(&self, conversation: &str) -> Result<View, FormatError> {
        self.check()?;
        self.inner.view(conversation)
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        self.inner.render_changed(wanted)
    }

    fn parts(&self) -> &dyn Parts {
        self.inner.parts()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.inner.parts_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.inner.refresh()?;
        if self.is_taken_in { Ok(()) } else { self.check() }
    }
}

#[test]
fn a_compaction_after_which_the_session_cannot_be_read_is_undone() {
    for ((name, _), is_taken_in) in SESSIONS.into_iter().flat_map(|it| [(it, true), (it, false)]) {
        let (inner, mut history) = (document(name), empty());
        let as_opened = inner.parts().whole("").unwrap();
        let view = inner.view("").unwrap();
        let patch = fold_all_but(2, &view);
        let set = inner.render("", &view, &items(&patch, view.messages.len()), &stamp(1)).unwrap();
        let mut document = UnreadableOnceWritten { inner, as_opened, is_taken_in };
        let refused = history.change(OperationKind::Compact, &mut document, "", &view, &set, &stamp(1));
        let unread = matches!(refused, Err(HistoryError::Write(WriteError::Format(FormatError::Empty))));
        assert!(unread, "{name}: {refused:?}");
        assert_eq!(document.parts().whole("").unwrap(), document.as_opened, "{name}");
        assert_eq!(history.operations().count(), 0, "{name}");
        history.settle(&mut document).unwrap();
        assert_eq!(
            history
                .change(OperationKind::Compact, document.inner.as_mut(), "", &view, &set, &stamp(2))
                .unwrap()
                .0,
            2,
            "{name}"
        );
    }
}

/// Notes a compaction that the agent is about to write, all but two messages folded; returns the
/// view before it and the patch.
fn left_to_agent(document: &mut dyn Document, history: &mut History) -> (View, Patch) {
    let view = document.view("").unwrap();
    let (patch, n) = (fold_all_but(2, &view), view.messages.len());
    let Edit::Fold { with, .. } = &patch.edits[0] else { panic!("{patch:?}") };
    let digest = markers::digest_body(&with[0]).unwrap().into_owned();
    let by_agent = DelegatedCompaction::new(&digest, &view.messages[n - 2..]);
    history.leave_to_agent(document, "", &view, by_agent, &stamp(1)).unwrap();
    (view, patch)
}

#[test]
fn a_compaction_that_the_agent_wrote_as_requested_is_undone_and_what_came_since_stays() {
    for (name, next) in SESSIONS {
        let (mut document, mut history) = (document(name), empty());
        let (view, patch) = left_to_agent(document.as_mut(), &mut history);
        assert_eq!((history.operations().count(), history.unsettled()), (0, Some(1)), "{name}");

        // The agent compacts as requested, and continues.
        let set = document.render("", &view, &items(&patch, view.messages.len()), &stamp(2)).unwrap();
        document.commit(&set).unwrap();
        let next = if next.is_empty() { next_of_pi(document.as_ref()) } else { next.to_owned() };
        let end = document.parts().len("").unwrap().unwrap();
        document.parts_mut().commit(&ChangeSet::append("", end, next.into_bytes())).unwrap();
        document.refresh().unwrap();
        let since = messages(document.as_ref()).pop().unwrap();

        let undone = history.undo(document.as_mut(), None, &stamp(3));
        if name.starts_with("native") {
            // A rewritten file does not hold the old records any more.
            assert!(matches!(undone, Err(HistoryError::Lost { id: 1 })), "{undone:?}");
            continue;
        }
        assert_eq!(undone.unwrap(), (1, UndoMethod::ByAppending), "{name}");
        let mut expected = view.messages;
        expected.push(since);
        assert_eq!(messages(document.as_ref()), expected, "{name}");
        assert_eq!(history.redo(document.as_mut(), None, &stamp(4)).unwrap().0, 1, "{name}");
    }
}

#[test]
fn a_compaction_by_the_agent_that_was_detected_is_still_known_after_its_undo_was_written() {
    let (mut document, mut history) = (document("pi/tree.jsonl"), empty());
    let (view, patch) = left_to_agent(document.as_mut(), &mut history);
    let set = document.render("", &view, &items(&patch, view.messages.len()), &stamp(2)).unwrap();
    document.commit(&set).unwrap();
    history.detect_finished(document.as_ref()).unwrap();
    history.undo(document.as_mut(), None, &stamp(3)).unwrap();
    let again = History::open(history.into_list()).unwrap();
    assert_eq!(again.operations().map(|it| it.id).collect::<Vec<_>>(), [1, 2]);
    assert!(again.is_undone(1) && again.unsettled().is_none());
}

#[test]
fn a_compaction_that_the_agent_never_wrote_is_dropped() {
    let (mut document, mut history) = (document("pi/tree.jsonl"), empty());
    let view = document.view("").unwrap();
    let by_agent = DelegatedCompaction::new("# Objective", &view.messages[1..]);
    history.leave_to_agent(document.as_mut(), "", &view, by_agent, &stamp(1)).unwrap();
    history.settle(document.as_mut()).unwrap();
    assert_eq!((history.operations().count(), history.unsettled()), (0, None));
}
