//! Sessions in memory, what is prepared from them, and what holds of their contexts.

use wb_budget::Usage;
use wb_message::{Message, Pairing};
use wb_session::store::memory::MemoryStore;
use wb_session::{
    CompactionPreparation, CompactionSettings, Entry, EntryId, EntryKind, IdSource, Logged, NewSession,
    Request, SESSION_PRESET, Session, SessionError, StopReason, prepare_compaction,
};
use wb_testkit::script;

/// A reply in the form of a summary.
pub(crate) const SUMMARY: &str = "## Goal\nFix the cart.\n\n## Progress\n### Done\n- [x] found the cause";
/// A reply in the form of a turn's first part.
pub(crate) const PREFIX: &str = "## Original Request\nFix it.\n\n## Early Progress\n- read the file";

pub(crate) fn empty_session() -> Session {
    let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
    Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(1)).unwrap()
}

/// Appends messages and returns their entries' ids.
pub(crate) fn append(session: &mut Session, messages: Vec<Message>) -> Vec<EntryId> {
    messages.into_iter().map(|message| session.append(&message.into(), 1_000).unwrap()).collect()
}

/// Appends an answer with what the provider counted and how it ended.
pub(crate) fn answer(session: &mut Session, message: Message, usage: Option<Usage>, stop_reason: StopReason) {
    let request = Some(Request { usage, stop_reason, ..Request::default() });
    session.append(&EntryKind::Message(Logged { message, request, is_excluded: false }), 1).unwrap();
}

/// Returns what the model sees at the leaf.
pub(crate) fn context(session: &Session) -> Vec<Message> {
    session.context(session.leaf()).unwrap().messages
}

/// Fails where a call is without its result and does not wait for it either, and where a result is without its call or
/// the second of one.
pub(crate) fn assert_paired(context: &[Message]) {
    let pairing = Pairing::new(context);
    assert!(pairing.orphans().is_empty() && pairing.pairs().iter().all(|pair| !pair.repeated));
    let only_results =
        |at: usize| context[at..].iter().all(|message| matches!(message, Message::ToolResult { .. }));
    assert!(pairing.dangling().iter().all(|call| only_results(call.message as usize + 1)));
}

pub(crate) fn session_of(turns: &str) -> (Session, Vec<EntryId>) {
    let mut session = empty_session();
    let ids = append(&mut session, script(turns));
    (session, ids)
}

/// Two turns with some weight, and a third one.
pub(crate) const TALK: &str = concat!(
    r#"u"Fix the cart, but never touch its API." a"I look.":read(src/cart.rs),edit(src/main.rs) t*4000 t "#,
    r#"u"And the tests?" a"They run.":bash(cargo test)  t*2000 "#,
    r#"u"Ship it." a"Shipped.""#,
);
/// One turn that goes on and on.
pub(crate) const LONG_TURN: &str = concat!(
    r#"u"Port the importer." a"First.":read(src/a.rs) t*4000 a"Second.":edit(src/b.rs) t*2000 "#,
    r#"a"Third.":bash(cargo test) t*400 a"Done.""#,
);

pub(crate) fn prepared(session: &Session, keep_recent_tokens: u64) -> CompactionPreparation {
    let entries = read_path(session, session.leaf()).unwrap();
    let path: Vec<_> = entries.iter().collect();
    let settings = CompactionSettings { keep_recent_tokens, ..CompactionSettings::default() };
    prepare_compaction(&path, &settings, &SESSION_PRESET).unwrap()
}

/// Reads the entries from a root to a leaf from the session's store.
pub(crate) fn read_path(session: &Session, leaf: Option<&EntryId>) -> Result<Vec<Entry>, SessionError> {
    session.tree().path(leaf)?.into_iter().map(|node| session.entry(&node.id)).collect()
}
