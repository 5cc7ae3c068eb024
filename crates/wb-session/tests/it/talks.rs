//! Sessions in memory, what is prepared from them, and what holds of their contexts.

use wb_message::Message;
use wb_session::store::memory::MemoryStore;
use wb_session::{
    CompactionPreparation, CompactionSettings, Entry, EntryId, IdSource, NewSession, SESSION_PRESET, Session,
    SessionError, prepare_compaction,
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
/// One very long turn.
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
