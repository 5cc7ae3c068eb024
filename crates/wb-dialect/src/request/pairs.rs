//! Pairs calls with results by the dialect's placement rules.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::{Kind, Part, RequestView, Role};
use crate::call_ids::is_distinctive;
use crate::dialect::Dialect;

/// The position of a part: the index of its message, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) message: usize,
    pub(crate) part: usize,
}

/// Calls and results of a request.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// Calls and the results that answer them, in the right place.
    pub(crate) answered: Vec<(Spot, Spot)>,
    /// Calls and their results in the wrong place.
    pub(crate) misplaced: Vec<(Spot, Spot)>,
    /// Calls and adjacent results that do not name them, where equally many of both are left.
    pub(crate) nameless: Vec<(Spot, Spot)>,
    /// Additional results of answered calls.
    pub(crate) repeated: Vec<Spot>,
    /// Calls without a result.
    pub(crate) unanswered: Vec<Spot>,
    /// Results without a call.
    pub(crate) orphans: Vec<Spot>,
}

impl Pairs {
    pub(super) fn new(view: &RequestView<'_>) -> Self {
        let mut pairs = Self::default();
        let (calls, results) = match view.dialect {
            Dialect::OpenaiResponses => pairs.pair_by_id(view),
            _ => pairs.pair_by_place(view),
        };
        pairs.find_misplaced(view, calls, results);
        pairs
    }

    /// Pairs by id alone; returns the remaining calls and results.
    fn pair_by_id(&mut self, view: &RequestView<'_>) -> (Vec<Spot>, Vec<Spot>) {
        let mut open: HashMap<&str, VecDeque<Spot>> = HashMap::new();
        let mut results = Vec::new();
        let mut known: HashMap<&str, Spot> = HashMap::new();
        for (spot, part) in view.parts() {
            match part.kind {
                Kind::Call { id, .. } => open.entry(id).or_default().push_back(spot),
                Kind::Result { id, .. } => match open.get_mut(id).and_then(VecDeque::pop_front) {
                    Some(call) => {
                        known.insert(id, call);
                        self.answered.push((call, spot));
                    }
                    None if known.contains_key(id) => self.repeated.push(spot),
                    None => results.push(spot),
                },
                _ => {}
            }
        }
        let mut calls: Vec<Spot> = open.into_values().flatten().collect();
        calls.sort_unstable();
        (calls, results)
    }

    /// Pairs the calls of each answer with results in the messages that may contain them; returns
    /// the remaining calls and results.
    fn pair_by_place(&mut self, view: &RequestView<'_>) -> (Vec<Spot>, Vec<Spot>) {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        let mut next = 0;
        for at in 0..view.messages.len() {
            let range = result_range(view, at);
            let calls_here = spots(view, at..at + 1, |kind| matches!(kind, Kind::Call { .. }));
            if calls_here.is_empty() {
                continue;
            }
            // Results before the range answer no call.
            results.extend(results_in(view, next..range.start));
            next = range.end.max(next);
            self.pair(view, calls_here, results_in(view, range), (&mut calls, &mut results));
        }
        results.extend(results_in(view, next..view.messages.len()));
        (calls, results)
    }

    fn pair(
        &mut self,
        view: &RequestView<'_>,
        mut open: Vec<Spot>,
        found: Vec<Spot>,
        (calls, results): (&mut Vec<Spot>, &mut Vec<Spot>),
    ) {
        let first = self.answered.len();
        for result in found {
            let is_its = |call: &Spot| answers(view.part(*call), view.part(result));
            match open.iter().position(is_its) {
                Some(nth) => self.answered.push((open.remove(nth), result)),
                None if self.answered[first..].iter().any(|(call, _)| is_its(call)) => {
                    self.repeated.push(result);
                }
                None => results.push(result),
            }
        }
        calls.extend(open);
    }

    /// Finds remaining results that are in the wrong place.
    fn find_misplaced(&mut self, view: &RequestView<'_>, calls: Vec<Spot>, results: Vec<Spot>) {
        let mut by_id: HashMap<&str, VecDeque<Spot>> = HashMap::new();
        let mut rest = Vec::new();
        for result in results {
            match view.part(result).kind {
                Kind::Result { id, .. } if !id.is_empty() => by_id.entry(id).or_default().push_back(result),
                _ => rest.push(result),
            }
        }
        let mut open = Vec::new();
        for call in calls {
            let Kind::Call { id, .. } = view.part(call).kind else { continue };
            match by_id.get_mut(id).and_then(VecDeque::pop_front) {
                Some(result) => self.misplaced.push((call, result)),
                None => open.push(call),
            }
        }
        rest.extend(by_id.into_values().flatten());
        rest.sort_unstable();
        self.pair_nearby(view, &open, rest);
    }

