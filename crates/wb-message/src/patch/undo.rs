//! The undo of a patch: the replaced bodies and folded messages, moved out of the transcript.

use std::ops::Range;

use crate::block::{Block, joined_text};
use crate::message::{Content, Message};

/// The origin of a message of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The input's message of this index, its body possibly edited.
    Kept(usize),
    /// New in this patch.
    New,
}

impl Origin {
    /// Returns the index in the input, `None` for a new message.
    pub fn input_index(self) -> Option<usize> {
        match self {
            Self::Kept(at) => Some(at),
            Self::New => None,
        }
    }
}

/// A replaced body.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Body {
    Blocks(Vec<Block>),
    Content(Content),
    Text(String),
}

/// Reverts a patch: holds the replaced bodies and the folded messages.
#[derive(Debug, Default)]
#[must_use = "dropping it makes the patch final"]
pub struct Undo {
    bodies: Vec<(usize, Body)>,
    folds: Vec<(Range<usize>, usize)>,
    /// The input's vector: folded messages in place, a hollow message for each survivor. Empty if
    /// nothing was folded.
    before: Vec<Message>,
}

pub(crate) fn origins(folds: impl Iterator<Item = (Range<usize>, usize)>, n_messages: usize) -> Vec<Origin> {
    let mut origins = Vec::new();
    let mut next = 0;
    for (range, n_with) in folds {
        origins.extend((next..range.start).map(Origin::Kept));
        origins.extend(std::iter::repeat_n(Origin::New, n_with));
        next = range.end;
    }
    origins.extend((next..n_messages).map(Origin::Kept));
    origins
}

impl Undo {
    /// Returns the origin of each message of the output, given the input's length.
    pub fn origins(&self, n_messages: usize) -> Vec<Origin> {
        origins(self.folds.iter().cloned(), n_messages)
    }

    /// Returns whether the body of the input's message `at` was replaced.
    pub fn has_new_body(&self, at: usize) -> bool {
        self.bodies.binary_search_by_key(&at, |(at, _)| *at).is_ok()
    }

    pub(crate) fn with_capacity(n_bodies: usize, n_folds: usize) -> Self {
        let (bodies, folds) = (Vec::with_capacity(n_bodies), Vec::with_capacity(n_folds));
        Self { bodies, folds, before: Vec::new() }
    }

    pub(crate) fn replace_body(&mut self, messages: &mut [Message], at: usize, content: Vec<Block>) {
        self.bodies.push((at, swap_body(&mut messages[at], content)));
    }

    pub(crate) fn fold(&mut self, messages: &mut Vec<Message>, folds: Vec<(Range<usize>, Vec<Message>)>) {
        self.before = std::mem::take(messages);
        let n_removed: usize = folds.iter().map(|(range, _)| range.len()).sum();
        let n_added: usize = folds.iter().map(|(_, with)| with.len()).sum();
        messages.reserve_exact(self.before.len() - n_removed + n_added);
        let mut next = 0;
        for (range, with) in folds {
            messages.extend(self.before[next..range.start].iter_mut().map(hollow_out));
            next = range.end;
            self.folds.push((range, with.len()));
            messages.extend(with);
        }
        messages.extend(self.before[next..].iter_mut().map(hollow_out));
    }

