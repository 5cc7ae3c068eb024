//! The view of a stored, append-only log.

use super::message::{CompactionMark, ThreadMessage};
use super::repair::strip_unpaired_tool_calls_from_view;

/// Reads a log of records, numbered from 1: each stored summary with a mark replaces its range; a
/// range within another is dropped with its summary. Then [`strip_unpaired_tool_calls_from_view`]
/// removes unpaired calls.
///
/// Fault: of two summaries of the same range the older wins. Use `Document::view` of `wb-record`.
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

/// Returns the marks within no other one, each with the index of its summary, in the order of their
/// starts.
fn outermost(log: &[ThreadMessage]) -> Vec<(CompactionMark, usize)> {
    let marked = log.iter().enumerate().filter_map(|(at, message)| Some((message.mark?, at)));
    let mut marks: Vec<_> = marked.collect();
    // The sort is stable: of equal ranges the older comes first and contains the newer.
    marks.sort_by_key(|(mark, _)| (mark.from_seq, std::cmp::Reverse(mark.to_seq)));
    let mut reached = 0;
    marks.retain(|(mark, _)| {
        let is_outermost = mark.to_seq > reached;
        reached = reached.max(mark.to_seq);
        is_outermost
    });
    marks
}
