//! The overlay: blocks over a log, and what happened to them.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wb_budget::TokenCounter;
use wb_message::{Edit, Message, Pairing, Patch, PatchError};

use super::block::{Basis, BlockEvent, BlockId, CompactionBlock, Provenance};
use super::error::OverlayError;
use super::fingerprint::{Fingerprint, Hashes};
use super::layout::{Layout, Place, Source, Touched};
use super::plan::{BlockPlan, BlockPreview};
use super::projection::{Parts, Projection};

/// The compactions of a log, stored next to it: the log is never changed, and what the model sees is
/// [projected](Self::project) from both.
///
/// Blocks may be nested, taken back and applied again. Each of these returns the [`BlockEvent`] to store; the events
/// in order give the overlay [back](Self::replay), and are what it is on the wire.
#[derive(Clone, Debug)]
pub struct Overlay {
    blocks: Vec<CompactionBlock>,
    places: Vec<Vec<Place>>,
    is_active: Vec<bool>,
    numbers: HashMap<BlockId, usize>,
    /// Blocks that were taken back since the last one was applied, the next one to be applied again at the end.
    undone: Vec<usize>,
    history: Vec<Happened>,
    layout: Layout,
}

#[derive(Clone, Copy, Debug)]
enum Happened {
    Applied(usize),
    Undone(usize),
    Redone(usize),
}

/// A patch that the overlay can take, with what it does.
struct Admitted {
    layout: Layout,
    places: Vec<Place>,
    parents: BTreeSet<usize>,
    covers: Range<usize>,
}

impl Default for Overlay {
    fn default() -> Self {
        Self::new()
    }
}

impl Overlay {
    /// Builds an overlay without blocks.
    pub fn new() -> Self {
        Self {
            blocks: Vec::new(),
            places: Vec::new(),
            is_active: Vec::new(),
            numbers: HashMap::new(),
            undone: Vec::new(),
            history: Vec::new(),
            layout: Layout::of_log(),
        }
    }

