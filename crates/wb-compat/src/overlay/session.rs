//! The loops of a session, their compaction and rendering.

use wb_message::Message;

use super::block::{
    BlockCompactionStrategy, CompactionBlock, CompactionConfig, CompactionScope, LoopMessage, TurnMap,
};
use crate::three_level::message_tokens;

/// One run of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopRecord {
    /// The loop's id.
    pub loop_id: String,
    /// The loop that it continues.
    pub parent_loop_id: Option<String>,
    /// Its messages.
    pub messages: Vec<LoopMessage>,
    /// The block, once it is compacted.
    pub compaction_block: Option<CompactionBlock>,
}

impl LoopRecord {
    /// Builds a loop without a block.
    pub fn new(loop_id: impl Into<String>, parent: Option<&str>, messages: Vec<LoopMessage>) -> Self {
        let parent_loop_id = parent.map(str::to_owned);
        Self { loop_id: loop_id.into(), parent_loop_id, messages, compaction_block: None }
    }

    fn raw_tokens(&self) -> usize {
        self.messages.iter().map(|it| message_tokens(&it.message)).sum()
    }

    /// Appends the rendered loop; messages newer than its block are left out.
    fn render(&self, is_current: bool, out: &mut Vec<Message>) {
        let Some(block) = &self.compaction_block else {
            return out.extend(self.messages.iter().map(|it| it.message.clone()));
        };
        if let Some(range) = block.keep_first.filter(|_| is_current) {
            let turns = TurnMap::from_messages(&self.messages);
            let first = turns.messages_for_range(&self.messages, range).iter();
            out.extend(first.map(|it| it.message.clone()));
        }
        let recent = block.keep_recent.as_ref().filter(|_| is_current);
        for section in block.keep_compacted.iter().chain(recent) {
            out.extend(section.messages.iter().cloned());
        }
    }
}

/// The loops of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Session {
    /// All loops, in any order.
    pub loops: Vec<LoopRecord>,
}

impl Session {
    fn position(&self, loop_id: &str) -> Option<usize> {
        self.loops.iter().position(|record| record.loop_id == loop_id)
    }

    /// Returns the ids from the first ancestor to this loop; an unknown id starts a chain.
    ///
    /// A cycle ends before it repeats; the published function does not terminate.
    pub fn loop_chain_to(&self, loop_id: &str) -> Vec<String> {
        let mut chain = vec![loop_id.to_owned()];
        while let Some(parent) = chain.last().and_then(|id| self.parent(id)) {
            if chain.iter().any(|id| id == parent) {
                break;
            }
            chain.push(parent.to_owned());
        }
        chain.reverse();
        chain
    }

    fn parent(&self, loop_id: &str) -> Option<&str> {
        self.loops[self.position(loop_id)?].parent_loop_id.as_deref()
    }

    /// Returns the indices of the loops in scope, the current one last; `None` for an unknown loop.
    fn in_scope(&self, current: &str, config: &CompactionConfig, max_tokens: usize) -> Vec<Option<usize>> {
        let mut chain = self.loop_chain_to(current);
        let n_older = chain.len() - 1;
        let n_wanted = match config.compaction_scope {
            CompactionScope::FixedCount(n) => n,
            CompactionScope::TokenBudget => self.n_fitting(&chain[..n_older], max_tokens),
        };
        let scope = chain.split_off(n_older - n_wanted.min(n_older));
        scope.iter().map(|id| self.position(id)).collect()
    }

    /// Returns the number of the last loops whose raw messages fit.
    fn n_fitting(&self, older: &[String], max_tokens: usize) -> usize {
        let mut remaining = max_tokens;
        let fits = |id: &&String| {
            let tokens = self.position(id).map_or(0, |at| self.loops[at].raw_tokens());
            let left = remaining.checked_sub(tokens);
            remaining = left.unwrap_or(remaining);
            left.is_some()
        };
        older.iter().rev().take_while(fits).count()
    }
}

/// Compacts the current loop again, and each earlier loop in scope that has no block yet;
/// `max_tokens` is the budget of [`CompactionScope::TokenBudget`].
///
/// Fault: a loop keeps the block from when it was current, of which only the middle is rendered
/// later; a single loop that is too large hides all earlier ones. Use `History` of `wb-record`.
pub fn compact_session_loops(
    session: &mut Session,
    current: &str,
    strategy: &dyn BlockCompactionStrategy,
    config: &CompactionConfig,
    max_tokens: usize,
) {
    let mut scope = session.in_scope(current, config, max_tokens);
    let current = scope.pop().flatten();
    for at in scope.into_iter().flatten() {
        let record = &mut session.loops[at];
        if record.compaction_block.is_none() {
            record.compaction_block = Some(strategy.compact(&record.messages, config, false));
        }
    }
    if let Some(at) = current {
        let record = &mut session.loops[at];
        record.compaction_block = Some(strategy.compact(&record.messages, config, true));
    }
}

/// Renders the context for a model: the loops in scope, oldest first; `max_tokens` is the budget of
/// [`CompactionScope::TokenBudget`].
///
/// Fault: loops before the scope are left out without a mark, even if everything would fit, and the
/// result is not compared with a budget. Use `Document::view` of `wb-record`.
pub fn build_context_from_session(
    session: &Session,
    current: &str,
    config: &CompactionConfig,
    max_tokens: usize,
) -> Vec<Message> {
    let scope = session.in_scope(current, config, max_tokens);
    let mut context = Vec::new();
    for (at, n_after) in scope.iter().zip((0..scope.len()).rev()) {
        if let Some(at) = at {
            session.loops[*at].render(n_after == 0, &mut context);
        }
    }
    context
}
