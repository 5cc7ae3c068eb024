//! Sessions that go on: leaves, branches, labels, and what is refused.

use wb_message::Message;
use wb_message::outline::outline;
use wb_session::store::jsonl::JsonlStore;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    BranchSummary, Compaction, Durability, EntryId, EntryKind, EntryStore, IdSource, LEAF_MARK, LogNote,
    NewSession, Session, SessionError, StoreError, Torn,
};

use crate::support::{append_bytes, fresh};

fn begin() -> NewSession {
    NewSession { id: "s".into(), timestamp: 1_000, cwd: "/p".into(), parent_session: None }
}

fn begun() -> Session {
    Session::create(Box::new(MemoryStore::default()), &begin(), IdSource::new(1)).unwrap()
}

fn say(session: &mut Session, text: &str) -> EntryId {
    session.append(&Message::user(text).into(), 2_000).unwrap()
}

fn outline_of(session: &Session) -> String {
    outline(&session.context(session.leaf()).unwrap().messages)
}

fn memory(log: &str) -> Result<Session, SessionError> {
    Session::open(Box::new(MemoryStore::of_lines(log.as_bytes())), IdSource::new(1))
}

#[test]
fn an_entry_follows_the_leaf_and_becomes_it_on_each_branch() {
    let mut session = begun();
    assert_eq!((session.leaf(), outline_of(&session)), (None, String::new()));
    let a = say(&mut session, "a");
    let b = say(&mut session, "b");
    session.branch(&a).unwrap();
    let c = say(&mut session, "c");
    assert_eq!(session.leaf(), Some(&c));
    assert_eq!(
        session.path().unwrap().into_iter().map(|node| node.id).collect::<Vec<_>>(),
        [a.clone(), c.clone()]
    );
    assert_eq!(session.tree().common_ancestor(&b, &c).unwrap().map(|node| node.id), Some(a.clone()));
    session.reset_leaf();
    let d = say(&mut session, "d");
    assert_eq!(session.path().unwrap().len(), 1);
    assert!(session.tree().common_ancestor(&b, &d).unwrap().is_none());
    let walk: Vec<_> = session.tree().walk().into_iter().map(|(depth, node)| (depth, node.id)).collect();
    assert_eq!(walk, [(0, a), (1, b), (1, c), (0, d)]);
}

#[test]
fn a_branch_that_is_left_with_a_summary_hands_it_to_the_new_one() {
    let mut session = begun();
    let a = say(&mut session, "a");
    let b = say(&mut session, "b");
    let summary = BranchSummary { summary: "b was tried".into(), ..BranchSummary::default() };
    let id = session.branch_with_summary(Some(&a), summary.clone(), 3_000).unwrap();
    let EntryKind::BranchSummary(stored) = session.entry(&id).unwrap().kind else { panic!("no summary") };
    assert_eq!((stored.from_id.as_str(), session.leaf()), (b.as_str(), Some(&id)));
    assert_eq!(outline_of(&session), "   0 user      \"a\"\n   1 digest    \"b was tried\"\n");
    let unknown = session.branch_with_summary(Some(&"gone".into()), summary.clone(), 0).unwrap_err();
    assert!(matches!(unknown, SessionError::UnknownLeaf { .. }));
    assert_eq!(session.leaf(), Some(&id), "a failure leaves the leaf where it was");
    let root = begun().branch_with_summary(None, summary, 0).unwrap();
    assert_eq!(root.as_str().len(), 8);
}

#[test]
fn a_leaf_that_is_marked_is_there_again_when_the_session_is_opened() {
    let mut session = begun();
    let (a, b) = (say(&mut session, "a"), say(&mut session, "b"));
    let again = |session: &Session| {
        let mut out = Vec::new();
        session.write_to(&mut out).unwrap();
        memory(std::str::from_utf8(&out).unwrap()).unwrap()
    };
    let mark = session.mark_leaf(Some(&a), 3_000).unwrap();
    assert_eq!((session.leaf(), again(&session).leaf()), (Some(&mark), Some(&mark)));
    assert_eq!(outline_of(&again(&session)), "   0 user      \"a\"\n");
    let EntryKind::Custom(custom) = session.entry(&mark).unwrap().kind else { panic!("no mark") };
    assert_eq!(
        (custom.custom_type.as_str(), custom.data.unwrap()),
        (LEAF_MARK, serde_json::json!({"from": b.as_str()}))
    );
    let root = session.mark_leaf(None, 4_000).unwrap();
    assert_eq!(
        (outline_of(&again(&session)), session.entry(&root).unwrap().parent_id),
        (String::new(), None)
    );
    assert!(matches!(session.mark_leaf(Some(&"gone".into()), 0), Err(SessionError::UnknownLeaf { .. })));
    assert_eq!((session.leaf(), session.tree().nodes().len()), (Some(&root), 4));
    let first = begun().mark_leaf(None, 0).unwrap();
    assert_eq!(first.as_str().len(), 8);
}

