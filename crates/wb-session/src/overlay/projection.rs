//! The projection: what a model sees of a log under an overlay.

use std::borrow::Cow;
use std::collections::BTreeMap;

use wb_budget::TokenCounter;
use wb_message::{Edit, Message, Pairing, Patch};

use super::block::{Author, Basis, BlockId};
use super::fingerprint::Fingerprint;
use super::late_results::{LateResult, late_results};
use super::layout::{EditAt, Item, Layout, Run, Source};
use super::plan::BlockPlan;
use super::skeleton::{skeleton, with_body};

/// Where a projected message comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProjectedFrom<'a> {
    /// The message of the log with this index, its body possibly replaced.
    Log {
        /// The index.
        at: usize,
    },
    /// A block brought it.
    Block {
        /// The block.
        id: &'a BlockId,
    },
}

/// What became of a message of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explanation<'a> {
    /// The model sees it.
    Visible {
        /// Its index in the projection.
        at: usize,
        /// The blocks that changed its body, the outermost first; none if it is as the log has it.
        changed_by: Vec<&'a BlockId>,
    },
    /// The model does not see it.
    Hidden {
        /// The blocks that hide it, the outermost first: the last one took it away itself or changed it before it
        /// went, each one before took away what the next had brought.
        by: Vec<&'a BlockId>,
    },
}

/// What blocks are made of, by number.
#[derive(Clone, Debug)]
pub(crate) struct Parts<'a> {
    pub(crate) layout: Cow<'a, Layout>,
    pub(crate) ids: Vec<&'a BlockId>,
    pub(crate) patches: Vec<&'a Patch>,
}

/// The messages that a model sees: those of the log that no block touches, borrowed, and what blocks brought.
#[derive(Clone, Debug)]
pub struct Projection<'a> {
    /// The messages in order; only those with a replaced body are new.
    pub messages: Vec<Cow<'a, Message>>,
    /// Where each message comes from; as many as there are messages.
    pub origins: Vec<ProjectedFrom<'a>>,
    parts: Parts<'a>,
    /// The projected indices of messages of the log, ascending as these are.
    shown: Vec<usize>,
    /// The late messages with the block that hides their calls.
    late: BTreeMap<usize, usize>,
    basis: Basis,
}

impl<'a> Projection<'a> {
    pub(crate) fn of(log: &'a [Message], parts: Parts<'a>, active: Fingerprint, is_grown: bool) -> Self {
        let late = if is_grown { late_results(log, &parts.layout) } else { BTreeMap::new() };
        let hidden = late.iter().filter(|(_, late)| late.left.is_none()).map(|(at, _)| *at);
        let basis = Basis { active, n_log: log.len(), late: hidden.collect() };
        let mut projection = Self {
            messages: Vec::new(),
            origins: Vec::new(),
            shown: Vec::new(),
            late: late.iter().map(|(at, late)| (*at, late.hider)).collect(),
            basis,
            parts,
        };
        let mut late = late.into_iter().peekable();
        let layout = projection.parts.layout.clone();
        for run in layout.runs() {
            match run.source {
                Source::Log => projection.push_log(log, &layout, run, &mut late),
                Source::Fold { block, edit } => projection.push_block(&layout, run, block, edit),
            }
        }
        projection
    }

    fn push_log(
        &mut self,
        log: &'a [Message],
        layout: &Layout,
        run: &Run,
        late: &mut std::iter::Peekable<impl Iterator<Item = (usize, LateResult)>>,
    ) {
        let mut bodies = layout.bodies(run).peekable();
        let end = run.range.end.min(log.len());
        while late.next_if(|(at, _)| *at < run.range.start).is_some() {}
        for (at, message) in log.iter().enumerate().take(end).skip(run.range.start) {
            let edits = bodies.next_if(|(item, _)| item.at == at).map(|(_, edits)| edits);
            let late = late.next_if(|(late, _)| *late == at).map(|(_, late)| late.left);
            let message = match (edits, late) {
                (Some(edits), _) => Cow::Owned(self.edited(message, edits)),
                (None, Some(None)) => continue,
                (None, Some(Some(left))) => Cow::Owned(left),
                (None, None) => Cow::Borrowed(message),
            };
            self.shown.push(self.messages.len());
            self.messages.push(message);
            self.origins.push(ProjectedFrom::Log { at });
        }
    }

