//! Runs a compaction that was prepared, and appends what came of it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;
use wb_budget::TokenCounter;
use wb_invoke::ModelInvoker;

use crate::document2::compaction_result::{
    CompactError, CompactionOutcome, NO_PRIOR_HISTORY, SummarySource, TURN_CONTEXT,
};
use crate::document2::context_view::SESSION_PRESET;
use crate::document2::prompt::{Focus, SummaryTask};
use crate::document2::summarize::{Lighter, Piece, SummaryRun, lighter, tokens_of};
use crate::{Compaction, CompactionPreparation, EntryId, EntryKind, FileOps, Session, SessionError};

/// Options for [`compact`]; all are optional.
#[derive(Clone, Debug, Default)]
pub struct CompactOpts {
    /// The user's focus for the summary, cut to 8,000 bytes.
    pub custom_instructions: Option<String>,
    /// The most tokens of each reply; by default four fifths of the settings' reserve for the
    /// history and half of it for a turn's first part, as pi has it, and never more than the
    /// model's card allows or half of its window.
    pub max_output_tokens: Option<u64>,
    /// The time limit for the model, for each summary;
    /// [`DEFAULT_TIMEOUT`](wb_invoke::timer::DEFAULT_TIMEOUT) by default.
    pub timeout: Option<Duration>,
    /// Stops the run when cancelled.
    pub cancel: Option<CancellationToken>,
}

/// Summarizes a prepared compaction.
///
/// A split turn gets a separate summary, requested after that of the history; if there is no new
/// history, the previous summary is kept unchanged. A reply that failed, was refused, is blank, has
/// no headings or is no smaller than its material is rejected: the local digest replaces it, and
/// the outcome's source gives the reason. Of a truncated reply, the whole lines are used if they
/// have text under a heading. A cancelled run and one that would not make the context smaller are
/// errors. Sizes are those of [`SESSION_PRESET`].
///
/// [`SessionDriver::compact`](crate::SessionDriver::compact) compacts with the engine.
pub async fn compact(
    preparation: CompactionPreparation,
    invoker: Option<&dyn ModelInvoker>,
    opts: CompactOpts,
) -> Result<CompactionOutcome, CompactError> {
    let CompactOpts { custom_instructions, max_output_tokens, timeout, cancel } = opts;
    let counter = &SESSION_PRESET;
    let focus = Focus { instructions: custom_instructions, replaces: false };
    let mut run = SummaryRun::new(invoker, focus, timeout, cancel);
    if preparation.messages_to_summarize.is_empty() && preparation.turn_prefix_messages.is_empty() {
        return Err(CompactError::Nothing);
    }
    if run.is_cancelled() {
        return Err(run.cancelled());
    }
    let summary = merged(&mut run, &preparation, max_output_tokens).await?;
    let CompactionPreparation { mut messages_to_summarize, turn_prefix_messages, previous_summary, .. } =
        preparation;
    let messages = [&messages_to_summarize, &turn_prefix_messages];
    let before = messages.map(|it| tokens_of(it, counter)).into_iter().fold(0, u64::saturating_add);
    let (before, tags) = weighed(before, previous_summary.as_deref(), &preparation.file_ops, counter);
    let all = || {
        messages_to_summarize.extend(turn_prefix_messages);
        messages_to_summarize
    };
    let Lighter { mut summary, source } =
        lighter(&run, counter, summary, before, all, previous_summary.as_deref())?;
    summary.push_str(&tags);
    Ok(CompactionOutcome {
        summary,
        first_kept_entry_id: preparation.first_kept_entry_id,
        tokens_before: preparation.tokens_before,
        details: serde_json::to_value(preparation.file_ops.lists()).ok(),
        usage: run.cost.usage,
        n_requests: run.cost.n_requests,
        source,
    })
}

/// Returns the number of tokens that the text of a summary has to stay below, and the lists that
/// follow it. Lists that an earlier summary has as well do not count.
fn weighed(
    messages: u64,
    previous: Option<&str>,
    file_ops: &FileOps,
    counter: &dyn TokenCounter,
) -> (u64, String) {
    let tags = file_ops.tags();
    let before = match previous {
        Some(previous) => messages.saturating_add(counter.text(previous)),
        None => messages.saturating_sub(counter.text(&tags)),
    };
    (before, tags)
}

/// Summarizes the history, and a turn's first part after it.
async fn merged(
    run: &mut SummaryRun<'_>,
    preparation: &CompactionPreparation,
    max_output_tokens: Option<u64>,
) -> Result<String, CompactError> {
    let CompactionPreparation { messages_to_summarize: history, turn_prefix_messages: prefix, .. } =
        preparation;
    let reserve = preparation.settings.reserve_tokens;
    let previous = preparation.previous_summary.as_deref();
    let history = if history.is_empty() {
        previous.unwrap_or(NO_PRIOR_HISTORY).to_owned()
    } else {
        let max_output_tokens = max_output_tokens.unwrap_or(reserve - reserve.div_ceil(5));
        run.summarize(Piece { task: SummaryTask::History, messages: history, previous, max_output_tokens })
            .await?
    };
    if prefix.is_empty() {
        return Ok(history);
    }
    let max_output_tokens = max_output_tokens.unwrap_or(reserve / 2);
    let task = SummaryTask::TurnPrefix;
    let mut prefix =
        run.summarize(Piece { task, messages: prefix, previous: None, max_output_tokens }).await?;
    if history != NO_PRIOR_HISTORY {
        // The first request of the turn is not that of the session, of which there is a history.
        prefix = prefix.replacen("\n- First request:", "\n- Latest request:", 1);
    }
    Ok([&history, "\n\n---\n\n", TURN_CONTEXT, "\n\n", &prefix].concat())
}

/// Appends a compaction to its session and returns the entry's id; `timestamp_ms` counts from the
/// Unix epoch.
///
/// The session's leaf has to be on the path that the compaction was prepared from. An entry to keep
/// that is not on the path of the leaf is an error, and nothing is appended.
pub fn append_compaction(
    session: &mut Session,
    outcome: CompactionOutcome,
    timestamp_ms: i64,
) -> Result<EntryId, SessionError> {
    let CompactionOutcome { summary, first_kept_entry_id, tokens_before, details, source, .. } = outcome;
    let from_hook = source == SummarySource::Hook;
    let first_kept_entry_id = Some(first_kept_entry_id);
    let entry = Compaction { summary, first_kept_entry_id, tokens_before, details, from_hook };
    session.append(&EntryKind::Compaction(entry), timestamp_ms)
}
