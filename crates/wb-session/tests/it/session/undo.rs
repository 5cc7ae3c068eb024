//! The undo of a compaction inside its log: cases.

use std::collections::HashMap;

use insta::assert_snapshot;
use serde_json::{Value, json};
use wb_budget::Usage;
use wb_message::Message;
use wb_message::outline::outline;
use wb_record::Line;
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    BranchSummary, Compaction, Context, ContextEdit, Durability, EntryId, EntryKind, EntryStore, IdSource,
    Logged, NewSession, Node, Replacement, Request, SESSION_PRESET, Session, SessionError, SessionLog,
    StopReason, StoreError, UNDO_MARK, build_context, estimate_context,
};
use wb_testkit::shared::bytes_of;

use crate::store::files::each_store;
use crate::support::{append_bytes, fresh};

pub(crate) fn opened(log: &[u8]) -> Session {
    Session::open(Box::new(MemoryStore::of_lines(log)), IdSource::new(5)).unwrap()
}

pub(crate) fn written(session: &Session) -> Vec<u8> {
    let mut out = Vec::new();
    session.write_to(&mut out).unwrap();
    out
}

pub(crate) fn ids(session: &Session) -> Vec<EntryId> {
    session.path().unwrap().into_iter().map(|node| node.id.clone()).collect()
}

pub(crate) fn here(session: &Session) -> Context {
    session.context(session.leaf()).unwrap()
}

/// Builds the context of a log reduced to the given entries, in one chain.
pub(crate) fn context_of(log: &[u8], ids: &[EntryId]) -> Context {
    let lines = log.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let records = lines.filter_map(|bytes| Line::alone(1, bytes).parse::<Value>().ok());
    let by_id: HashMap<String, Value> =
        records.filter_map(|record| Some((record.get("id")?.as_str()?.to_owned(), record))).collect();
    let mut lines = vec![json!({"type": "session", "version": 3, "id": "s"}).to_string()];
    let mut parent = Value::Null;
    for id in ids {
        let mut record = by_id[id.as_str()].clone();
        record["parentId"] = std::mem::replace(&mut parent, json!(id.as_str()));
        lines.push(record.to_string());
    }
    let log = SessionLog::read(lines.join("\n").as_bytes()).unwrap();
    build_context(&log, log.leaf()).unwrap()
}

/// Returns the parts of a context that do not depend on the ids of entries.
pub(crate) fn content_of(context: &Context) -> (&[Message], Option<&str>, Option<&str>) {
    (&context.messages, context.model.as_deref(), context.thinking_level.as_deref())
}

/// The visible state of a session.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Face {
    pub(crate) nodes: Vec<Node>,
    pub(crate) labels: Vec<(EntryId, String)>,
    pub(crate) name: Option<String>,
    pub(crate) leaf: Option<EntryId>,
    pub(crate) context: Context,
}

pub(crate) fn face(session: &Session) -> Face {
    let tree = session.tree();
    Face {
        nodes: tree.nodes().collect(),
        labels: tree.labels().map(|(id, label)| (id.clone(), label.to_owned())).collect(),
        name: tree.name().map(str::to_owned),
        leaf: session.leaf().cloned(),
        context: here(session),
    }
}

fn begin() -> NewSession {
    NewSession { id: "s".into(), timestamp: 1_000, cwd: "/p".into(), parent_session: None }
}

fn begun() -> Session {
    Session::create(Box::new(MemoryStore::default()), &begin(), IdSource::new(3)).unwrap()
}

fn say(session: &mut Session, text: &str) -> EntryId {
    session.append(&Message::user(text).into(), 2_000).unwrap()
}

fn compact(session: &mut Session, summary: &str, first_kept: Option<&EntryId>) -> EntryId {
    let digest = Compaction {
        summary: summary.into(),
        first_kept_entry_id: first_kept.cloned(),
        tokens_before: 900,
        ..Compaction::default()
    };
    session.append(&EntryKind::Compaction(digest), 3_000).unwrap()
}

fn outline_of(session: &Session) -> String {
    outline(&here(session).messages)
}

/// Begins a session that was compacted and went on.
fn compacted() -> (Session, [EntryId; 4]) {
    compacted_in(Box::new(MemoryStore::default()))
}

fn compacted_in(store: Box<dyn EntryStore>) -> (Session, [EntryId; 4]) {
    let mut session = Session::create(store, &begin(), IdSource::new(3)).unwrap();
    let (a, b) = (say(&mut session, "a"), say(&mut session, "b"));
    let c = compact(&mut session, "S", Some(&b));
    let d = say(&mut session, "d");
    (session, [a, b, c, d])
}