    fn push_block(&mut self, layout: &Layout, run: &Run, block: usize, edit: usize) {
        let Some(Edit::Fold { with, .. }) = self.parts.patches[block].edits.get(edit) else { return };
        let mut bodies = layout.bodies(run).peekable();
        for (at, message) in with.iter().enumerate().take(run.range.end).skip(run.range.start) {
            let edits = bodies.next_if(|(item, _)| item.at == at).map(|(_, edits)| edits);
            let message = match edits {
                Some(edits) => Cow::Owned(self.edited(message, edits)),
                None => Cow::Borrowed(message),
            };
            self.messages.push(message);
            self.origins.push(ProjectedFrom::Block { id: self.parts.ids[block] });
        }
    }

    fn edited(&self, message: &Message, edits: &[EditAt]) -> Message {
        let body = |edit: &EditAt| match self.parts.patches[edit.block].edits.get(edit.edit) {
            Some(Edit::Body { content, .. }) => Some(content.as_slice()),
            _ => None,
        };
        let mut bodies = edits.iter().filter_map(body);
        let first = bodies.next().map_or_else(|| message.clone(), |body| with_body(message, body));
        bodies.fold(first, |message, body| with_body(&message, body))
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether the model sees nothing.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Visits the messages in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Message> + DoubleEndedIterator {
        self.messages.iter().map(AsRef::as_ref)
    }

    /// Copies the messages, for passes and for whoever sends them.
    pub fn to_vec(&self) -> Vec<Message> {
        self.iter().cloned().collect()
    }

    /// Returns the weight of all messages, in tokens.
    pub fn tokens(&self, weigher: &dyn TokenCounter) -> u64 {
        self.iter().map(|message| weigher.message(message)).fold(0, u64::saturating_add)
    }

    /// Pairs the calls and results; no body is copied for it.
    pub fn pairing(&self) -> Pairing {
        Pairing::of(&self.skeleton())
    }

    pub(crate) fn skeleton(&self) -> Vec<Message> {
        self.iter().map(skeleton).collect()
    }

    pub(crate) fn basis(&self) -> &Basis {
        &self.basis
    }

    /// Returns the late messages, each with the block that hides their calls.
    pub(crate) fn late(&self) -> &BTreeMap<usize, usize> {
        &self.late
    }

    /// Visits the messages that blocks brought.
    pub(crate) fn brought(&self) -> impl Iterator<Item = (&'a BlockId, &Message)> {
        self.origins.iter().zip(self.iter()).filter_map(|(origin, message)| match origin {
            ProjectedFrom::Log { .. } => None,
            ProjectedFrom::Block { id } => Some((*id, message)),
        })
    }

    /// Returns how many messages of the log are shown.
    pub(crate) fn n_shown(&self) -> usize {
        self.shown.len()
    }

    /// Makes a plan of a patch on this projection; when, in milliseconds since the Unix epoch, is given by the caller.
    pub fn plan(&self, id: BlockId, author: Author, created_at: i64, patch: Patch) -> BlockPlan {
        BlockPlan { id, author, created_at, basis: self.basis.clone(), patch }
    }

    /// Returns what became of a message of the log; nothing beyond its end.
    pub fn explain(&self, at: usize) -> Option<Explanation<'a>> {
        if at >= self.basis.n_log {
            return None;
        }
        let layout = &self.parts.layout;
        let mut by: Vec<usize> =
            layout.bodies_of(Item { source: Source::Log, at }).iter().map(|edit| edit.block).collect();
        let hider = layout.folded_by(at).or_else(|| self.late.get(&at).copied());
        by.extend(hider.into_iter().flat_map(|hider| layout.chain(hider)));
        let by: Vec<_> = by.into_iter().rev().map(|block| self.parts.ids[block]).collect();
        Some(match self.shown_at(at) {
            Some(at) => Explanation::Visible { at, changed_by: by },
            None => Explanation::Hidden { by },
        })
    }

    /// Returns the projected index of a message of the log.
    fn shown_at(&self, at: usize) -> Option<usize> {
        let of_log = |shown: &usize| match self.origins[*shown] {
            ProjectedFrom::Log { at } => at,
            ProjectedFrom::Block { .. } => usize::MAX,
        };
        let nth = self.shown.binary_search_by_key(&at, of_log).ok()?;
        Some(self.shown[nth])
    }
}
