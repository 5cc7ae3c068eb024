//! The points where a session may be cut, and the one that is chosen.

use std::ops::Range;

use wb_budget::TokenCounter;
use wb_message::Pairing;

use super::context_view::{VisiblePath, is_mute_failure, is_tool_result, logged_message, starts_turn};
use crate::entry::{Entry, EntryKind};

/// The cut of a range of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CutPoint {
    /// The place of the first entry that is kept; it gives a message, or is the start of the range.
    pub first_kept_entry_index: usize,
    /// The place of the entry that starts the turn that is cut in two; none if the cut is at a
    /// turn's start.
    pub turn_start_index: Option<usize>,
    /// Splits a turn in two.
    pub is_split_turn: bool,
}

/// Finds the cut of a range of a path that keeps about the given tokens of recent messages.
///
/// The counts of `counter` are added up from the end until they reach `keep_recent_tokens`; the cut
/// is the first [place that can be cut](cut_candidates) at or after that entry, and the last one of
/// the range if only results follow. If everything fits, the cut is the first such place, and the
/// start of a range that has none. Entries without a message, such as labels, are never the cut.
///
/// A range that exceeds the path is shortened to it.
pub fn find_cut_point(
    path: &[&Entry],
    range: Range<usize>,
    keep_recent_tokens: u64,
    counter: &dyn TokenCounter,
) -> CutPoint {
    cut_projected(&VisiblePath::new(path), path, range, keep_recent_tokens, counter)
}

pub(crate) fn cut_projected(
    visible: &VisiblePath<'_>,
    path: &[&Entry],
    range: Range<usize>,
    keep_recent_tokens: u64,
    counter: &dyn TokenCounter,
) -> CutPoint {
    let range = range.start..range.end.min(path.len());
    let is_candidate = candidates(visible, path, range.clone());
    let whole =
        CutPoint { first_kept_entry_index: range.start, turn_start_index: None, is_split_turn: false };
    let weigh = |entry: &Entry| visible.weigh(entry, counter).unwrap_or(0);
    let cut = place(path, range.clone(), keep_recent_tokens, &is_candidate, weigh);
    let Some(cut) = cut else { return whole };
    let turn_start = if starts_turn(path[cut]) { None } else { turn_start(visible, path, cut, range.start) };
    CutPoint {
        first_kept_entry_index: cut,
        turn_start_index: turn_start,
        is_split_turn: turn_start.is_some(),
    }
}

/// Returns the place of the entry that starts the turn of the entry at `at`, not before `start`.
///
/// A turn starts with anything that gives a message and is neither an answer nor the result of a
/// tool.
pub fn find_turn_start(path: &[&Entry], at: usize, start: usize) -> Option<usize> {
    turn_start(&VisiblePath::new(path), path, at, start)
}

fn turn_start(visible: &VisiblePath<'_>, path: &[&Entry], at: usize, start: usize) -> Option<usize> {
    let is_start = |at: &usize| {
        let entry = path[*at];
        !matches!(entry.kind, EntryKind::Compaction(_)) && visible.is_visible(entry) && starts_turn(entry)
    };
    (start..path.len().min(at.saturating_add(1))).rev().find(is_start)
}

/// Returns the places of a range at which it can be cut: entries that give a message, except
/// compactions, results of tools and answers that failed without any text, if no later result
/// answers an earlier call and no earlier call still waits for its result.
pub fn cut_candidates(path: &[&Entry], range: Range<usize>) -> Vec<usize> {
    let range = range.start..range.end.min(path.len());
    let is_candidate = candidates(&VisiblePath::new(path), path, range.clone());
    range.zip(is_candidate).filter_map(|(at, is)| is.then_some(at)).collect()
}

/// Walks back until the budget is reached and returns the candidate that is nearest after that
/// place.
fn place(
    path: &[&Entry],
    range: Range<usize>,
    keep_recent_tokens: u64,
    is_candidate: &[bool],
    weigh: impl Fn(&Entry) -> u64,
) -> Option<usize> {
    let (start, mut sum, mut nearest) = (range.start, 0_u64, None);
    for at in range.rev() {
        if is_candidate[at - start] {
            nearest = Some(at);
        }
        let tokens = weigh(path[at]);
        sum = sum.saturating_add(tokens);
        if tokens > 0 && sum >= keep_recent_tokens {
            let last_before = || is_candidate[..at - start].iter().rposition(|is| *is).map(|at| at + start);
            return nearest.or_else(last_before);
        }
    }
    nearest
}

/// Returns for each entry of a range whether it can be cut there.
fn candidates(visible: &VisiblePath<'_>, path: &[&Entry], range: Range<usize>) -> Vec<bool> {
    let Some(entries) = path.get(range) else { return Vec::new() };
    let is_apart = |entry: &&&Entry| {
        !matches!(entry.kind, EntryKind::Compaction(_)) && !is_tool_result(entry) && !is_mute_failure(entry)
    };
    let is_whole = whole_places(visible, entries);
    let places = entries.iter().zip(is_whole);
    places.map(|(entry, is)| is && is_apart(&entry) && visible.is_visible(entry)).collect()
}

/// Returns for each entry whether no pair of a call and its result lies across the cut before it.
///
/// The calls of the last answer that no result answers are in flight, unless it failed; nothing is
/// cut after them.
fn whole_places(visible: &VisiblePath<'_>, entries: &[&Entry]) -> Vec<bool> {
    let shown = entries.iter().enumerate().filter(|(_, entry)| visible.is_visible(entry));
    let (places, messages): (Vec<_>, Vec<_>) =
        shown.filter_map(|(at, entry)| Some((at, logged_message(entry)?))).unzip();
    let pairing = Pairing::new(&messages);
    // How many more pairs lie across the cut before an entry than across the one before.
    let mut change = vec![0_i64; entries.len() + 1];
    for pair in pairing.pairs() {
        change[places[pair.call.message as usize] + 1] += 1;
        change[places[pair.result as usize] + 1] -= 1;
    }
    if let Some(answer) = pairing.in_flight().map(|at| places[at]).filter(|at| !is_failure(entries[*at])) {
        change[answer + 1] += 1;
    }
    let mut n_across = 0;
    let is_whole = change.into_iter().take(entries.len()).map(|change| {
        n_across += change;
        n_across == 0
    });
    is_whole.collect()
}

fn is_failure(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Message(logged) => {
            logged.request.as_ref().is_some_and(|request| request.stop_reason.is_failure())
        }
        _ => false,
    }
}
