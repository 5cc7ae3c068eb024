//! The laws for undoing a compaction in any log.

use std::collections::{HashMap, HashSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};
use wb_message::Pairing;
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    BranchSummary, Compaction, Context, Durability, EntryId, EntryKind, EntryTag, IdSource, NewSession, Node,
    Session, SessionError,
};
use wb_testkit::shared::{bytes_of, shared_files};

use crate::session::undo::{Face, content_of, context_of, face, here, ids, opened, written};
use crate::store::files::{Opened, each_store};
use crate::support::{FIXTURES, append_bytes, fresh};

/// Something that is done to a session.
#[derive(Clone, Debug)]
enum Act {
    /// An entry of the kind of this number is appended, about that entry if it is about one.
    Append(u8, Index),
    Compact(Option<Index>),
    /// The leaf goes to an entry, with a summary or a mark or without a trace.
    Go(Index, u8),
    Undo,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => (0..N_KINDS, any::<Index>()).prop_map(|(kind, about)| Act::Append(kind, about)),
        2 => proptest::option::weighted(0.8, any::<Index>()).prop_map(Act::Compact),
        2 => (any::<Index>(), 0..4_u8).prop_map(|(to, how)| Act::Go(to, how)),
        1 => Just(Act::Undo),
    ]
}

const N_KINDS: u8 = 18;

/// Returns an entry in pi's form; calls and results share few ids, so that some are answered and
/// some are not.
fn entry(kind: u8, nth: usize, about: Option<&EntryId>) -> Value {
    let message = |message: Value| json!({"type": "message", "message": message});
    let call = |id: usize| json!({"type": "toolCall", "id": format!("c{}", id % 5), "name": "read", "arguments": {"n": nth}});
    let answer = |stop: &str, content: Value| {
        message(
            json!({"role": "assistant", "content": content, "stopReason": stop, "model": format!("m{nth}"),
            "usage": {"input": nth, "output": 1}}),
        )
    };
    let label = format!("L{}", nth % 4);
    match kind {
        0 | 1 => message(json!({"role": "user", "content": format!("ask {nth}")})),
        2 => answer("stop", json!([{"type": "text", "text": format!("say {nth}")}])),
        3 => answer("toolUse", json!([call(nth)])),
        4 => answer("toolUse", json!([call(nth), call(nth + 1)])),
        5 => answer("aborted", json!([{"type": "text", "text": "cut"}, call(nth)])),
        6..9 => {
            message(json!({"role": "toolResult", "toolCallId": format!("c{}", nth % 5), "toolName": "read",
            "content": [{"type": "text", "text": format!("result {nth}")}]}))
        }
        9 => message(json!({"role": "bashExecution", "command": "ls", "output": nth.to_string(),
            "excludeFromContext": nth.is_multiple_of(2)})),
        10 => json!({"type": "custom_message", "customType": "note", "content": format!("note {nth}")}),
        11 => json!({"type": "model_change", "provider": "p", "modelId": format!("m{nth}")}),
        12 => json!({"type": "thinking_level_change", "thinkingLevel": format!("t{nth}")}),
        13 => json!({"type": "custom", "customType": "ext", "data": nth}),
        14 => {
            json!({"type": "session_info", "name": if nth.is_multiple_of(3) { String::new() } else { label }})
        }
        15 => json!({"type": "of tomorrow", "targetId": about, "n": 1.5}),
        16 if nth.is_multiple_of(3) => json!({"type": "label", "targetId": about}),
        16 => json!({"type": "label", "targetId": about, "label": label}),
        _ if nth.is_multiple_of(2) => json!({"type": "context_edit", "targetId": about, "replacement": null}),
        _ => {
            json!({"type": "context_edit", "targetId": about, "replacement": {"content": format!("new {nth}")}})
        }
    }
}

fn run(session: &mut Session, act: &Act) {
    let nodes: Vec<Node> = session.tree().nodes().collect();
    let at = |index: &Index| (!nodes.is_empty()).then(|| index.get(&nodes).id.clone());
    let nth = nodes.len();
    match act {
        Act::Append(kind, about) => {
            let about = at(about);
            // The first entry can be about none.
            let kind = if about.is_none() && *kind > 14 { 0 } else { *kind };
            let Value::Object(fields) = entry(kind, nth, about.as_ref()) else { panic!("no object") };
            session.append(&EntryKind::Other(fields), 1_000 + i64::try_from(nth).unwrap()).unwrap();
        }
        Act::Compact(kept) => {
            let path = ids(session);
            let first_kept_entry_id =
                kept.as_ref().filter(|_| !path.is_empty()).map(|kept| kept.get(&path).clone());
            let digest =
                Compaction { summary: format!("digest {nth}"), first_kept_entry_id, ..Compaction::default() };
            session.append(&EntryKind::Compaction(digest), 0).unwrap();
        }
        Act::Go(to, how) => {
            let to = at(to);
            let summary = BranchSummary { summary: format!("left {nth}"), ..BranchSummary::default() };
            match (how, &to) {
                (0, to) => drop(session.branch_with_summary(to.as_ref(), summary, 0).unwrap()),
                (1, to) => drop(session.mark_leaf(to.as_ref(), 0).unwrap()),
                (_, Some(to)) => session.branch(to).unwrap(),
                (_, None) => session.reset_leaf(),
            }
        }
        Act::Undo => match session.undo_compaction(5_000) {
            Ok(_) | Err(SessionError::NothingToUndo) => {}
            Err(error) => panic!("{error}"),
        },
    }
}

