//! The plan of a session's compaction: the messages to summarize and those to keep.

use wb_budget::TokenCounter;
use wb_message::Message;

use super::accounting::estimate_context;
use super::context_view::{VisiblePath, compaction_of, is_mute_failure, kept_from, last_compaction};
use super::cut::{CutPoint, cut_projected};
use super::files::{FileOps, split_file_tags};
use super::settings::CompactionSettings;
use crate::entry::Entry;
use crate::id::EntryId;

/// The input for a summarizer, and the part that stays.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CompactionPreparation {
    /// The first entry that is kept; it gives a message.
    pub first_kept_entry_id: EntryId,
    /// The messages of complete turns, oldest first.
    pub messages_to_summarize: Vec<Message>,
    /// The first messages of the turn that is cut in two.
    pub turn_prefix_messages: Vec<Message>,
    /// Splits a turn in two.
    pub is_split_turn: bool,
    /// The tokens of the context before the compaction.
    pub tokens_before: u64,
    /// The text of the previous compaction without the lists of files, which are in `file_ops`;
    /// none if it is empty.
    pub previous_summary: Option<String>,
    /// The files of what is summarized and of all earlier summaries in it.
    pub file_ops: FileOps,
    /// The settings that it was prepared with.
    pub settings: CompactionSettings,
}

/// Prepares a compaction at the end of a path; none if the path ends with a compaction or
/// everything would be kept.
///
/// The messages that the previous compaction kept are included again, so that every message is in
/// the summary's input, in the kept tail or in an earlier summary. The settings' `enabled` is
/// ignored. `counter` measures the kept messages; [`SESSION_PRESET`](crate::SESSION_PRESET) is that
/// of the recorded answers.
pub fn prepare_compaction(
    path: &[&Entry],
    settings: &CompactionSettings,
    counter: &dyn TokenCounter,
) -> Option<CompactionPreparation> {
    let previous = last_compaction(path);
    if previous.is_some_and(|at| at + 1 == path.len()) {
        return None;
    }
    let visible = VisiblePath::new(path);
    let is_kind = |entry: &&Entry| compaction_of(entry).is_none();
    let entries: Vec<&Entry> = path.get(kept_from(path)..)?.iter().copied().filter(is_kind).collect();
    let cut = cut_projected(&visible, &entries, 0..entries.len(), settings.keep_recent_tokens, counter);
    let tokens_before = estimate_context(path, counter).tokens;
    prepared(path, &visible, &entries, cut, settings, tokens_before)
}

fn prepared(
    path: &[&Entry],
    visible: &VisiblePath<'_>,
    entries: &[&Entry],
    cut: CutPoint,
    settings: &CompactionSettings,
    tokens_before: u64,
) -> Option<CompactionPreparation> {
    let kept = cut.first_kept_entry_index;
    let (head, prefix) = entries.get(..kept)?.split_at(cut.turn_start_index.unwrap_or(kept).min(kept));
    let messages = |entries: &[&Entry]| -> Vec<Message> {
        entries.iter().filter_map(|entry| visible.message(entry)).collect()
    };
    let says_something = |entry: &&Entry| visible.is_visible(entry) && !is_mute_failure(entry);
    if !entries[..kept].iter().any(says_something) {
        return None;
    }
    let (messages_to_summarize, turn_prefix_messages) = (messages(head), messages(prefix));
    let mut file_ops = FileOps::default();
    let previous = last_compaction(path).map(|at| path[at]);
    let previous_summary = previous.and_then(|entry| previous_summary(entry, &mut file_ops));
    for entry in &entries[..kept] {
        file_ops.note_summary(entry);
        if let Some(message) = visible.visible_message(entry) {
            file_ops.note_calls(message);
        }
    }
    Some(CompactionPreparation {
        first_kept_entry_id: entries.get(kept)?.id.clone(),
        messages_to_summarize,
        is_split_turn: cut.is_split_turn,
        turn_prefix_messages,
        tokens_before,
        previous_summary,
        file_ops,
        settings: *settings,
    })
}

/// Returns the text of the previous compaction and adds its files; an extension's text is used
/// unchanged.
fn previous_summary(entry: &Entry, file_ops: &mut FileOps) -> Option<String> {
    let compaction = compaction_of(entry)?;
    let mut text = compaction.summary.as_str();
    if !compaction.from_hook {
        let (rest, tagged) = split_file_tags(text);
        file_ops.note_tagged(&tagged);
        text = rest;
    }
    file_ops.note_summary(entry);
    (!text.is_empty()).then(|| text.to_owned())
}