#[test]
fn a_label_is_set_replaced_and_cleared_and_a_name_as_well() {
    let mut session = begun();
    let (a, b) = (say(&mut session, "a"), say(&mut session, "b"));
    session.set_label(&a, Some("one"), 0).unwrap();
    session.set_label(&b, Some("two"), 0).unwrap();
    session.set_label(&a, Some("three"), 0).unwrap();
    let labels = |session: &Session| -> Vec<String> {
        session.tree().labels().map(|(id, label)| format!("{id}={label}")).collect()
    };
    assert_eq!(labels(&session), [format!("{a}=three"), format!("{b}=two")]);
    session.set_label(&a, None, 0).unwrap();
    session.set_label(&b, Some(""), 0).unwrap();
    assert_eq!((labels(&session).len(), session.tree().label(&a)), (0, None));
    session.set_name("two\r\nlines ", 0).unwrap();
    assert_eq!(session.tree().name(), Some("two lines"));
    session.set_name("", 0).unwrap();
    assert_eq!(session.tree().name(), None);
    assert!(matches!(session.set_label(&"gone".into(), Some("x"), 0), Err(SessionError::UnknownLeaf { .. })));
}

#[test]
fn what_has_no_place_in_a_log_is_refused_and_nothing_is_written() {
    let mut session = begun();
    let a = say(&mut session, "a");
    session.reset_leaf();
    let b = say(&mut session, "b");
    let boundary = Compaction { first_kept_entry_id: Some(a), ..Compaction::default() };
    let object = |text: &str| EntryKind::Other(serde_json::from_str(text).unwrap());
    let digest = Message::CompactionSummary { summary: "S".into(), tokens_before: 0 };
    for kind in
        [EntryKind::Compaction(boundary), digest.into(), object("{}"), object("{\"type\":\"session\"}")]
    {
        let error = session.append(&kind, 0).unwrap_err();
        let is_expected =
            matches!(error, SessionError::BadBoundary { .. } | SessionError::NotWritable { .. });
        assert!(is_expected && !error.hint().is_empty(), "{error}");
    }
    assert_eq!((session.tree().nodes().len(), session.leaf()), (2, Some(&b)));
    assert!(matches!(session.branch(&"gone".into()), Err(SessionError::UnknownLeaf { .. })));
    assert!(matches!(session.context(Some(&"gone".into())), Err(SessionError::UnknownLeaf { .. })));
}

#[test]
fn an_entry_in_pis_own_form_counts_as_what_it_is() {
    let mut session = begun();
    let a = say(&mut session, "a");
    let mut append = |text: &str| {
        session.append(&EntryKind::Other(serde_json::from_str(text).unwrap()), 5_000).unwrap();
    };
    append(
        "{\"parentId\":\"x\",\"type\":\"message\",\"id\":\"y\",\"message\":{\"role\":\"user\",\"content\":\"b\",\"extra\":[1.0]}}",
    );
    append(&format!("{{\"type\":\"label\",\"targetId\":\"{a}\",\"label\":\"L\"}}"));
    append("{\"type\":\"session_info\",\"name\":\"N\"}");
    assert_eq!(outline_of(&session), "   0 user      \"a\"\n   1 user      \"b\"\n");
    assert_eq!((session.tree().label(&a), session.tree().name()), (Some("L"), Some("N")));
    let mut out = Vec::new();
    session.write_to(&mut out).unwrap();
    let again = memory(std::str::from_utf8(&out).unwrap()).unwrap();
    assert_eq!(again.tree().nodes().len(), session.tree().nodes().len());
    let mut nodes = again.tree().nodes().zip(session.tree().nodes());
    assert!(nodes.all(|(a, b)| (a.id, a.parent_id, a.tag, a.line) == (b.id, b.parent_id, b.tag, b.line)));
    assert!(String::from_utf8(out).unwrap().contains("\"extra\":[1.0]"));
}

#[test]
fn a_compaction_that_keeps_nothing_names_itself() {
    let mut session = begun();
    say(&mut session, "a");
    let digest = Compaction { summary: "S".into(), ..Compaction::default() };
    let id = session.append(&EntryKind::Compaction(digest), 0).unwrap();
    let EntryKind::Compaction(stored) = session.entry(&id).unwrap().kind else { panic!("no compaction") };
    assert_eq!(stored.first_kept_entry_id, Some(id));
    assert_eq!(outline_of(&session), "   0 digest    \"S\"\n");
}

