//! Which result answers which call, by the place in which a dialect looks for it.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use super::{Asked, Kind, Part, Role};
use crate::call_ids::is_own;
use crate::dialect::Dialect;

/// Where a part stands: the message, and the part of it as it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) message: usize,
    pub(crate) part: usize,
}

/// Calls and results of a request.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// Calls with the results that answer them, in the place where they belong.
    pub(crate) answered: Vec<(Spot, Spot)>,
    /// Calls with results that stand elsewhere.
    pub(crate) misplaced: Vec<(Spot, Spot)>,
    /// Calls with the results next to them that do not name them, where as many of both are left.
    pub(crate) nameless: Vec<(Spot, Spot)>,
    /// Further results of calls that are answered.
    pub(crate) repeated: Vec<Spot>,
    /// Calls without a result.
    pub(crate) unanswered: Vec<Spot>,
    /// Results without a call.
    pub(crate) orphans: Vec<Spot>,
}

impl Pairs {
    pub(super) fn of(asked: &Asked<'_>) -> Self {
        let mut pairs = Self::default();
        let (calls, results) = match asked.dialect {
            Dialect::OpenaiResponses => pairs.by_id(asked),
            _ => pairs.by_place(asked),
        };
        pairs.settle(asked, calls, results);
        pairs
    }

    /// Pairs by id alone; returns what is left.
    fn by_id(&mut self, asked: &Asked<'_>) -> (Vec<Spot>, Vec<Spot>) {
        let mut open: HashMap<&str, VecDeque<Spot>> = HashMap::new();
        let mut results = Vec::new();
        let mut known: HashMap<&str, Spot> = HashMap::new();
        for (spot, part) in asked.parts() {
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

    /// Pairs the calls of each answer with the results in the messages that may hold them; returns what is left.
    fn by_place(&mut self, asked: &Asked<'_>) -> (Vec<Spot>, Vec<Spot>) {
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        let mut next = 0;
        for at in 0..asked.messages.len() {
            let room = room(asked, at);
            let own = spots(asked, at..at + 1, |kind| matches!(kind, Kind::Call { .. }));
            if own.is_empty() {
                continue;
            }
            // What stands before the room belongs to no calls.
            results.extend(results_in(asked, next..room.start));
            next = room.end.max(next);
            self.pair(asked, own, results_in(asked, room), (&mut calls, &mut results));
        }
        results.extend(results_in(asked, next..asked.messages.len()));
        (calls, results)
    }

    fn pair(
        &mut self,
        asked: &Asked<'_>,
        mut open: Vec<Spot>,
        found: Vec<Spot>,
        (calls, results): (&mut Vec<Spot>, &mut Vec<Spot>),
    ) {
        let first = self.answered.len();
        for result in found {
            let is_its = |call: &Spot| answers(asked.part(*call), asked.part(result));
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

    /// Tells of what is left which result stands elsewhere than its call wants it.
    fn settle(&mut self, asked: &Asked<'_>, calls: Vec<Spot>, results: Vec<Spot>) {
        let mut by_id: HashMap<&str, VecDeque<Spot>> = HashMap::new();
        let mut rest = Vec::new();
        for result in results {
            match asked.part(result).kind {
                Kind::Result { id, .. } if !id.is_empty() => by_id.entry(id).or_default().push_back(result),
                _ => rest.push(result),
            }
        }
        let mut open = Vec::new();
        for call in calls {
            let Kind::Call { id, .. } = asked.part(call).kind else { continue };
            match by_id.get_mut(id).and_then(VecDeque::pop_front) {
                Some(result) => self.misplaced.push((call, result)),
                None => open.push(call),
            }
        }
        rest.extend(by_id.into_values().flatten());
        rest.sort_unstable();
        self.join(asked, &open, rest);
    }

    /// Joins the calls that are left with the results between their answer and the next one: by their names, or in their
    /// order where as many of both are left there.
    fn join(&mut self, asked: &Asked<'_>, calls: &[Spot], mut results: Vec<Spot>) {
        let answer = answers_before(asked);
        let mut known: HashMap<&str, usize> = HashMap::new();
        asked.calls().for_each(|(_, id, ..)| *known.entry(id).or_default() += 1);
        for calls in calls.chunk_by(|one, next| answer[one.message] == answer[next.message]) {
            let is_near = |result: &mut Spot| answer[result.message] == answer[calls[0].message];
            let mut near: Vec<Spot> = results.extract_if(.., is_near).collect();
            let mut open = Vec::new();
            for call in calls {
                match near.iter().position(|result| answers(asked.part(*call), asked.part(*result))) {
                    Some(nth) => self.misplaced.push((*call, near.remove(nth))),
                    None => open.push(*call),
                }
            }
            let may_answer =
                |(call, result): (&Spot, &Spot)| may_answer(asked.part(*call), asked.part(*result), &known);
            if open.len() == near.len() && !asked.goes_on() && open.iter().zip(&near).all(may_answer) {
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

/// Returns for each message how many answers of the model begin up to it; what the model says in a row is one.
fn answers_before(asked: &Asked<'_>) -> Vec<usize> {
    let is_model = |at: usize| asked.messages[at].role == Role::Model;
    let begins = |at: usize| is_model(at) && !at.checked_sub(1).is_some_and(is_model);
    let count = |n: &mut usize, at: usize| {
        *n += usize::from(begins(at));
        Some(*n)
    };
    (0..asked.messages.len()).scan(0, count).collect()
}

/// Returns the messages in which the results of the calls of a message have to stand.
fn room(asked: &Asked<'_>, at: usize) -> Range<usize> {
    let behind = asked.messages[at + 1..].iter();
    let n_messages = match asked.dialect {
        Dialect::OpenaiChat => behind.take_while(|said| said.role == Role::Tool).count(),
        _ => behind.take(1).filter(|said| said.role == Role::User).count(),
    };
    at + 1..at + 1 + n_messages
}

fn results_in(asked: &Asked<'_>, messages: Range<usize>) -> Vec<Spot> {
    spots(asked, messages, |kind| matches!(kind, Kind::Result { .. }))
}

fn spots(asked: &Asked<'_>, messages: Range<usize>, is_so: impl Fn(&Kind<'_>) -> bool) -> Vec<Spot> {
    let is_so = &is_so;
    let each = messages.flat_map(|message| {
        let parts = asked.messages[message].parts.iter().enumerate();
        parts.filter(move |(_, part)| is_so(&part.kind)).map(move |(part, _)| Spot { message, part })
    });
    each.collect()
}

/// Returns whether a result that does not name a call can be its own: where both have ids, or names, that differ, it is that
/// of another call which was lost. An id that several calls have tells none of them.
fn may_answer(call: &Part<'_>, result: &Part<'_>, known: &HashMap<&str, usize>) -> bool {
    let (Kind::Call { id, name, .. }, Kind::Result { id: of, name: by }) = (call.kind, result.kind) else {
        return false;
    };
    let is_doubled = known.get(id).is_some_and(|n| *n > 1);
    (is_doubled || !is_own(id, name) || !is_own(of, by)) && (name.is_empty() || by.is_empty() || name == by)
}

/// Returns whether a result is one of a call: by id, or by name where one of them has no id.
fn answers(call: &Part<'_>, result: &Part<'_>) -> bool {
    let (Kind::Call { id, name, .. }, Kind::Result { id: of, name: by }) = (call.kind, result.kind) else {
        return false;
    };
    id == of && !id.is_empty() || (id.is_empty() || of.is_empty()) && !by.is_empty() && name == by
}