    /// Pairs remaining calls with results between their answer and the next one: by name, or by
    /// order where equally many of both are left.
    fn pair_nearby(&mut self, view: &RequestView<'_>, calls: &[Spot], mut results: Vec<Spot>) {
        let answer = answers_before(view);
        let mut known: HashMap<&str, usize> = HashMap::new();
        view.calls().for_each(|(_, id, ..)| *known.entry(id).or_default() += 1);
        for calls in calls.chunk_by(|one, next| answer[one.message] == answer[next.message]) {
            let is_near = |result: &mut Spot| answer[result.message] == answer[calls[0].message];
            let mut near: Vec<Spot> = results.extract_if(.., is_near).collect();
            let mut open = Vec::new();
            for call in calls {
                match near.iter().position(|result| answers(view.part(*call), view.part(*result))) {
                    Some(nth) => self.misplaced.push((*call, near.remove(nth))),
                    None => open.push(*call),
                }
            }
            let may_answer =
                |(call, result): (&Spot, &Spot)| may_answer(view.part(*call), view.part(*result), &known);
            if open.len() == near.len()
                && !view.continues_on_server()
                && open.iter().zip(&near).all(may_answer)
            {
                self.nameless.extend(open.into_iter().zip(near));
            } else {
                self.unanswered.extend(open);
                self.orphans.extend(near);
            }
        }
        self.orphans.extend(results);
        self.orphans.sort_unstable();
    }
}

/// Returns the number of answers that begin up to each message; adjacent model messages are one.
fn answers_before(view: &RequestView<'_>) -> Vec<usize> {
    let is_model = |at: usize| view.messages[at].role == Role::Model;
    let begins = |at: usize| is_model(at) && !at.checked_sub(1).is_some_and(is_model);
    let count = |n: &mut usize, at: usize| {
        *n += usize::from(begins(at));
        Some(*n)
    };
    (0..view.messages.len()).scan(0, count).collect()
}

/// Returns the range of messages that may contain the results of a message's calls.
fn result_range(view: &RequestView<'_>, at: usize) -> Range<usize> {
    let following = view.messages[at + 1..].iter();
    let n_messages = match view.dialect {
        Dialect::OpenaiChat => following.take_while(|message| message.role == Role::Tool).count(),
        _ => following.take(1).filter(|message| message.role == Role::User).count(),
    };
    at + 1..at + 1 + n_messages
}

fn results_in(view: &RequestView<'_>, messages: Range<usize>) -> Vec<Spot> {
    spots(view, messages, |kind| matches!(kind, Kind::Result { .. }))
}

fn spots(view: &RequestView<'_>, messages: Range<usize>, matches: impl Fn(&Kind<'_>) -> bool) -> Vec<Spot> {
    let matches = &matches;
    let each = messages.flat_map(|message| {
        let parts = view.messages[message].parts.iter().enumerate();
        parts.filter(move |(_, part)| matches(&part.kind)).map(move |(part, _)| Spot { message, part })
    });
    each.collect()
}

/// Returns whether a result that does not name a call may still answer it. Differing ids or names
/// belong to another, lost call. An id shared by several calls identifies none.
fn may_answer(call: &Part<'_>, result: &Part<'_>, known: &HashMap<&str, usize>) -> bool {
    let (Kind::Call { id, name, .. }, Kind::Result { id: result_id, name: result_name }) =
        (call.kind, result.kind)
    else {
        return false;
    };
    let is_doubled = known.get(id).is_some_and(|n| *n > 1);
    (is_doubled || !is_distinctive(id, name) || !is_distinctive(result_id, result_name))
        && (name.is_empty() || result_name.is_empty() || name == result_name)
}

/// Returns whether a result answers a call: by id, or by name if one of them has no id.
fn answers(call: &Part<'_>, result: &Part<'_>) -> bool {
    let (Kind::Call { id, name, .. }, Kind::Result { id: result_id, name: result_name }) =
        (call.kind, result.kind)
    else {
        return false;
    };
    id == result_id && !id.is_empty()
        || (id.is_empty() || result_id.is_empty()) && !result_name.is_empty() && name == result_name
}