#[test]
fn only_the_present_layout_is_appended_to() {
    for header in ["{\"type\":\"session\",\"id\":\"s\"}", "{\"type\":\"session\",\"version\":4,\"id\":\"s\"}"]
    {
        let mut session = memory(header).unwrap();
        let error = session.append(&Message::user("a").into(), 0).unwrap_err();
        assert!(matches!(error, SessionError::OtherLayout { .. }), "{error}");
    }
    let full = Box::new(MemoryStore::of_lines(b"{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n"));
    assert!(matches!(Session::create(full, &begin(), IdSource::new(1)), Err(SessionError::NotEmpty)));
}

#[test]
fn a_cycle_is_an_error_and_its_entries_are_walked_once() {
    let line =
        |id: &str, parent: &str| format!("{{\"type\":\"x\",\"id\":\"{id}\",\"parentId\":\"{parent}\"}}\n");
    let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
    let log = [header.to_owned(), line("a", "b"), line("b", "a"), line("c", "c"), line("d", "gone")].concat();
    let session = memory(&log).unwrap();
    for id in ["a", "b", "c"] {
        assert!(matches!(session.context(Some(&id.into())), Err(SessionError::Cycle { .. })), "{id}");
    }
    let walk: Vec<_> =
        session.tree().walk().into_iter().map(|(depth, node)| (depth, node.id.to_string())).collect();
    assert_eq!(walk, [(0, "d"), (0, "a"), (1, "b"), (0, "c")].map(|(depth, id)| (depth, id.to_owned())));
    assert!(session.context(Some(&"d".into())).unwrap().messages.is_empty());
}

#[test]
fn an_id_that_the_log_has_is_not_given_again() {
    let path = fresh("ids.jsonl");
    let store = JsonlStore::create(&path, Durability::Never).unwrap();
    let mut session = Session::create(Box::new(store), &begin(), IdSource::new(1)).unwrap();
    for run in 0..4 {
        for at in 0..50 {
            say(&mut session, &format!("{run} {at}"));
        }
        drop(session);
        let store = JsonlStore::open(&path, Durability::Never).unwrap();
        session = Session::open(Box::new(store), IdSource::new(1)).unwrap();
    }
    assert_eq!((session.path().unwrap().len(), session.tree().walk().len()), (200, 200));
    assert!(session.tree().nodes().all(|node| node.id.as_str().len() == 8));
    assert_eq!(session.tree().nodes().next_back().map(|node| node.line), Some(201));
}

#[test]
fn a_torn_record_is_noted_and_a_failed_append_leaves_the_session_as_it_was() {
    let path = fresh("session.jsonl");
    let store = JsonlStore::create(&path, Durability::OnClose).unwrap();
    let mut session = Session::create(Box::new(store), &begin(), IdSource::new(1)).unwrap();
    let a = say(&mut session, "a");
    append_bytes(&path, b"{\"type\":\"mess");
    let error = session.append(&Message::user("b").into(), 0).unwrap_err();
    assert!(matches!(error, SessionError::Store(StoreError::Changed { .. })), "{error}");
    assert_eq!((session.leaf(), session.tree().nodes().len()), (Some(&a), 1));
    drop(session);
    let store = JsonlStore::open(&path, Durability::OnClose).unwrap();
    let mut session = Session::open(Box::new(store), IdSource::new(1)).unwrap();
    assert!(
        matches!(session.notes(), [LogNote::TornRecord(Torn { n_bytes: 13, .. })]),
        "{:?}",
        session.notes()
    );
    say(&mut session, "b");
    session.sync().unwrap();
    assert_eq!(outline_of(&session), "   0 user      \"a\"\n   1 user      \"b\"\n");
}

/// Any change of any byte gives a session or an error.
#[test]
fn damaged_sessions_give_an_error_or_a_session() {
    for (_, text) in crate::support::FIXTURES {
        for at in (0..text.len()).step_by(3) {
            for with in [0x00, b'"', b'}', b'\n', 0xFF] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[at] = with;
                let store = Box::new(MemoryStore::of_lines(bytes.as_slice()));
                let Ok(session) = Session::open(store, IdSource::new(1)) else { continue };
                let _ = session.context(session.leaf());
                let mut out = Vec::new();
                session.write_to(&mut out).unwrap();
                let _ = session.fork_to(session.leaf(), &begin(), &mut IdSource::new(2), &mut out);
                assert!(out.len() + 64 > bytes.len());
            }
        }
    }
}

#[test]
fn a_session_over_a_store_can_be_sent() {
    fn check<T: Send + Sync>() {}
    check::<Session>();
    check::<Box<dyn EntryStore>>();
}