fn begun(store: Opened) -> Session {
    Session::create(store, &NewSession::default(), IdSource::new(3)).unwrap()
}

fn grown(mut session: Session, acts: &[Act]) -> Session {
    for act in acts {
        run(&mut session, act);
    }
    session
}

fn compactions(session: &Session) -> Vec<EntryId> {
    let path = session.path().unwrap().into_iter();
    path.filter(|node| node.tag == EntryTag::Compaction).map(|node| node.id.clone()).collect()
}

/// Returns the pairs of a context, each as the entries of call and result.
fn pairs(context: &Context) -> Vec<(EntryId, EntryId)> {
    let entry = |at: u32| context.entries[at as usize].clone();
    let pairing = Pairing::new(&context.messages);
    let first = pairing.pairs().iter().filter(|pair| !pair.repeated);
    first.map(|pair| (entry(pair.call.message), entry(pair.result))).collect()
}

/// A session before its last compaction was undone, and that compaction's place on the path.
struct Before {
    log: Vec<u8>,
    path: Vec<EntryId>,
    face: Face,
    at: usize,
}

/// Undoes the last compaction and checks the result; returns whether there was one.
fn undo_and_check(session: &mut Session, name: &str) -> bool {
    let (log, path, face_before) = (written(session), ids(session), face(session));
    let Some(compaction) = compactions(session).pop() else {
        assert!(matches!(session.undo_compaction(9_000), Err(SessionError::NothingToUndo)), "{name}");
        assert_eq!(face(session), face_before, "{name}");
        return false;
    };
    let at = path.iter().position(|id| *id == compaction).unwrap();
    let before = Before { log, path, face: face_before, at };
    let undone = session.undo_compaction(9_000).unwrap();
    assert_eq!(
        (&undone.compaction_id, Some(&undone.old_leaf_id)),
        (&compaction, before.path.last()),
        "{name}"
    );
    assert_eq!(Some(&undone.new_leaf_id), session.leaf(), "{name}");
    assert_eq!(undone.n_repeated, before.path.len() - at - 1, "{name}");
    check_old_branch(session, &before, name);
    check_context(session, &before, name);
    check_copies(session, &before, name);
    true
}

fn check_old_branch(session: &Session, before: &Before, name: &str) {
    let then = session.context(before.face.leaf.as_ref()).unwrap();
    assert_eq!(then, before.face.context, "{name}");
    assert_eq!(
        session.tree().nodes().take(before.face.nodes.len()).collect::<Vec<_>>(),
        before.face.nodes,
        "{name}"
    );
    assert!(written(session).starts_with(&before.log), "{name}: written bytes were changed");
}

/// The context is that of the path without the compaction.
fn check_context(session: &Session, before: &Before, name: &str) {
    let rest = [&before.path[..before.at], &before.path[before.at + 1..]].concat();
    let (context, reference) = (here(session), context_of(&before.log, &rest));
    assert_eq!(content_of(&context), content_of(&reference), "{name}");
}

/// Copies match their originals: in place, kind and time, in their labels and as pairs.
fn check_copies(session: &Session, before: &Before, name: &str) {
    let Before { path, face, at, .. } = before;
    let (now, tree) = (ids(session), session.tree());
    let stands_for = |id: &EntryId| {
        let place = path.iter().position(|old| old == id).filter(|place| place > at);
        place.map_or_else(|| id.clone(), |place| now[place].clone())
    };
    assert_eq!(now[..*at], path[..*at], "{name}");
    let place = |id: &EntryId| tree.node(id).map(|node| (node.tag, node.timestamp));
    let labels: HashMap<_, _> = face.labels.iter().cloned().collect();
    for old in path.iter().filter(|id| **id != path[*at]) {
        let new = stands_for(old);
        assert_eq!(place(&new), place(old), "{name} {old}");
        assert_eq!(tree.label(&new), labels.get(old).map(String::as_str), "{name} {old}");
    }
    let is_new = |id: &EntryId| now[*at..].contains(id);
    let older = tree.labels().filter(|(id, _)| !is_new(id));
    let older: HashMap<_, _> = older.map(|(id, label)| (id.clone(), label.to_owned())).collect();
    assert_eq!((older, tree.name()), (labels, face.name.as_deref()), "{name}");
    check_pairs(&face.context, &here(session), stands_for, |id| path[at + 1..].contains(id), name);
}

