//! Where a growing transcript may be cut, kept up to date message by message.
//!
//! A pair of a call in message `c` and a result in message `r` forbids the cuts `c + 1 ..= r`; a tool result
//! forbids the cut before it. Both end at the newest message, so the forbidden cuts are a stack of runs that
//! neither overlap nor touch. What each message changed is kept, so that it can be taken back.

use wb_message::Message;
use wb_message::pairing::{Answer, CallAt, CallTracker, Checkpoint, call_ids, id_key};

/// What a message is to the pairing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Assistant,
    Result,
    Other,
}

/// The id of a call or of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Id {
    Call { key: u64, block: u32 },
    Answer { key: u64 },
}

/// Cuts that would separate a pair, both ends included.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: u32,
    last: u32,
}

/// The newest assistant message and how many of its calls are open.
#[derive(Clone, Copy, Debug, Default)]
struct InFlight {
    assistant: Option<u32>,
    n_open: u32,
}

/// A call or an answer, with what the book knew of its id before.
#[derive(Clone, Copy, Debug)]
struct Step {
    id: Id,
    before: Checkpoint,
}

/// What one message changed.
#[derive(Clone, Copy, Debug)]
struct Line {
    kind: Kind,
    /// Where its steps start.
    steps: usize,
    /// The runs that its own run took in; none if it has no run.
    n_merged: Option<u32>,
    in_flight: InFlight,
}

/// The cuts of a transcript, by index only.
#[derive(Clone, Debug, Default)]
pub(super) struct Cuts {
    book: CallTracker,
    lines: Vec<Line>,
    steps: Vec<Step>,
    runs: Vec<Run>,
    merged: Vec<Run>,
    in_flight: InFlight,
}

fn kind(message: &Message) -> Kind {
    match message {
        Message::Assistant { .. } => Kind::Assistant,
        Message::ToolResult { .. } => Kind::Result,
        _ => Kind::Other,
    }
}

fn ids(message: &Message) -> impl Iterator<Item = Id> {
    let calls = call_ids(message).map(|(id, block)| Id::Call { key: id_key(id), block });
    calls.chain(message.answered_ids().map(|id| Id::Answer { key: id_key(id) }))
}

/// An index as the pairing keeps it; transcripts of four thousand million messages do not exist.
fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

impl Cuts {
    pub(super) fn push(&mut self, message: &Message) {
        self.push_ids(kind(message), ids(message));
    }

    /// Appends message `at` of another transcript's cuts.
    pub(super) fn push_from(&mut self, other: &Self, at: usize) {
        self.push_ids(other.lines[at].kind, other.steps_of(at).iter().map(|step| step.id));
    }

    pub(super) fn is_answer(&self, at: usize) -> bool {
        self.lines.get(at).is_some_and(|line| line.kind == Kind::Assistant)
    }

    /// Returns whether a message would change nothing of the pairing in place of message `at`.
    pub(super) fn fits(&self, at: usize, message: &Message) -> bool {
        let same = ids(message).eq(self.steps_of(at).iter().map(|step| step.id));
        same && self.lines[at].kind == kind(message)
    }

    fn steps_of(&self, at: usize) -> &[Step] {
        let end = self.lines.get(at + 1).map_or(self.steps.len(), |next| next.steps);
        &self.steps[self.lines[at].steps..end]
    }

    fn push_ids(&mut self, kind: Kind, ids: impl Iterator<Item = Id>) {
        let at = narrow(self.lines.len());
        let line = Line { kind, steps: self.steps.len(), n_merged: None, in_flight: self.in_flight };
        self.lines.push(line);
        if kind == Kind::Assistant {
            self.in_flight = InFlight { assistant: Some(at), n_open: 0 };
        }
        let mut first = if kind == Kind::Result && at > 0 { at } else { u32::MAX };
        for id in ids {
            first = first.min(self.note(id, at));
        }
        if first <= at {
            self.forbid(Run { first, last: at });
        }
    }

    /// Notes a call or an answer; returns the first cut that it forbids, `u32::MAX` for none.
    fn note(&mut self, id: Id, at: u32) -> u32 {
        let (answer, before) = match id {
            Id::Call { key, block } => {
                self.in_flight.n_open += 1;
                (None, self.book.call(key, CallAt { message: at, block }))
            }
            Id::Answer { key } => {
                let (answer, before) = self.book.answer_paged(key);
                (Some(answer), before)
            }
        };
        self.steps.push(Step { id, before });
        match answer {
            Some(Answer::Open(call)) => {
                self.in_flight.n_open -= u32::from(self.in_flight.assistant == Some(call.message));
                call.message + 1
            }
            Some(Answer::Repeat(call)) => call.message + 1,
            Some(Answer::Orphan) | None => u32::MAX,
        }
    }

    /// Adds a run that ends at the newest message, and takes in those that it overlaps or touches.
    fn forbid(&mut self, mut run: Run) {
        let kept = self.runs.partition_point(|earlier| earlier.last + 1 < run.first);
        if let Some(earliest) = self.runs.get(kept) {
            run.first = run.first.min(earliest.first);
        }
        let taken = self.runs.drain(kept..);
        let n_merged = narrow(taken.len());
        self.merged.extend(taken);
        self.runs.push(run);
        if let Some(line) = self.lines.last_mut() {
            line.n_merged = Some(n_merged);
        }
    }

    /// Takes back the newest message.
    pub(super) fn pop(&mut self) {
        let Some(line) = self.lines.pop() else { return };
        while self.steps.len() > line.steps
            && let Some(step) = self.steps.pop()
        {
            self.book.restore(step.before);
        }
        if let Some(n_merged) = line.n_merged {
            self.runs.pop();
            let start = self.merged.len() - n_merged as usize;
            self.runs.extend(self.merged.drain(start..));
        }
        self.in_flight = line.in_flight;
    }

    /// Returns the end of the cuts that leave a tail and nothing in flight before it.
    fn end(&self) -> usize {
        match self.in_flight {
            InFlight { assistant: Some(at), n_open: 1.. } => at as usize + 1,
            _ => self.lines.len(),
        }
    }

    fn run_at(&self, cut: usize) -> Option<&Run> {
        let next = self.runs.partition_point(|run| (run.last as usize) < cut);
        self.runs.get(next).filter(|run| run.first as usize <= cut)
    }

    pub(super) fn is_legal(&self, cut: usize) -> bool {
        let whole = cut == self.lines.len() && self.in_flight.n_open == 0;
        cut == 0 || whole || (cut < self.end() && self.run_at(cut).is_none())
    }

    /// Returns the first legal cut at or after `start` that leaves a tail, else the last one before it, else 0.
    pub(super) fn snap(&self, start: usize) -> usize {
        let end = self.end();
        let after = self.run_at(start).map_or(start, |run| run.last as usize + 1);
        if after < end {
            return after;
        }
        let before = start.min(end.saturating_sub(1));
        self.run_at(before).map_or(before, |run| run.first as usize - 1)
    }
}
