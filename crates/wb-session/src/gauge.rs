//! The estimate of a context that follows a session, so that asking again reads only what is new.

use crate::accounting::{ContextEstimate, Tally, tally};
use crate::entry::{Entry, EntryKind, EntryTag};
use crate::error::SessionError;
use crate::id::EntryId;
use crate::session::Session;
use crate::tree::Node;
use crate::visible::VisiblePath;

/// Estimates the context at a session's leaf as [`estimate_context`](crate::estimate_context) does, and reads for it
/// the entries that were appended since it was asked last.
///
/// After a compaction, an edit or a move to another branch it reads what the context is made of.
///
/// ```
/// use wb_message::Message;
/// use wb_session::{ContextGauge, IdSource, NewSession, Session, store::memory::MemoryStore};
///
/// let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
/// let mut session = Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(7))?;
/// let mut gauge = ContextGauge::default();
/// session.append(&Message::user("a".repeat(400)).into(), 1)?;
/// assert_eq!(gauge.read(&session)?.tokens, 100);
/// session.append(&Message::user("b".repeat(40)).into(), 2)?;
/// assert_eq!(gauge.read(&session)?.tokens, 110);
/// # Ok::<(), wb_session::SessionError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ContextGauge {
    /// The leaf that the tally reaches to.
    leaf: Option<EntryId>,
    tally: Tally,
}

impl ContextGauge {
    /// Returns the estimate at a session's leaf; always ask with the same session.
    pub fn read(&mut self, session: &Session) -> Result<ContextEstimate, SessionError> {
        let Some(leaf) = session.leaf() else {
            *self = Self::default();
            return Ok(self.tally.estimate);
        };
        self.tally = match self.appended(session, leaf) {
            Some(nodes) => self.continued(session, &nodes)?,
            None => anew(session, leaf)?,
        };
        self.leaf = Some(leaf.clone());
        Ok(self.tally.estimate)
    }

    /// Returns the entries after the one that was the leaf, newest first; nothing where they do not only add to the
    /// context that was.
    fn appended<'a>(&self, session: &'a Session, leaf: &EntryId) -> Option<Vec<&'a Node>> {
        let (tree, known) = (session.tree(), self.leaf.as_ref()?);
        let mut nodes = Vec::new();
        let mut at = leaf;
        while at != known {
            let node = tree.node(at)?;
            let is_break = matches!(node.tag, EntryTag::Compaction | EntryTag::ContextEdit);
            if is_break || nodes.len() == tree.nodes().len() {
                return None;
            }
            nodes.push(node);
            at = node.parent_id.as_ref()?;
        }
        Some(nodes)
    }

    fn continued(&self, session: &Session, nodes: &[&Node]) -> Result<Tally, SessionError> {
        let (mut tally, visible) = (self.tally, VisiblePath::of(&[]));
        for node in nodes.iter().rev().filter(|node| node.tag.is_visible()) {
            tally.take(&visible, &session.entry(&node.id)?, true);
        }
        Ok(tally)
    }
}

/// Reads what the context at a leaf is made of: from what the last compaction kept on.
fn anew(session: &Session, leaf: &EntryId) -> Result<Tally, SessionError> {
    let path = session.tree().path(Some(leaf))?;
    let compaction = path.iter().rposition(|node| node.tag == EntryTag::Compaction);
    let mut from = 0;
    if let Some(at) = compaction {
        from = at;
        if let EntryKind::Compaction(it) = session.entry(&path[at].id)?.kind {
            let kept = path[..at].iter().position(|node| Some(&node.id) == it.first_kept_entry_id.as_ref());
            from = kept.unwrap_or(at);
        }
    }
    let entries = path[from..].iter().map(|node| session.entry(&node.id));
    let entries = entries.collect::<Result<Vec<Entry>, _>>()?;
    Ok(tally(&entries.iter().collect::<Vec<_>>()))
}