#[test]
fn what_came_after_a_compaction_is_repeated_before_it() {
    let (mut session, [a, b, c, d]) = compacted();
    session.append(&Message::assistant("e").into(), 4_000).unwrap();
    session.set_label(&d, Some("here"), 4_000).unwrap();
    let edit = ContextEdit { target_id: d.clone(), replacement: Some(Replacement { content: "D".into() }) };
    let old = session.append(&EntryKind::ContextEdit(edit), 4_000).unwrap();
    let before = (written(&session), here(&session));
    assert_eq!(
        outline_of(&session),
        "   0 digest    \"S\"\n   1 user      \"b\"\n   2 user      \"D\"\n   3 assistant \"e\"\n"
    );
    let undone = session.undo_compaction(5_000).unwrap();
    assert_eq!((&undone.compaction_id, &undone.old_leaf_id, undone.n_repeated), (&c, &old, 4));
    assert_eq!(session.leaf(), Some(&undone.new_leaf_id));
    assert_eq!(ids(&session)[..2], [a, b]);
    assert_eq!(
        outline_of(&session),
        "   0 user      \"a\"\n   1 user      \"b\"\n   2 user      \"D\"\n   3 assistant \"e\"\n"
    );
    let after = written(&session);
    assert!(after.starts_with(&before.0));
    assert_snapshot!(String::from_utf8(after).unwrap());
    session.branch(&old).unwrap();
    assert_eq!(here(&session), before.1);
}

#[test]
fn where_nothing_came_after_a_compaction_only_the_mark_is_appended() {
    let mut session = begun();
    let root = compact(&mut session, "of nothing", None);
    let undone = session.undo_compaction(5_000).unwrap();
    let EntryKind::Custom(mark) = session.entry(&undone.new_leaf_id).unwrap().kind else { panic!("no mark") };
    assert_eq!(mark.custom_type, UNDO_MARK);
    assert_eq!(mark.data, Some(json!({"compaction": root.as_str(), "from": root.as_str()})));
    assert_eq!((ids(&session), outline_of(&session)), (vec![undone.new_leaf_id], String::new()));
    assert_eq!((undone.n_repeated, session.tree().nodes().len()), (0, 2));
    assert_eq!(face(&session), face(&opened(&written(&session))));
}

#[test]
fn where_no_compaction_is_on_the_path_there_is_nothing_to_undo() {
    let (mut session, [a, ..]) = compacted();
    session.branch(&a).unwrap();
    let error = session.undo_compaction(0).unwrap_err();
    assert!(matches!(error, SessionError::NothingToUndo), "{error}");
    assert!(!error.hint().is_empty() && error.line().is_none());
    assert_eq!((session.leaf(), session.tree().nodes().len()), (Some(&a), 4));
    session.reset_leaf();
    assert!(matches!(session.undo_compaction(0), Err(SessionError::NothingToUndo)));
    let mut old =
        opened(b"{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"compaction\",\"summary\":\"S\"}\n");
    assert!(matches!(old.undo_compaction(0), Err(SessionError::OtherLayout { version: 1 })));
}

#[test]
fn the_last_compaction_goes_first() {
    let (mut session, [a, b, c, d]) = compacted();
    let second = compact(&mut session, "T", Some(&d));
    say(&mut session, "e");
    let undone = session.undo_compaction(5_000).unwrap();
    assert_eq!(undone.compaction_id, second);
    assert_eq!(
        outline_of(&session),
        "   0 digest    \"S\"\n   1 user      \"b\"\n   2 user      \"d\"\n   3 user      \"e\"\n"
    );
    let undone = session.undo_compaction(6_000).unwrap();
    assert_eq!((undone.compaction_id, undone.n_repeated), (c, 3));
    assert_eq!(ids(&session)[..2], [a, b]);
    assert_eq!(
        outline_of(&session),
        "   0 user      \"a\"\n   1 user      \"b\"\n   2 user      \"d\"\n   3 user      \"e\"\n"
    );
    assert!(matches!(session.undo_compaction(7_000), Err(SessionError::NothingToUndo)));
}

#[test]
fn a_branch_summary_before_or_after_the_compaction_stays_on_the_path() {
    let mut session = begun();
    let a = say(&mut session, "a");
    say(&mut session, "b");
    let summary = |text: &str| BranchSummary { summary: text.into(), ..BranchSummary::default() };
    session.branch_with_summary(Some(&a), summary("b was tried"), 3_000).unwrap();
    let c = compact(&mut session, "S", None);
    let d = say(&mut session, "d");
    session.branch_with_summary(Some(&c), summary("d was tried"), 3_000).unwrap();
    session.undo_compaction(5_000).unwrap();
    assert_eq!(
        outline_of(&session),
        "   0 user      \"a\"\n   1 digest    \"b was tried\"\n   2 digest    \"d was tried\"\n"
    );
    let Message::BranchSummary { from_id, .. } = &here(&session).messages[2] else { panic!("no summary") };
    assert_eq!(from_id, d.as_str(), "the branch that was left is named as it was");
}

