//! Results of tools that are too large for the window, shortened in the context; the log keeps them whole.

use wb_message::{Block, Content, Message, text};
use wb_session::{ContextEdit, EntryId, EntryKind, Replacement, Session, SessionError, estimate_tokens};

use crate::hooks::CompactionReason;
use crate::job::{HostError, Place};

/// Edits that shorten results, ready to be appended.
///
/// Each stands for one result in the context with the head and the tail of its text. pi knows such edits since its
/// version 0.87; older ones show the whole result. Going to the entry before the edits takes them back.
#[derive(Debug)]
pub struct Shortening {
    edits: Vec<ContextEdit>,
    place: Place,
}

impl Shortening {
    /// Finds results to shorten in the context at `end`, the largest first, until `excess_tokens` are saved.
    ///
    /// Results of up to `max_tokens` stay as they are, and what is shortened is brought down to that. Nothing where
    /// there is none that is larger.
    pub(crate) fn find(
        session: &Session,
        end: Option<&EntryId>,
        reason: CompactionReason,
        max_tokens: u64,
        excess_tokens: u64,
    ) -> Result<Option<Self>, SessionError> {
        let context = session.context(end)?;
        let results = context.messages.iter().zip(&context.entries).filter_map(|(message, entry)| {
            let is_result = matches!(message, Message::ToolResult { .. });
            let tokens = is_result.then(|| estimate_tokens(message)).filter(|tokens| *tokens > max_tokens)?;
            Some((tokens, message, entry))
        });
        let mut results: Vec<_> = results.collect();
        results.sort_by_key(|(tokens, ..)| std::cmp::Reverse(*tokens));
        let (mut edits, mut saved) = (Vec::new(), 0_u64);
        for (tokens, message, entry) in results {
            if saved >= excess_tokens {
                break;
            }
            let Some((blocks, after)) = shortened(message, max_tokens) else { continue };
            saved = saved.saturating_add(tokens.saturating_sub(after));
            let replacement = Some(Replacement { content: Content::Blocks(blocks) });
            edits.push(ContextEdit { target_id: entry.clone(), replacement });
        }
        Ok((!edits.is_empty()).then(|| Self { edits, place: Place::new(session, end, reason) }))
    }

    /// Returns the entries whose results are shortened.
    pub fn entries(&self) -> impl Iterator<Item = &EntryId> {
        self.edits.iter().map(|edit| &edit.target_id)
    }

    /// Tells whether a request that did not fit is to be repeated afterwards.
    pub fn will_retry(&self) -> bool {
        self.place.will_retry()
    }

    /// Appends the edits and returns how many there are; on an error the leaf is where it was or after some of them.
    pub(crate) fn append(self, session: &mut Session, timestamp_ms: i64) -> Result<usize, HostError> {
        self.place.enter(session)?;
        for edit in &self.edits {
            session.append(&EntryKind::ContextEdit(edit.clone()), timestamp_ms)?;
        }
        Ok(self.edits.len())
    }
}

/// Returns the blocks of a result with its texts cut to a share of so many tokens, and what they are estimated at; none
/// where that is no less.
fn shortened(message: &Message, max_tokens: u64) -> Option<(Vec<Block>, u64)> {
    let blocks = message.blocks();
    let n_bytes: usize = blocks.iter().filter_map(Block::as_text).map(str::len).sum();
    let max_bytes = usize::try_from(max_tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    let share = |len: usize| (len as u128 * max_bytes as u128 / n_bytes.max(1) as u128) as usize;
    let shorter = blocks.iter().map(|block| match block {
        Block::Text { text } => Block::text(text::clip(text, share(text.len()))),
        other => other.clone(),
    });
    let shorter: Vec<Block> = shorter.collect();
    let mut after = message.clone();
    if let Message::ToolResult { content, .. } = &mut after {
        content.clone_from(&shorter);
    }
    let after = estimate_tokens(&after);
    (after < estimate_tokens(message)).then_some((shorter, after))
}
