//! Results of tools that are too large for the window, shortened in the context; the log keeps them whole.

use wb_budget::{TokenCounter, TokenHeuristic};
use wb_message::markers::CLIP_MARK;
use wb_message::{Block, Content, Message, text};
use wb_session::{ContextEdit, EntryId, EntryKind, EntryTag, Replacement, Session, SessionError};

use crate::compaction_job::{HostError, Place};
use crate::hooks::CompactionReason;

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
    /// brought down to that. Nothing if there is none that is larger.
    pub(crate) fn find(
        session: &Session,
        end: Option<&EntryId>,
        reason: CompactionReason,
        max_tokens: u64,
        excess_tokens: u64,
        counter: &dyn TokenCounter,
    ) -> Result<Option<Self>, SessionError> {
        let max_tokens = max_tokens.max(MIN_RESULT_TOKENS);
        let context = session.context(end)?;
        let results = context.messages.iter().zip(&context.entries).filter_map(|(message, entry)| {
            let is_result = matches!(message, Message::ToolResult { .. });
            let tokens = is_result.then(|| counter.message(message)).filter(|tokens| *tokens > max_tokens)?;
            Some((tokens, message, entry))
        });
        let mut results: Vec<_> = results.collect();
        results.sort_by_key(|(tokens, ..)| std::cmp::Reverse(*tokens));
        let (mut edits, mut saved) = (Vec::new(), 0_u64);
        for (tokens, message, entry) in results {
            if saved >= excess_tokens {
                break;
            }
            let Some((blocks, after)) = shortened(message, max_tokens, counter) else { continue };
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

    /// Returns whether a request that did not fit is to be repeated afterwards.
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

/// Returns the blocks of a result with the start and the end of its text, which is then at most so many tokens, and what
/// the result weighs with them; none if that is no less.
fn shortened(message: &Message, max_tokens: u64, counter: &dyn TokenCounter) -> Option<(Vec<Block>, u64)> {
    let of_texts = |blocks: &[Block]| {
        let texts = blocks.iter().filter_map(Block::as_text);
        texts.map(|text| counter.text(text)).fold(0, u64::saturating_add)
    };
    if of_texts(message.blocks()) <= max_tokens {
        return None;
    }
    // A character of several bytes costs more than the heuristic has it.
    let mut max_bytes = TokenHeuristic::DEFAULT.chars_within(max_tokens);
    let mut shorter = clipped(message.blocks(), max_bytes);
    while max_bytes > CLIP_MARK.len() && of_texts(&shorter) > max_tokens {
        max_bytes -= max_bytes.div_ceil(32);
        shorter = clipped(message.blocks(), max_bytes);
    }
    let after = with_content(message, shorter)?;
    let tokens = counter.message(&after);
    let Message::ToolResult { content, .. } = after else { return None };
    (tokens < counter.message(message)).then_some((content, tokens))
}

/// Returns a result with other content.
fn with_content(message: &Message, content: Vec<Block>) -> Option<Message> {
    let Message::ToolResult { tool_call_id, tool_name, is_error, .. } = message else { return None };
    let (tool_call_id, tool_name, is_error) = (tool_call_id.clone(), tool_name.clone(), *is_error);
    Some(Message::ToolResult { tool_call_id, tool_name, content, is_error })
}

/// Returns blocks with so many bytes of their text from its start and its end; of several texts, those in the middle go
/// first.
fn clipped(blocks: &[Block], max_bytes: usize) -> Vec<Block> {
    let n_bytes: usize = blocks.iter().filter_map(Block::as_text).map(str::len).sum();
    let room = max_bytes.saturating_sub(CLIP_MARK.len()).min(n_bytes);
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
    shorter
}