#[test]
fn each_entry_has_the_label_that_it_had_and_so_has_its_copy() {
    let (mut session, [a, b, _, d]) = compacted();
    session.set_label(&a, Some("old a"), 0).unwrap();
    session.set_label(&d, Some("old d"), 0).unwrap();
    session.set_label(&b, None, 0).unwrap();
    session.set_name("old", 0).unwrap();
    let leaf = say(&mut session, "e");
    session.branch(&a).unwrap();
    for (id, label) in [(&a, "new a"), (&b, "new b"), (&d, "new d"), (&leaf, "new e")] {
        session.set_label(id, Some(label), 0).unwrap();
    }
    session.set_name("new", 0).unwrap();
    session.branch(&leaf).unwrap();
    let undone = session.undo_compaction(5_000).unwrap();
    let path = ids(&session);
    let labels: Vec<_> = path.iter().filter_map(|id| session.tree().label(id)).collect();
    assert_eq!(labels, ["new a", "new b", "new d", "new e"]);
    let labels = [&d, &leaf].map(|id| session.tree().label(id));
    assert_eq!((labels, session.tree().name()), ([Some("new d"), Some("new e")], Some("new")));
    assert_eq!(path.len(), 2 + 1 + undone.n_repeated + 5, "four labels and the name are set again");
    assert_eq!(face(&session), face(&opened(&written(&session))));
    let n_entries = session.tree().nodes().len();
    session.branch(&undone.old_leaf_id).unwrap();
    session.undo_compaction(6_000).unwrap();
    assert_eq!(session.tree().nodes().len(), n_entries + 1 + undone.n_repeated + 5);
}

#[test]
fn a_label_that_was_cleared_elsewhere_is_not_set_by_its_copy() {
    let (mut session, [a, _, _, d]) = compacted();
    session.set_label(&d, Some("d"), 0).unwrap();
    session.set_label(&a, Some("a"), 0).unwrap();
    let leaf = say(&mut session, "e");
    session.reset_leaf();
    session.set_label(&d, None, 0).unwrap();
    session.set_label(&a, None, 0).unwrap();
    session.branch(&leaf).unwrap();
    session.undo_compaction(5_000).unwrap();
    assert_eq!(session.tree().labels().count(), 0);
    assert_eq!(face(&session), face(&opened(&written(&session))));
}

/// The model saw the digest when its provider counted, and what the digest stood for is back now.
#[test]
fn a_count_after_the_compaction_is_not_the_size_of_the_context() {
    let mut session = begun();
    say(&mut session, &"x".repeat(400_000));
    compact(&mut session, "S", None);
    say(&mut session, "go on");
    let answer = |tokens: u64| {
        let usage = Usage { input_tokens: tokens, output_tokens: 10, ..Usage::EMPTY };
        let request = Request { usage: Some(usage), stop_reason: StopReason::Stop, ..Request::default() };
        let message = Message::assistant("done");
        EntryKind::Message(Logged { message, request: Some(request), is_excluded: false })
    };
    session.append(&answer(5_000), 4_000).unwrap();
    let tokens = |session: &Session| {
        let log = SessionLog::read(&written(session)[..]).unwrap();
        estimate_context(&log.path(log.leaf()).unwrap(), &SESSION_PRESET).tokens
    };
    assert_eq!(tokens(&session), 5_010);
    session.undo_compaction(5_000).unwrap();
    assert!(tokens(&session) > 100_000, "{}", tokens(&session));
    assert!(here(&session).requests.iter().all(|request| !request.is_current));
    say(&mut session, "and now");
    session.append(&answer(105_000), 6_000).unwrap();
    assert_eq!(tokens(&session), 105_010);
}

