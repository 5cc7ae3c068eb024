//! Results of tools that are too large for the window, shortened in the context; the log keeps them whole.

use wb_message::markers::CLIP_MARK;
use wb_message::{Block, Content, Message, text};
use wb_session::{
    ContextEdit, EntryId, EntryKind, EntryTag, Replacement, SESSION_TARIFF, Session, SessionError,
    estimate_tokens,
};

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

/// Shorter than this no result tells anything.
pub const MIN_RESULT_TOKENS: u64 = 64;

impl Shortening {
    /// Finds results to shorten in the context at `end`, the largest first, until `excess_tokens` are saved.
    ///
    /// Results of up to `max_tokens`, and of up to [`MIN_RESULT_TOKENS`], stay as they are, and what is shortened is
    /// brought down to that. Nothing where there is none that is larger.
    pub(crate) fn find(
        session: &Session,
        end: Option<&EntryId>,
        reason: CompactionReason,
        max_tokens: u64,
        excess_tokens: u64,
    ) -> Result<Option<Self>, SessionError> {
        let max_tokens = max_tokens.max(MIN_RESULT_TOKENS);
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

    /// Appends the edits and returns how many there are; on an error the leaf is where it was.
    pub(crate) fn append(self, session: &mut Session, timestamp_ms: i64) -> Result<usize, HostError> {
        let leaf = session.leaf().cloned();
        self.place.enter(session, &[EntryTag::Compaction, EntryTag::ContextEdit])?;
        for edit in &self.edits {
            let appended = session.append(&EntryKind::ContextEdit(edit.clone()), timestamp_ms);
            if let (Err(_), Some(leaf)) = (&appended, &leaf) {
                session.branch(leaf)?;
            }
            appended?;
        }
        Ok(self.edits.len())
    }
}

/// Returns the blocks of a result with the start and the end of its text, at most about so many tokens, and what they
/// are estimated at; none where that is no less.
///
/// Where there are several texts, those in the middle go first.
fn shortened(message: &Message, max_tokens: u64) -> Option<(Vec<Block>, u64)> {
    let blocks = message.blocks();
    let n_bytes: usize = blocks.iter().filter_map(Block::as_text).map(str::len).sum();
    let max_bytes = usize::try_from(max_tokens.saturating_mul(4)).unwrap_or(usize::MAX);
    let room = max_bytes.saturating_sub(CLIP_MARK.len());
    if n_bytes <= max_bytes {
        return None;
    }
    let (start, end) = (room - room / 3, n_bytes - room / 3);
    let (mut shorter, mut before, mut is_marked) = (Vec::new(), 0, false);
    for block in blocks {
        let Block::Text { text } = block else {
            shorter.push(block.clone());
            continue;
        };
        let head = text::head(text, start.saturating_sub(before));
        before += text.len();
        let tail = text::tail(&text[head.len()..], before.saturating_sub(end));
        let is_whole = head.len() + tail.len() == text.len();
        let mark = if is_whole || is_marked { "" } else { CLIP_MARK };
        is_marked |= !is_whole;
        let text = [head, mark, tail].concat();
        shorter.extend((!text.is_empty()).then_some(Block::Text { text }));
    }
    let tokens = SESSION_TARIFF.blocks_tokens(&shorter);
    (tokens < estimate_tokens(message)).then_some((shorter, tokens))
}
