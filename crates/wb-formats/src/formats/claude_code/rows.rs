//! The lines of a file as a forest, and which of them the model sees.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use wb_message::Block;

use super::block::Part;
use super::row::{Answer, Body, Boundary, Origin, Row, Said};
use wb_record::Note;

/// A line whose parent was looked up.
#[derive(Debug)]
struct Placed {
    /// The nearest line before this one that has the parent's id, so that a walk always ends.
    parent: Option<usize>,
    timestamp: i64,
    body: Body,
    is_main: bool,
}

/// The lines of a file, without those that say nothing.
#[derive(Debug, Default)]
pub(super) struct Rows {
    all: Vec<Placed>,
    by_uuid: HashMap<String, usize>,
    has_main: bool,
    has_links: bool,
    n_side: usize,
    n_repeated: usize,
    pub(super) n_ignored: usize,
    pub(super) truncated: Option<usize>,
}

/// The lines of one conversation in the order in which the model sees them.
#[derive(Debug, Default)]
pub(super) struct Live {
    pub(super) order: Vec<usize>,
    /// The tokens before the compaction that they follow.
    pub(super) tokens_before: Option<u64>,
    /// Lines of the conversation that the user went back over.
    pub(super) n_abandoned: usize,
}

impl Rows {
    /// Adds a line, unless it stands in the file already.
    pub(super) fn push(&mut self, row: Row) {
        let Row { uuid, parent, is_side, timestamp, mut body } = row;
        let is_chat = is_chat(&body);
        if is_side && is_chat {
            self.n_side += 1;
            if self.has_main {
                body = Body::Link;
            }
        }
        if is_chat && !is_side && !self.has_main {
            self.has_main = true;
            self.forget_side();
        }
        let twin = uuid.as_ref().and_then(|uuid| self.by_uuid.get(uuid));
        if is_chat && twin.is_some_and(|twin| self.all[*twin].body == body) {
            self.n_repeated += 1;
            return;
        }
        let parent = parent.and_then(|parent| self.by_uuid.get(&parent).copied());
        self.has_links |= is_chat && parent.is_some();
        if let Some(uuid) = uuid {
            self.by_uuid.insert(uuid, self.all.len());
        } else if matches!(body, Body::Link) {
            return;
        }
        self.all.push(Placed { parent, timestamp, body, is_main: !is_side });
    }

    /// Drops what subagents said, once it is known that the file is not a subagent's own.
    fn forget_side(&mut self) {
        for row in self.all.iter_mut().filter(|row| !row.is_main) {
            row.body = Body::Link;
        }
    }

    /// Returns what a line says and when.
    pub(super) fn get(&self, at: usize) -> (Body, i64) {
        (self.all[at].body.clone(), self.all[at].timestamp)
    }

    /// Returns whether a line belongs to the main conversation; in a subagent's file its own one is that.
    fn is_main(&self, at: usize) -> bool {
        self.all[at].is_main || !self.has_main
    }

    /// Returns the compaction of a line, if it is one.
    fn boundary(&self, at: usize) -> Option<&Boundary> {
        match &self.all[at].body {
            Body::Compaction(boundary) => Some(boundary),
            _ => None,
        }
    }

    /// Returns the segments between compactions and clearings, as ranges of lines.
    pub(super) fn segments(&self) -> Vec<Range<usize>> {
        let is_break = |at: &usize| {
            self.is_main(*at) && matches!(self.all[*at].body, Body::Compaction(_) | Body::Clearing { .. })
        };
        let mut start = 0;
        let ends = (0..self.all.len()).filter(is_break).chain([self.all.len()]);
        ends.map(|end| std::mem::replace(&mut start, end)..end).collect()
    }

