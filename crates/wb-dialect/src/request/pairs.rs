//! Pairs calls with results by the dialect's placement rules.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::{Kind, Part, RequestView, Role};
use crate::call_ids::is_distinctive;
use crate::dialect::Dialect;

/// The position of a part: the index of its message, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
        open: Vec<Spot>,
        found: Vec<Spot>,
        (calls, results): (&mut Vec<Spot>, &mut Vec<Spot>),
    ) {
        let mut open = OpenCalls::new(view, open);
        for result in found {
            match open.answer(view.part(result)) {
                Some((call, true)) => self.answered.push((call, result)),
                Some((_, false)) => self.repeated.push(result),
                None => results.push(result),
            }
        }
        calls.extend(open.rest());
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
    fn pair_nearby(&mut self, view: &RequestView<'_>, calls: &[Spot], results: Vec<Spot>) {
        let answer = answers_before(view);
        let mut known: HashMap<&str, usize> = HashMap::new();
        view.calls().for_each(|(_, id, ..)| *known.entry(id).or_default() += 1);
        let mut by_answer: HashMap<usize, Vec<Spot>> = HashMap::new();
        for result in results {
            by_answer.entry(answer[result.message]).or_default().push(result);
        }
        for calls in calls.chunk_by(|one, next| answer[one.message] == answer[next.message]) {
            let mut near = by_answer.remove(&answer[calls[0].message]).unwrap_or_default();
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
        self.orphans.extend(by_answer.into_values().flatten());
        self.orphans.sort_unstable();
    }
}

/// The calls of an answer, by what a result may name them.
struct OpenCalls<'a> {
    /// Each call, and whether it has no result yet.
    calls: Vec<(Spot, bool)>,
    /// Calls by their id.
    by_id: HashMap<&'a str, Places>,
    /// Calls without an id by their name.
    without_id: HashMap<&'a str, Places>,
    /// Calls by their name.
    by_name: HashMap<&'a str, Places>,
}

/// The indices of calls, and how many of them begin with an answered one.
#[derive(Default)]
struct Places {
    calls: Vec<usize>,
    n_answered: usize,
}

impl<'a> OpenCalls<'a> {
    fn new(view: &RequestView<'a>, calls: Vec<Spot>) -> Self {
        let (mut by_id, mut without_id, mut by_name) = (HashMap::new(), HashMap::new(), HashMap::new());
        let add = |map: &mut HashMap<&'a str, Places>, key, nth| {
            map.entry(key).or_default().calls.push(nth);
        };
        for (nth, call) in calls.iter().enumerate() {
            let Kind::Call { id, name, .. } = view.part(*call).kind else { continue };
            if id.is_empty() {
                add(&mut without_id, name, nth);
            } else {
                add(&mut by_id, id, nth);
            }
            add(&mut by_name, name, nth);
        }
        Self { calls: calls.into_iter().map(|call| (call, true)).collect(), by_id, without_id, by_name }
    }

    /// Returns the first call without a result that a result answers, else one that has a result;
    /// true if it had none.
    ///
    /// A result names its call by id, or by name if one of them has no id.
    fn answer(&mut self, result: &Part<'a>) -> Option<(Spot, bool)> {
        let Kind::Result { id, name } = result.kind else { return None };
        let mut named = Vec::new();
        if id.is_empty() {
            named.extend(self.by_name.get_mut(name).filter(|_| !name.is_empty()));
        } else {
            named.extend(self.by_id.get_mut(id));
            named.extend(self.without_id.get_mut(name).filter(|_| !name.is_empty()));
        }
        let calls = &mut self.calls;
        let open = named.iter_mut().filter_map(|places| places.first_open(calls)).min();
        if let Some(nth) = open {
            calls[nth].1 = false;
            return Some((calls[nth].0, true));
        }
        named.first().map(|places| (calls[places.calls[0]].0, false))
    }

    fn rest(self) -> impl Iterator<Item = Spot> {
        self.calls.into_iter().filter_map(|(call, is_open)| is_open.then_some(call))
    }
}

impl Places {
    fn first_open(&mut self, calls: &[(Spot, bool)]) -> Option<usize> {
        while self.calls.get(self.n_answered).is_some_and(|nth| !calls[*nth].1) {
            self.n_answered += 1;
        }
        self.calls.get(self.n_answered).copied()
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
