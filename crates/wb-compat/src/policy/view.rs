//! What a stored, append-only log is read as.

use super::message::{CompactionMark, ThreadMessage};
use super::repair::strip_unpaired_tool_calls_from_view;

/// Reads a log of records, numbered from 1: each stored summary with a mark stands where its range begins, and what its
/// range covers is skipped; a range within another is dropped with its summary. Then unpaired calls are removed, by
/// [`strip_unpaired_tool_calls_from_view`].
///
/// Fault: of two summaries of the same range the older wins. Use the read view of `wb-session`, where the newest does.
pub fn effective_messages(log: &[ThreadMessage]) -> Vec<ThreadMessage> {
    let summaries = outermost(log);
    let mut view = Vec::with_capacity(log.len());
    for (message, seq) in log.iter().zip(1..) {
        let starts = summaries.iter().filter(|(mark, _)| mark.from_seq == seq);
        view.extend(starts.map(|(_, at)| log[*at].clone()));
        let is_covered = summaries.iter().any(|(mark, _)| (mark.from_seq..=mark.to_seq).contains(&seq));
        if message.mark.is_none() && !is_covered {
            view.push(message.clone());
        }
    }
    strip_unpaired_tool_calls_from_view(view)
}

/// Returns the marks that lie within no other, each with the index of its summary, in the order of their starts.
fn outermost(log: &[ThreadMessage]) -> Vec<(CompactionMark, usize)> {
    let marked = log.iter().enumerate().filter_map(|(at, message)| Some((message.mark?, at)));
    let mut marks: Vec<_> = marked.collect();
    // Stable, so that of equal ranges the older comes first and the newer lies within it.
    marks.sort_by_key(|(mark, _)| (mark.from_seq, std::cmp::Reverse(mark.to_seq)));
    let mut reached = 0;
    marks.retain(|(mark, _)| {
        let is_outermost = mark.to_seq > reached;
        reached = reached.max(mark.to_seq);
        is_outermost
    });
    marks
}
