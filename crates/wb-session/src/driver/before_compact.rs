//! The hooks of a compaction: what they are given, and which of their answers count.

use tokio_util::sync::CancellationToken;
use wb_budget::Usage;
use wb_message::markers::{digest_body, is_synthetic};
use wb_message::{Message, Pairing};

use super::hooks::{BeforeCompact, CompactionReason, HookCompaction, HookList, SessionBeforeCompactEvent};
use crate::document2::CompactionPreparation;
use crate::document2::compaction_result::{CompactError, CompactionOutcome, SummarySource};
use crate::document2::files::{FileOps, split_file_tags};
use crate::document2::settings::CompactionSettings;
use crate::entry::Entry;
use crate::error::SessionError;
use crate::id::EntryId;

/// The reasons why a session stays unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DriverError {
    /// A hook did not want it.
    #[error("a hook cancelled it")]
    CancelledByHook,
    /// There is no summary.
    #[error(transparent)]
    Compact(#[from] CompactError),
    /// The session could not be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
}

impl DriverError {
    pub(crate) fn cancelled() -> Self {
        Self::Compact(CompactError::Cancelled { usage: Usage::EMPTY })
    }

    /// Returns whether the user or a hook did not want it.
    pub fn is_abort(&self) -> bool {
        matches!(self, Self::CancelledByHook | Self::Compact(CompactError::Cancelled { .. }))
    }
}

/// A transcript before its compaction, with the place at which the engine cuts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned<'a> {
    pub(crate) messages: &'a [Message],
    /// The entry of each message.
    pub(crate) entries: &'a [EntryId],
    /// The first message that stays.
    pub(crate) cut: usize,
    pub(crate) context_tokens: u64,
}

impl Planned<'_> {
    /// Returns the plan in the words of document 2; nothing where no entry stays.
    pub(crate) fn preparation(
        &self,
        file_ops: FileOps,
        settings: CompactionSettings,
    ) -> Option<CompactionPreparation> {
        let first_kept_entry_id = self.entries.get(self.cut)?.clone();
        let head = &self.messages[..self.cut];
        let previous_summary = head.iter().rev().find_map(digest_body);
        let previous_summary = previous_summary.map(|text| split_file_tags(&text).0.to_owned());
        let is_split_turn = !starts_turn(&self.messages[self.cut]) && head.iter().any(starts_turn);
        let turn_start = head.iter().rposition(starts_turn).filter(|_| is_split_turn).unwrap_or(self.cut);
        let said = |messages: &[Message]| -> Vec<Message> {
            messages.iter().filter(|message| digest_body(message).is_none()).cloned().collect()
        };
        Some(CompactionPreparation {
            first_kept_entry_id,
            messages_to_summarize: said(&head[..turn_start]),
            turn_prefix_messages: said(&head[turn_start..]),
            is_split_turn,
            tokens_before: self.context_tokens,
            previous_summary,
            file_ops,
            settings,
        })
    }

    /// Accepts a hook's compaction that has text, keeps an entry of the context at which it can be
    /// cut, and does not enlarge the context as `weigh` measures it.
    fn checked(&self, made: &HookCompaction, weigh: &dyn Fn(&Message) -> u64) -> Result<(), String> {
        if made.summary.trim().is_empty() {
            return Err("the summary is blank".to_owned());
        }
        let at = self.entries.iter().position(|entry| *entry == made.first_kept_entry_id);
        let pairing = Pairing::new(self.messages);
        let can_be_kept = |at: &usize| {
            let message = &self.messages[*at];
            pairing.is_legal(*at)
                && !matches!(message, Message::ToolResult { .. })
                && digest_body(message).is_none()
        };
        let Some(at) = at.filter(can_be_kept) else {
            return Err(format!("the session cannot be cut at entry {}", made.first_kept_entry_id));
        };
        let digest = Message::CompactionSummary { summary: made.summary.clone(), tokens_before: 0 };
        let replaced: u64 = self.messages[..at].iter().map(weigh).fold(0, u64::saturating_add);
        if weigh(&digest) > replaced {
            return Err("the summary is heavier than what it replaces".to_owned());
        }
        Ok(())
    }
}

/// Returns whether a turn begins with a message: anything but an answer, a result and a digest.
fn starts_turn(message: &Message) -> bool {
    !matches!(message, Message::Assistant { .. } | Message::ToolResult { .. }) && !is_synthetic(message)
}

/// A compaction that hooks are asked about.
#[derive(Debug)]
pub(crate) struct Question<'a> {
    pub(crate) planned: Planned<'a>,
    pub(crate) preparation: CompactionPreparation,
    pub(crate) branch_entries: Vec<Entry>,
    pub(crate) custom_instructions: Option<String>,
    pub(crate) signal: CancellationToken,
    pub(crate) reason: CompactionReason,
}

/// Asks hooks about a compaction; nothing where the engine makes it.
pub(crate) async fn ask_hooks(
    hooks: &mut HookList,
    question: Question<'_>,
    weigh: &(dyn Fn(&Message) -> u64 + Sync),
) -> Result<Option<CompactionOutcome>, DriverError> {
    let Question { planned, preparation, branch_entries, custom_instructions, signal, reason } = question;
    let will_retry = reason == CompactionReason::Overflow;
    let event = SessionBeforeCompactEvent {
        preparation,
        branch_entries,
        custom_instructions,
        signal,
        reason,
        will_retry,
    };
    let judge = |answer| match answer {
        BeforeCompact::Proceed => Ok(None),
        BeforeCompact::Cancel => Ok(Some(None)),
        BeforeCompact::Replace(made) => planned.checked(&made, weigh).map(|()| Some(Some(made))),
    };
    let ask = ("session_before_compact", &event);
    let answer =
        hooks.first(ask, &event.signal, |hooks, event| hooks.session_before_compact(event), judge).await;
    let made = match answer {
        Err(_) => return Err(DriverError::cancelled()),
        Ok(Some(None)) => return Err(DriverError::CancelledByHook),
        Ok(None) => return Ok(None),
        Ok(Some(Some(made))) => made,
    };
    let HookCompaction { summary, first_kept_entry_id, tokens_before, details } = made;
    Ok(Some(CompactionOutcome {
        summary,
        first_kept_entry_id,
        tokens_before,
        details,
        usage: Usage::EMPTY,
        n_requests: 0,
        source: SummarySource::Hook,
    }))
}
