//! Where a summary stands in a transcript: put in place of older messages, and found again on load.

use wb_budget::{CompactionCut, TokenCounter};
use wb_message::markers::{conversation_summary, is_pinned, summary_text};
use wb_message::{Edit, Message, Patch, PatchError, Undo, Weighed, last_prompt_start, runs};

/// Puts a summary in place of what a cut takes away.
///
/// One patch: every range goes, older conversation summaries with it, and the summary stands in front of all that
/// stays but leading pinned messages, so before the latest prompt and the raw tail. A cut that reaches beyond the
/// transcript, a pair that it would split and a summary that is not lighter are refused; then nothing changes. Whether
/// the cut was made for this very transcript is the caller's to know.
pub fn apply_summary(
    messages: &mut Vec<Message>,
    cut: &CompactionCut,
    summary: &str,
    counter: &dyn TokenCounter,
) -> Result<Weighed, PatchError> {
    let summary = conversation_summary(summary);
    let added_tokens = counter.message(&summary);
    let undo = splice(messages, cut, summary)?;
    let removed_tokens =
        undo.folded().fold(0, |sum: u64, message| sum.saturating_add(counter.message(message)));
    if added_tokens >= removed_tokens {
        undo.revert(messages);
        return Err(PatchError::Heavier { removed_tokens, added_tokens });
    }
    Ok(Weighed { undo, removed_tokens, added_tokens })
}

/// As [`apply_summary`], for a summary that was weighed already.
pub(crate) fn splice(
    messages: &mut Vec<Message>,
    cut: &CompactionCut,
    summary: Message,
) -> Result<Undo, PatchError> {
    let front = messages.iter().take_while(|message| is_pinned(message)).count();
    let mut brought = vec![summary];
    let mut edits = Vec::with_capacity(cut.ranges.len() + 1);
    for range in cut.ranges.iter().cloned() {
        let with = if range.start == front { std::mem::take(&mut brought) } else { Vec::new() };
        edits.push(Edit::Fold { range, with });
    }
    if !brought.is_empty() {
        edits.push(Edit::Fold { range: front..front, with: brought });
    }
    Patch::new(edits).apply(messages)
}

/// Drops what the newest conversation summary stands for from a transcript that was loaded, and returns how many
/// messages went.
///
/// Everything before the summary goes but pinned messages. A summary never stands for the latest prompt: where no
/// prompt follows it, the turn of the last one before it stays too. Only a complete summary of our own that says
/// something counts; where a pair would be split, the transcript stays as it is. A second time does nothing.
pub fn trim_to_compaction_boundary(messages: &mut Vec<Message>) -> usize {
    let Some(summary) = messages.iter().rposition(says_something) else { return 0 };
    let from = last_prompt_start(messages).map_or(summary, |prompt| prompt.min(summary));
    let old = runs((0..from).filter(|&at| !is_pinned(&messages[at])));
    let n_before = messages.len();
    let folds = old.into_iter().map(|range| Edit::Fold { range, with: Vec::new() });
    let patch = Patch::new(folds.collect());
    // A refused patch leaves the transcript as it was.
    if patch.is_empty() || patch.apply(messages).is_err() {
        return 0;
    }
    n_before - messages.len()
}

fn says_something(message: &Message) -> bool {
    summary_text(message).is_some_and(|text| !text.is_empty())
}