    /// Visits the folded ranges of the input, given the output, with the messages that took their
    /// place.
    pub fn new_messages<'a>(
        &'a self,
        messages: &'a [Message],
    ) -> impl Iterator<Item = (Range<usize>, &'a [Message])> {
        let (mut n_removed, mut n_added) = (0, 0);
        self.folds.iter().map(move |(range, n_with)| {
            let start = range.start + n_added - n_removed;
            n_removed += range.len();
            n_added += n_with;
            (range.clone(), &messages[start..start + n_with])
        })
    }

    /// Visits the input's indices of replaced bodies, each with its index in the output.
    fn moved_bodies(&self) -> impl Iterator<Item = (usize, usize)> {
        let mut folds = self.folds.iter().peekable();
        let (mut n_removed, mut n_added) = (0, 0);
        self.bodies.iter().map(move |(at, _)| {
            while let Some((range, n_with)) = folds.next_if(|(range, _)| range.end <= *at) {
                n_removed += range.len();
                n_added += n_with;
            }
            (*at, at + n_added - n_removed)
        })
    }

    /// Visits the input's indices of replaced bodies, with the new bodies.
    pub(crate) fn new_bodies<'a>(
        &'a self,
        messages: &'a [Message],
    ) -> impl Iterator<Item = (usize, Vec<Block>)> {
        self.moved_bodies().map(|(at, now)| (at, body_blocks(&messages[now])))
    }

    /// Visits the messages of the output that the patch added or edited.
    pub(crate) fn changed_messages<'a>(
        &'a self,
        messages: &'a [Message],
    ) -> impl Iterator<Item = &'a Message> {
        let edited = self.moved_bodies().map(|(_, now)| &messages[now]);
        self.new_messages(messages).flat_map(|(_, with)| with).chain(edited)
    }

    /// Visits the folded messages in order.
    pub fn folded(&self) -> impl Iterator<Item = &Message> {
        self.folds.iter().flat_map(|(range, _)| &self.before[range.clone()])
    }

    /// Restores the transcript to its state before the patch. Messages appended since stay at the
    /// end; messages dropped from the end since stay dropped.
    pub fn revert(mut self, messages: &mut Vec<Message>) {
        if !self.folds.is_empty() {
            self.unfold(messages);
        }
        for (at, body) in self.bodies {
            if let Some(message) = messages.get_mut(at) {
                restore_body(message, body);
            }
        }
    }

    fn unfold(&mut self, messages: &mut Vec<Message>) {
        let mut after = std::mem::replace(messages, std::mem::take(&mut self.before)).into_iter();
        let (mut next, mut n_missing) = (0, 0);
        for (range, n_with) in &self.folds {
            n_missing += refill(&mut messages[next..range.start], &mut after);
            next = range.end;
            after.by_ref().take(*n_with).for_each(drop);
        }
        n_missing += refill(&mut messages[next..], &mut after);
        messages.extend(after);
        if n_missing > 0 {
            self.remove_hollow(messages, n_missing);
        }
    }

    /// Removes the last `n_missing` survivors, which were dropped since the patch.
    fn remove_hollow(&self, messages: &mut Vec<Message>, n_missing: usize) {
        let folded = |at: usize| {
            let next = self.folds.partition_point(|(range, _)| range.end <= at);
            self.folds.get(next).is_some_and(|(range, _)| range.contains(&at))
        };
        let missing = (0..messages.len()).rev().filter(|&at| !folded(at)).take(n_missing);
        let Some(first) = missing.min() else { return };
        // From there on, every survivor is missing.
        let mut at = first;
        let end = messages.split_off(first);
        messages.extend(end.into_iter().filter(|_| {
            at += 1;
            folded(at - 1)
        }));
    }
}

/// Moves survivors back into their slots and returns the number of slots left hollow.
fn refill(slots: &mut [Message], after: &mut impl Iterator<Item = Message>) -> usize {
    let mut n_missing = 0;
    for slot in slots {
        match after.next() {
            Some(message) => *slot = message,
            None => n_missing += 1,
        }
    }
    n_missing
}

/// Moves a message out and leaves one that owns no memory.
fn hollow_out(message: &mut Message) -> Message {
    std::mem::replace(message, Message::CompactionSummary { summary: String::new(), tokens_before: 0 })
}

/// Returns a body in the form of [`Edit::Body`](crate::Edit::Body).
fn body_blocks(message: &Message) -> Vec<Block> {
    match message {
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. }
        | Message::BashExecution { output: text, .. }
        | Message::BranchSummary { summary: text, .. }
        | Message::CompactionSummary { summary: text, .. } => vec![Block::text(text)],
        other => other.blocks().to_vec(),
    }
}

fn swap_body(message: &mut Message, new: Vec<Block>) -> Body {
    use std::mem::replace;
    match message {
        Message::Assistant { content, .. } | Message::ToolResult { content, .. } => {
            Body::Blocks(replace(content, new))
        }
        Message::User { content, .. } | Message::Custom { content, .. } => {
            let new = content.with_blocks(new);
            Body::Content(replace(content, new))
        }
        Message::BashExecution { output: text, .. }
        | Message::BranchSummary { summary: text, .. }
        | Message::CompactionSummary { summary: text, .. } => {
            Body::Text(replace(text, joined_text(&new).into_owned()))
        }
    }
}

fn restore_body(message: &mut Message, body: Body) {
    match (message, body) {
        (Message::Assistant { content, .. } | Message::ToolResult { content, .. }, Body::Blocks(old)) => {
            *content = old;
        }
        (Message::User { content, .. } | Message::Custom { content, .. }, Body::Content(old)) => {
            *content = old;
        }
        (
            Message::BashExecution { output: text, .. }
            | Message::BranchSummary { summary: text, .. }
            | Message::CompactionSummary { summary: text, .. },
            Body::Text(old),
        ) => {
            *text = old;
        }
        _ => {}
    }
}