    /// Returns what was passed over, besides what depends on the conversation.
    pub(super) fn notes(&self) -> Vec<Note> {
        let counted = |n: usize, note: fn(usize) -> Note| (n > 0).then(|| note(n));
        let side = if self.has_main {
            counted(self.n_side, |n| Note::SidechainLines { n })
        } else {
            counted(self.n_side, |_| Note::SubagentTranscript)
        };
        [
            self.truncated.map(|line| Note::TruncatedLastLine { line }),
            counted(self.n_ignored, |n| Note::IgnoredLines { n }),
            counted(self.n_repeated, |n| Note::RepeatedLines { n }),
            side,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the conversation as it stood before the line `end`.
    ///
    /// The last line of the main conversation is its tip. The walk from there to the root decides; parallel
    /// tool results and the other lines of an answer hang next to it and are added. A file whose lines name no
    /// parents is read in its order.
    pub(super) fn live(&self, end: usize) -> Live {
        let is_main_chat = |at: &usize| self.is_main(*at) && is_chat(&self.all[*at].body);
        let Some(tip) = (0..end).rev().find(is_main_chat) else { return Live::default() };
        let (seen, boundary) = if self.has_links { self.walk(tip) } else { self.in_order(tip) };
        let floor = boundary.map_or(0, |at| at + 1);
        let seen = self.with_siblings(seen, floor..end);
        let order: Vec<usize> = (floor..end).filter(|at| seen[*at]).collect();
        // Before a tip that was walked to from its own root nothing but other branches stands.
        let n_chat = (floor..end).filter(is_main_chat).count();
        let n_abandoned = n_chat - order.iter().filter(|at| is_main_chat(at)).count();
        let tokens_before = boundary.and_then(|at| self.boundary(at)).map(|boundary| boundary.tokens_before);
        Live { order: self.with_preserved(order, boundary), tokens_before, n_abandoned }
    }

    /// Walks from a line to its root or to a compaction.
    fn walk(&self, tip: usize) -> (Vec<bool>, Option<usize>) {
        let mut seen = vec![false; self.all.len()];
        let mut at = Some(tip);
        while let Some(here) = at {
            if self.is_main(here) && self.boundary(here).is_some() {
                return (seen, at);
            }
            seen[here] = self.is_main(here);
            at = self.all[here].parent;
        }
        (seen, None)
    }

    /// Takes every line of the main conversation after the last compaction.
    fn in_order(&self, tip: usize) -> (Vec<bool>, Option<usize>) {
        let boundary = (0..tip).rev().find(|at| self.is_main(*at) && self.boundary(*at).is_some());
        let seen = (0..self.all.len()).map(|at| at <= tip && self.is_main(at)).collect();
        (seen, boundary)
    }

    /// Adds the other lines of each answer, then the results of all its calls.
    fn with_siblings(&self, mut seen: Vec<bool>, range: Range<usize>) -> Vec<bool> {
        let of_answer = |at: usize| match &self.all[at].body {
            Body::Assistant(answer) => answer.id.as_deref(),
            _ => None,
        };
        let ids: HashSet<&str> = range.clone().filter(|at| seen[*at]).filter_map(of_answer).collect();
        for at in range.clone().filter(|at| self.is_main(*at)) {
            seen[at] |= of_answer(at).is_some_and(|id| ids.contains(id));
        }
        let calls: HashSet<&str> =
            range.clone().filter(|at| seen[*at]).flat_map(|at| calls(&self.all[at].body)).collect();
        for at in range.filter(|at| self.is_main(*at)) {
            seen[at] |= results(&self.all[at].body).any(|id| calls.contains(id));
        }
        seen
    }

    /// Puts the lines that a compaction preserved after the line that it names, or after the digest.
    fn with_preserved(&self, mut order: Vec<usize>, boundary: Option<usize>) -> Vec<usize> {
        let Some((at, meta)) = boundary.and_then(|at| Some((at, self.boundary(at)?))) else { return order };
        let preserved = self.preserved(meta, at);
        if preserved.is_empty() {
            return order;
        }
        let anchor = meta.anchor.as_ref().and_then(|uuid| self.by_uuid.get(uuid));
        let is_digest =
            |row: &usize| matches!(self.all[*row].body, Body::User { origin: Origin::Digest, .. });
        let place = match anchor {
            Some(anchor) if *anchor == at => 0,
            Some(anchor) if order.contains(anchor) => order.partition_point(|row| row <= anchor),
            _ => order.iter().position(is_digest).map_or(0, |digest| digest + 1),
        };
        order.splice(place..place, preserved);
        order
    }

    fn preserved(&self, meta: &Boundary, before: usize) -> Vec<usize> {
        let find = |uuid: &String| self.by_uuid.get(uuid).copied().filter(|at| *at < before);
        let mut kept: Vec<usize> = meta.preserved.iter().filter_map(find).collect();
        if kept.is_empty()
            && let Some((head, tail)) = &meta.preserved_chain
        {
            let head = find(head);
            let mut at = find(tail);
            while let Some(here) = at {
                kept.push(here);
                at = if at == head { None } else { self.all[here].parent };
            }
        }
        kept.sort_unstable();
        kept.dedup();
        kept
    }
}

fn is_chat(body: &Body) -> bool {
    matches!(body, Body::User { .. } | Body::Assistant(_))
}

fn calls(body: &Body) -> impl Iterator<Item = &str> {
    let blocks: &[Block] = match body {
        Body::Assistant(Answer { blocks, .. }) => blocks,
        _ => &[],
    };
    blocks.iter().filter_map(|block| match block {
        Block::ToolCall { id, .. } => Some(id.as_str()),
        _ => None,
    })
}

fn results(body: &Body) -> impl Iterator<Item = &str> {
    let parts: &[Part] = match body {
        Body::User { parts: Said::Parts(parts), .. } => parts,
        _ => &[],
    };
    parts.iter().filter_map(|part| match part {
        Part::Result { call_id, .. } => Some(call_id.as_str()),
        Part::Said(_) => None,
    })
}