/// Lines of other programs keep their order of members, their numbers and unknown members.
#[test]
fn lines_are_repeated_as_they_are_but_for_their_place() {
    let log = concat!(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n",
        "{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":\"gone\",\"summary\":\"S\"}\n",
        " {\"parentId\":\"c\", \"n\":1.50e1,\"id\" : \"x\",\"type\":\"new\",\"targetId\":\"x\",\"t\":\"\\ud83d\"} \r\n",
        "no entry\n",
        "{\"id\":\"e\",\"type\":\"context_edit\",\"parentId\":\"x\",\"targetId\":\"l\"}\n",
        "{\"id\":\"l\",\"targetId\":\"c\",\"type\":\"label\",\"parentId\":\"e\"}\n",
    );
    let mut session = opened(log.as_bytes());
    session.undo_compaction(5_000).unwrap();
    let text = String::from_utf8(written(&session)).unwrap();
    let lines: Vec<&str> = text.strip_prefix(log).unwrap().lines().collect();
    let path = ids(&session);
    let [mark, x, e, l] = &path[..] else { panic!("{path:?}") };
    assert_eq!(
        lines[1..],
        [
            format!(
                "{{\"parentId\":\"{mark}\", \"n\":1.50e1,\"id\" : \"{x}\",\"type\":\"new\",\"targetId\":\"x\",\"t\":\"\\ud83d\"}}"
            ),
            format!("{{\"id\":\"{e}\",\"type\":\"context_edit\",\"parentId\":\"{x}\",\"targetId\":\"{l}\"}}"),
            format!("{{\"id\":\"{l}\",\"targetId\":\"c\",\"type\":\"label\",\"parentId\":\"{e}\"}}"),
        ]
    );
    assert!(lines[0].contains("\"parentId\":null"), "{}", lines[0]);
}

#[test]
fn an_undo_is_in_each_store_what_it_is_in_memory() {
    let (mut session, _) = compacted();
    session.undo_compaction(5_000).unwrap();
    each_store("undone", |open, outlives| {
        let (mut stored, _) = compacted_in(open());
        stored.undo_compaction(5_000).unwrap();
        assert_eq!(written(&stored), written(&session));
        if outlives {
            let before = face(&stored);
            drop(stored);
            stored = Session::open(open(), IdSource::new(3)).unwrap();
            assert_eq!(face(&stored), before);
        }
        say(&mut stored, "e");
        assert_eq!(stored.path().unwrap().len(), 5);
    });
}

#[test]
fn an_undo_that_fails_leaves_the_session_as_it_was() {
    let path = fresh("undo-fails.jsonl");
    append_bytes(&path, &written(&compacted().0));
    let store = JsonlStore::open(&path, Durability::Never).unwrap();
    let mut session = Session::open(Box::new(store), IdSource::new(1)).unwrap();
    let before = (ids(&session), session.tree().nodes().len());
    append_bytes(&path, b"{\"foreign\":1}\n");
    let bytes = bytes_of(&path);
    let error = session.undo_compaction(5_000).unwrap_err();
    assert!(matches!(error, SessionError::Store(StoreError::Changed { .. })), "{error}");
    assert_eq!((ids(&session), session.tree().nodes().len()), before);
    assert!(bytes_of(&path) == bytes);
}

#[test]
fn what_was_paid_for_once_is_not_billed_again() {
    let usage =
        |total: &str| format!(r#""usage":{{"input":9,"output":1,"cost":{{"input":1,"total":{total}}}}}"#);
    let log = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}"#.to_owned(),
        r#"{"type":"compaction","id":"b","parentId":"a","summary":"S","firstKeptEntryId":"a","tokensBefore":9}"#.to_owned(),
        format!(
            r#"{{"type":"message","id":"c","parentId":"b","message":{{"role":"assistant","content":[],{}}}}}"#,
            usage("1.25")
        ),
    ];
    let store = MemoryStore::of_lines(log.join("\n").as_bytes());
    let mut session = Session::open(Box::new(store), IdSource::new(1)).unwrap();
    session.undo_compaction(0).unwrap();
    let mut out = Vec::new();
    session.write_to(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("\"total\":1.25").count(), 1, "{text}");
    assert_eq!(text.matches("\"input\":9,\"output\":1").count(), 2, "{text}");
}

#[test]
fn edits_are_undone_without_the_compaction_before_them() {
    let mut session = opened(b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
    let ask = session.append(&Message::user("list").into(), 1).unwrap();
    let digest =
        Compaction { summary: "S".into(), first_kept_entry_id: Some(ask.clone()), ..Default::default() };
    session.append(&EntryKind::Compaction(digest), 2).unwrap();
    let hide = EntryKind::ContextEdit(ContextEdit { target_id: ask, replacement: None });
    let edits = [session.append(&hide, 3).unwrap(), session.append(&hide, 3).unwrap()];
    let after = session.append(&Message::user("go on").into(), 4).unwrap();
    let undone = session.undo_entries(&edits[0], &edits[1], 5).unwrap();
    assert_eq!((undone.compaction_id, undone.old_leaf_id, undone.n_repeated), (edits[0].clone(), after, 1));
    let seen = outline(&here(&session).messages);
    assert_eq!(seen, "   0 digest    \"S\"\n   1 user      \"list\"\n   2 user      \"go on\"\n");
    let refused = session.undo_entries(&edits[1], &edits[0], 6).unwrap_err();
    assert!(matches!(refused, SessionError::NothingToUndo), "they are on the branch that was left");
}