/// A pair stays a pair, unless an older compaction leaves a part of it out.
fn check_pairs(
    before: &Context,
    after: &Context,
    stands_for: impl Fn(&EntryId) -> EntryId,
    is_repeated: impl Fn(&EntryId) -> bool,
    name: &str,
) {
    let (seen, pairs_after): (HashSet<_>, HashSet<_>) =
        (after.entries.iter().cloned().collect(), pairs(after).into_iter().collect());
    for (call, result) in pairs(before) {
        let new = (stands_for(&call), stands_for(&result));
        let is_there = seen.contains(&new.0) && seen.contains(&new.1);
        let must_be = is_there || is_repeated(&call) && is_repeated(&result);
        assert!(!must_be || pairs_after.contains(&new), "{name}: {call} lost {result}");
    }
}

/// Undoes all compactions of the path, each with its checks, and returns their number.
fn undo_all_and_check(session: &mut Session, name: &str) -> usize {
    let (log, mut rest, gone) = (written(session), ids(session), compactions(session));
    rest.retain(|id| !gone.contains(id));
    for _ in &gone {
        assert!(undo_and_check(session, name), "{name}");
    }
    assert!(!undo_and_check(session, name), "{name}");
    assert_eq!(content_of(&here(session)), content_of(&context_of(&log, &rest)), "{name}");
    gone.len()
}

proptest! {
    #[test]
    fn after_each_undo_the_context_is_that_without_the_compaction(acts in vec(act(), 0..60)) {
        let mut session = grown(begun(Box::new(MemoryStore::default())), &acts);
        undo_all_and_check(&mut session, "grown");
        // A moved leaf without a mark is forgotten, so the session resumes at its last entry.
        session.set_name("end", 0).unwrap();
        prop_assert_eq!(face(&opened(&written(&session))), face(&session));
    }
}

proptest! {
    // Each case writes files.
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn an_undo_opened_again_from_its_store_is_the_same_session(acts in vec(act(), 1..40)) {
        each_store("undo-law", |open, outlives| {
            let mut session = grown(begun(open()), &acts);
            if undo_all_and_check(&mut session, "stored") > 0 && outlives {
                let before = face(&session);
                drop(session);
                assert_eq!(face(&Session::open(open(), IdSource::new(3)).unwrap()), before);
            }
        });
    }
}

/// Returns the real and composed files of the present layout.
fn files() -> Vec<(String, Vec<u8>)> {
    let shared = shared_files("sessions/pi").into_iter().chain(shared_files("vectors/session-cases"));
    let shared = shared.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let shared = shared.map(|path| (path.display().to_string(), bytes_of(&path)));
    let composed = FIXTURES.iter().map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
    shared.chain(composed).collect()
}

/// Opens a log if it is of the present layout and has no cycle.
fn open_present(bytes: &[u8]) -> Option<Session> {
    let session = Session::open(Box::new(MemoryStore::of_lines(bytes)), IdSource::new(5)).ok()?;
    (session.header().version == 3 && session.path().is_ok()).then_some(session)
}

#[test]
fn compactions_of_real_files_are_undone_at_every_leaf() {
    let mut n_undone = 0;
    for (name, bytes) in files() {
        let Some(session) = open_present(&bytes) else { continue };
        let nodes = session.tree().nodes();
        let n_leaves = if bytes.len() > 200_000 { 1 } else { 8 };
        let n_nodes = nodes.len();
        for node in nodes.rev().step_by(1 + n_nodes / n_leaves) {
            let mut session = opened(&bytes);
            session.branch(&node.id).unwrap();
            n_undone += undo_all_and_check(&mut session, &format!("{name} {}", node.id));
        }
    }
    assert!(n_undone >= 2, "{n_undone} compactions were taken back");
}

#[test]
fn a_real_file_keeps_every_byte_that_it_had() {
    let mut n_undone = 0;
    for (name, bytes) in files() {
        if open_present(&bytes).is_none_or(|session| compactions(&session).is_empty()) {
            continue;
        }
        let path = fresh("undo-real.jsonl");
        append_bytes(&path, &bytes);
        let open = || {
            let store = JsonlStore::open(&path, Durability::OnClose).unwrap();
            Session::open(Box::new(store), IdSource::new(5)).unwrap()
        };
        let mut session = open();
        while session.undo_compaction(9_000).is_ok() {
            n_undone += 1;
        }
        let before = face(&session);
        drop(session);
        assert!(bytes_of(&path).starts_with(&bytes), "{name}");
        assert_eq!(face(&open()), before, "{name}");
    }
    assert!(n_undone >= 2, "{n_undone} compactions were taken back");
}