    /// Builds the overlay that events made, without a log; [`project`](Self::project) checks it against one.
    pub fn replay<'a>(events: impl IntoIterator<Item = BlockEvent<'a>>) -> Result<Self, OverlayError> {
        let mut overlay = Self::new();
        for event in events {
            match event {
                BlockEvent::Applied { block } => overlay.reapply(block.into_owned())?,
                BlockEvent::Undone { id } => drop(overlay.undo_block(&id)?),
                BlockEvent::Redone { id } => overlay.redo_block(&id)?,
            }
        }
        Ok(overlay)
    }

    /// Returns everything that happened, in order.
    pub fn events(&self) -> impl ExactSizeIterator<Item = BlockEvent<'_>> {
        self.history.iter().map(|happened| self.event(*happened))
    }

    fn event(&self, happened: Happened) -> BlockEvent<'_> {
        match happened {
            Happened::Applied(block) => BlockEvent::Applied { block: Cow::Borrowed(&self.blocks[block]) },
            Happened::Undone(block) => BlockEvent::Undone { id: Cow::Borrowed(&self.blocks[block].id) },
            Happened::Redone(block) => BlockEvent::Redone { id: Cow::Borrowed(&self.blocks[block].id) },
        }
    }

    /// Returns all blocks in the order of their application, those that were taken back among them.
    pub fn blocks(&self) -> &[CompactionBlock] {
        &self.blocks
    }

    /// Visits the active blocks in the order of their application.
    pub fn active(&self) -> impl DoubleEndedIterator<Item = &CompactionBlock> {
        self.blocks.iter().zip(&self.is_active).filter(|(_, is_active)| **is_active).map(|(block, _)| block)
    }

    /// Returns the block of a name.
    pub fn block(&self, id: &BlockId) -> Option<&CompactionBlock> {
        Some(&self.blocks[*self.numbers.get(id)?])
    }

    /// Returns a name that no block has: `block-` and a number.
    pub fn next_id(&self) -> BlockId {
        let names = (self.blocks.len() + 1..).map(|n| BlockId::from(format!("block-{n}")));
        let mut free = names.filter(|name| !self.numbers.contains_key(name));
        free.next().unwrap_or_else(|| BlockId::from(""))
    }

    /// Checks that the log is the one that the active blocks were made for.
    ///
    /// It hashes the messages that they cover, each once.
    pub fn check(&self, log: &[Message]) -> Result<(), OverlayError> {
        let covers = self.active().map(|block| &block.covers).filter(|covers| !covers.is_empty());
        let hull = covers.fold(None, |hull: Option<Range<usize>>, covers| Some(joined(hull, covers)));
        let hashes = Hashes::of(log, hull.unwrap_or(0..0));
        self.active().try_for_each(|block| check_block(block, log, &hashes))
    }

    /// Projects a log: what the model sees of it.
    ///
    /// The log is [checked](Self::check) and borrowed. Time is linear in the messages. A result whose call was folded
    /// before it came is hidden with the call.
    pub fn project<'a>(&'a self, log: &'a [Message]) -> Result<Projection<'a>, OverlayError> {
        self.check(log)?;
        Ok(Projection::of(log, self.parts(), self.active_print(), self.is_grown(log)))
    }

    fn is_grown(&self, log: &[Message]) -> bool {
        self.active().any(|block| block.basis.n_log < log.len())
    }

    fn parts(&self) -> Parts<'_> {
        Parts {
            layout: Cow::Borrowed(&self.layout),
            ids: self.blocks.iter().map(|block| &block.id).collect(),
            patches: self.blocks.iter().map(|block| &block.patch).collect(),
        }
    }

    fn active_print(&self) -> Fingerprint {
        Fingerprint::of_texts(self.active().map(|block| block.id.as_str()))
    }

    /// Returns what a plan would do, without doing it.
    pub fn preview(
        &self,
        log: &[Message],
        plan: &BlockPlan,
        weigher: &dyn TokenCounter,
    ) -> Result<BlockPreview, OverlayError> {
        let before = self.project(log)?;
        let admitted = self.admit(log, &before, &plan.id, &plan.basis, &plan.patch)?;
        Ok(self.compare(log, &before, &admitted, plan, weigher))
    }

    /// Makes the block of a plan: what it covers, what it stands on, and the figures of its
    /// [preview](Self::preview).
    pub fn seal(
        &self,
        log: &[Message],
        plan: BlockPlan,
        weigher: &dyn TokenCounter,
    ) -> Result<CompactionBlock, OverlayError> {
        let before = self.project(log)?;
        let admitted = self.admit(log, &before, &plan.id, &plan.basis, &plan.patch)?;
        let preview = self.compare(log, &before, &admitted, &plan, weigher);
        let provenance = Provenance {
            author: plan.author,
            created_at: plan.created_at,
            tokens_before: preview.tokens_before,
            tokens_after: preview.tokens_after,
            covered: Hashes::of(log, admitted.covers.clone()).parts(&admitted.covers),
        };
        Ok(CompactionBlock {
            id: plan.id,
            parents: self.names(&admitted.parents),
            covers: admitted.covers,
            provenance,
            basis: plan.basis,
            patch: plan.patch,
        })
    }

    /// Applies a block; those that were taken back before it cannot be applied again.
    pub fn apply(&mut self, log: &[Message], block: CompactionBlock) -> Result<BlockEvent<'_>, OverlayError> {
        let before = self.project(log)?;
        let admitted = self.admit(log, &before, &block.id, &block.basis, &block.patch)?;
        let misfit = |what| OverlayError::Misfit { id: block.id.clone(), what };
        if block.covers != admitted.covers {
            return Err(misfit("covers"));
        }
        if block.parents != self.names(&admitted.parents) {
            return Err(misfit("parents"));
        }
        check_block(&block, log, &Hashes::of(log, block.covers.clone()))?;
        drop(before);
        Ok(self.push(block, admitted.places, admitted.layout))
    }

    fn push(&mut self, block: CompactionBlock, places: Vec<Place>, layout: Layout) -> BlockEvent<'_> {
        let number = self.blocks.len();
        self.numbers.insert(block.id.clone(), number);
        self.blocks.push(block);
        self.places.push(places);
        self.is_active.push(true);
        self.layout = layout;
        self.undone.clear();
        self.note(Happened::Applied(number))
    }

    fn note(&mut self, happened: Happened) -> BlockEvent<'_> {
        self.history.push(happened);
        self.event(happened)
    }

    fn names(&self, blocks: &BTreeSet<usize>) -> Vec<BlockId> {
        blocks.iter().map(|block| self.blocks[*block].id.clone()).collect()
    }

    /// Takes the newest active block back.
    pub fn undo(&mut self) -> Result<BlockEvent<'_>, OverlayError> {
        let newest = self.is_active.iter().rposition(|is_active| *is_active);
        self.take_back(newest.ok_or(OverlayError::NothingToUndo)?)
    }

    /// Takes a block back that no active one stands on.
    pub fn undo_block(&mut self, id: &BlockId) -> Result<BlockEvent<'_>, OverlayError> {
        let number = self.number(id)?;
        if !self.is_active[number] {
            return Err(OverlayError::NotActive { id: id.clone() });
        }
        let by: Vec<_> =
            self.active().filter(|block| block.parents.contains(id)).map(|block| block.id.clone()).collect();
        if by.is_empty() { self.take_back(number) } else { Err(OverlayError::StoodOn { id: id.clone(), by }) }
    }

    fn number(&self, id: &BlockId) -> Result<usize, OverlayError> {
        self.numbers.get(id).copied().ok_or_else(|| OverlayError::UnknownBlock { id: id.clone() })
    }

    fn take_back(&mut self, number: usize) -> Result<BlockEvent<'_>, OverlayError> {
        self.set_active(number, false)?;
        self.undone.push(number);
        Ok(self.note(Happened::Undone(number)))
    }

    /// Applies the block again that was taken back last.
    pub fn redo(&mut self) -> Result<BlockEvent<'_>, OverlayError> {
        let number = *self.undone.last().ok_or(OverlayError::NothingToRedo)?;
        self.set_active(number, true)?;
        self.undone.pop();
        Ok(self.note(Happened::Redone(number)))
    }

    fn redo_block(&mut self, id: &BlockId) -> Result<(), OverlayError> {
        if self.undone.last() != Some(&self.number(id)?) {
            return Err(OverlayError::NotNext { id: id.clone() });
        }
        self.redo().map(drop)
    }

    /// Lays the active blocks out anew, with one of them added or left out.
    fn set_active(&mut self, number: usize, is_active: bool) -> Result<(), OverlayError> {
        let active = |at: &usize| if *at == number { is_active } else { self.is_active[*at] };
        let layout = (0..self.blocks.len()).filter(active).try_fold(Layout::of_log(), |layout, at| {
            let layout = layout.fold(at, &self.places[at], &self.blocks[at].patch);
            layout.map(|(layout, _)| layout).ok_or_else(|| misfit(&self.blocks[at].id, "patch"))
        })?;
        self.layout = layout;
        self.is_active[number] = is_active;
        Ok(())
    }

    /// Checks a patch against the overlay and a log, and tells what it does.
    fn admit(
        &self,
        log: &[Message],
        now: &Projection<'_>,
        id: &BlockId,
        basis: &Basis,
        patch: &Patch,
    ) -> Result<Admitted, OverlayError> {
        self.check_basis(id, basis)?;
        if basis.n_log > log.len() {
            let (n_known, n_log) = (basis.n_log, log.len());
            return Err(OverlayError::LogTooShort { id: id.clone(), n_known, n_log });
        }
        let late = now.basis().late.iter().take_while(|at| **at < basis.n_log);
        if !late.eq(&basis.late) {
            return Err(OverlayError::Stale { id: id.clone() });
        }
        let skeleton = now.skeleton();
        patch.check(&skeleton, &Pairing::of(&skeleton)).map_err(|why| refused(id, why))?;
        let (layout, places, touched) = self.lay_out(id, basis, patch)?;
        let mut parents = self.layout.parents(&touched, now.late());
        parents.extend(self.answered(now, patch));
        let covers = self.covers(&touched, &parents);
        Ok(Admitted { layout, places, parents, covers })
    }

    /// Returns the blocks that brought a call which the patch answers.
    fn answered(&self, now: &Projection<'_>, patch: &Patch) -> BTreeSet<usize> {
        let folds = patch.edits.iter().filter_map(|edit| match edit {
            Edit::Fold { with, .. } => Some(with),
            Edit::Body { .. } => None,
        });
        let ids: BTreeSet<&str> = folds.flatten().flat_map(Message::answered_ids).collect();
        if ids.is_empty() {
            return BTreeSet::new();
        }
        let brought = now.brought().filter(|(_, message)| message.calls().any(|(id, _, _)| ids.contains(id)));
        brought.filter_map(|(id, _)| self.numbers.get(id).copied()).collect()
    }

    fn check_basis(&self, id: &BlockId, basis: &Basis) -> Result<(), OverlayError> {
        if self.numbers.contains_key(id) {
            return Err(OverlayError::DuplicateBlock { id: id.clone() });
        }
        if basis.active == self.active_print() { Ok(()) } else { Err(OverlayError::Stale { id: id.clone() }) }
    }

    fn lay_out(
        &self,
        id: &BlockId,
        basis: &Basis,
        patch: &Patch,
    ) -> Result<(Layout, Vec<Place>, Touched), OverlayError> {
        let places = self.layout.places(patch, basis.n_log, &basis.late);
        let places = places.ok_or_else(|| misfit(id, "patch"))?;
        let done = self.layout.clone().fold(self.blocks.len(), &places, patch);
        let (layout, touched) = done.ok_or_else(|| misfit(id, "patch"))?;
        Ok((layout, places, touched))
    }

    /// Returns the messages of the log from the first to the last that is touched, those of the parents included.
    fn covers(&self, touched: &Touched, parents: &BTreeSet<usize>) -> Range<usize> {
        let of_log = touched.runs.iter().filter(|run| run.source == Source::Log).map(|run| run.range.clone());
        let of_parents = parents.iter().map(|parent| self.blocks[*parent].covers.clone());
        let anchors = touched.anchors.iter().filter_map(|anchor| match anchor {
            None => Some(0..0),
            Some(item) if item.source == Source::Log => Some(item.at + 1..item.at + 1),
            Some(_) => None,
        });
        let all = of_log.chain(of_parents).chain(anchors);
        all.fold(None, |hull, range| Some(joined(hull, &range))).unwrap_or(0..0)
    }

    fn compare(
        &self,
        log: &[Message],
        before: &Projection<'_>,
        admitted: &Admitted,
        plan: &BlockPlan,
        weigher: &dyn TokenCounter,
    ) -> BlockPreview {
        let mut parts = self.parts();
        parts.layout = Cow::Borrowed(&admitted.layout);
        parts.ids.push(&plan.id);
        parts.patches.push(&plan.patch);
        let is_grown = self.is_grown(log) || plan.basis.n_log < log.len();
        let after = Projection::of(log, parts, self.active_print(), is_grown);
        let bodies = plan.patch.edits.iter().filter(|edit| matches!(edit, Edit::Body { .. }));
        BlockPreview {
            tokens_before: before.tokens(weigher),
            tokens_after: after.tokens(weigher),
            messages_before: before.len(),
            messages_after: after.len(),
            hidden: before.n_shown() - after.n_shown(),
            changed: bodies.count(),
        }
    }

    /// Applies a block of an event; what needs the log is taken from the block.
    fn reapply(&mut self, block: CompactionBlock) -> Result<(), OverlayError> {
        self.check_basis(&block.id, &block.basis)?;
        let (layout, places, touched) = self.lay_out(&block.id, &block.basis, &block.patch)?;
        let seen = self.layout.parents(&touched, &std::collections::BTreeMap::new());
        let parents: Option<BTreeSet<usize>> =
            block.parents.iter().map(|id| self.numbers.get(id).copied()).collect();
        let parents = parents.filter(|parents| parents.iter().all(|parent| self.is_active[*parent]));
        if parents.is_none_or(|parents| !parents.is_superset(&seen)) {
            return Err(misfit(&block.id, "parents"));
        }
        if block.covers.start > block.covers.end || block.covers.end > block.basis.n_log {
            return Err(misfit(&block.id, "covers"));
        }
        drop(self.push(block, places, layout));
        Ok(())
    }
}

fn misfit(id: &BlockId, what: &'static str) -> OverlayError {
    OverlayError::Misfit { id: id.clone(), what }
}

fn refused(id: &BlockId, why: PatchError) -> OverlayError {
    OverlayError::Refused { id: id.clone(), why }
}

fn joined(hull: Option<Range<usize>>, range: &Range<usize>) -> Range<usize> {
    hull.map_or_else(|| range.clone(), |hull| hull.start.min(range.start)..hull.end.max(range.end))
}

fn check_block(block: &CompactionBlock, log: &[Message], hashes: &Hashes) -> Result<(), OverlayError> {
    let id = || block.id.clone();
    let n_known = block.basis.n_log;
    if log.len() < n_known {
        return Err(OverlayError::LogTooShort { id: id(), n_known, n_log: log.len() });
    }
    match hashes.first_difference(&block.covers, &block.provenance.covered) {
        Some(first) => Err(OverlayError::LogChanged { id: id(), first }),
        None => Ok(()),
    }
}

impl Serialize for Overlay {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.events())
    }
}

impl<'de> Deserialize<'de> for Overlay {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let events = Vec::<BlockEvent<'static>>::deserialize(from)?;
        Self::replay(events).map_err(serde::de::Error::custom)
    }
}
