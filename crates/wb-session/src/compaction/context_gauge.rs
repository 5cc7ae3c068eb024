//! The estimate of a context that follows a session, so that asking again reads only what is new.

use wb_budget::TokenCounter;

use super::accounting::{ContextEstimate, Tally, tally};
use super::context_view::VisiblePath;
use crate::error::SessionError;
use crate::id::EntryId;
use crate::session::Session;

/// Estimates the context at a session's leaf as [`estimate_context`](crate::estimate_context) does, and reads for it
/// the entries that were appended since it was asked last.
///
/// After a compaction, an edit or a move to another branch it reads what the context is made of.
///
/// ```
/// use wb_budget::TokenHeuristic;
/// use wb_message::Message;
/// use wb_session::{ContextGauge, IdSource, NewSession, Session, store::memory::MemoryStore};
///
/// let begin = NewSession { id: "s".into(), timestamp: 0, cwd: "/".into(), parent_session: None };
/// let mut session = Session::create(Box::new(MemoryStore::default()), &begin, IdSource::new(7))?;
/// let mut gauge = ContextGauge::default();
/// session.append(&Message::user("a".repeat(360)).into(), 1)?;
/// assert_eq!(gauge.read(&session, &TokenHeuristic::DEFAULT)?.tokens, 6 + 100);
/// session.append(&Message::user("b".repeat(36)).into(), 2)?;
/// assert_eq!(gauge.read(&session, &TokenHeuristic::DEFAULT)?.tokens, 6 + 100 + 6 + 10);
/// # Ok::<(), wb_session::SessionError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ContextGauge {
    /// The leaf that the tally reaches to.
    leaf: Option<EntryId>,
    tally: Tally,
}

impl ContextGauge {
    /// Returns the estimate at a session's leaf; always ask with the same session and the same counter.
    pub fn read(
        &mut self,
        session: &Session,
        counter: &dyn TokenCounter,
    ) -> Result<ContextEstimate, SessionError> {
        let Some(leaf) = session.leaf() else {
            *self = Self::default();
            return Ok(self.tally.estimate);
        };
        self.tally = match self.appended(session, leaf) {
            Some(places) => self.continued(session, &places, counter)?,
            None => anew(session, leaf, counter)?,
        };
        self.leaf = Some(leaf.clone());
        Ok(self.tally.estimate)
    }

    /// Returns the places of the entries after the one that was the leaf, newest first; nothing if they do not only
    /// add to the context that was.
    fn appended(&self, session: &Session, leaf: &EntryId) -> Option<Vec<usize>> {
        let tree = session.tree();
        let known = tree.place(self.leaf.as_ref()?.as_str())?;
        let mut places = Vec::new();
        for at in tree.up(tree.place(leaf.as_str())?) {
            if at == known {
                return Some(places);
            }
            if tree.tag(at).changes_prompt() {
                return None;
            }
            places.push(at);
        }
        None
    }

    fn continued(
        &self,
        session: &Session,
        places: &[usize],
        counter: &dyn TokenCounter,
    ) -> Result<Tally, SessionError> {
        let (mut tally, visible, mut buffer) = (self.tally, VisiblePath::of(&[]), Vec::new());
        for at in places.iter().rev().filter(|at| session.tree().tag(**at).is_visible()) {
            let entry = session.read(*at, &mut buffer)?;
            if let Some(tokens) = visible.weigh(&entry, counter) {
                tally.take(tokens, &entry, true);
            }
        }
        Ok(tally)
    }
}

/// Reads what the context at a leaf is made of: from what the last compaction kept on.
fn anew(session: &Session, leaf: &EntryId, counter: &dyn TokenCounter) -> Result<Tally, SessionError> {
    let entries = session.entries_in_reach(Some(leaf))?;
    Ok(tally(&entries.iter().collect::<Vec<_>>(), counter))
}
