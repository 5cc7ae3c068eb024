//! The layout: which messages of the log and of blocks the projection is made of, as runs.
//!
//! A block's patch speaks of indices of the projection that it was planned on. They are turned into places once, by
//! the items that stand there, and places stay true when an older block that the later ones do not stand on is
//! taken back. All work here is in runs and edits, not in messages.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wb_message::{Edit, Patch};

/// Where messages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// The log.
    Log,
    /// What a fold of a block brings.
    Fold {
        /// The block, by its number in the overlay.
        block: usize,
        /// The fold, by its number in the block's patch.
        edit: usize,
    },
}

/// One message by its source and its index in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Item {
    pub(crate) source: Source,
    pub(crate) at: usize,
}

/// Consecutive messages of one source; an empty range is the trace of a fold that brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) source: Source,
    pub(crate) range: Range<usize>,
}

impl Run {
    fn holds(&self, item: Item) -> bool {
        self.source == item.source && self.range.contains(&item.at)
    }

    /// Returns the bounds of its items for a map that is ordered by item.
    pub(crate) fn items(&self) -> Range<Item> {
        let item = |at| Item { source: self.source, at };
        item(self.range.start)..item(self.range.end)
    }
}

/// Where an edit of a block takes place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The body of a message.
    Body(Item),
    /// The messages from one to another.
    Fold(Item, Item),
    /// Right after a message; none is the start.
    After(Option<Item>),
    /// Right after what the edit before it brought.
    Here,
}

/// An edit of a block, by numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EditAt {
    pub(crate) block: usize,
    pub(crate) edit: usize,
}

/// What a block folds, changes or stands next to.
#[derive(Debug, Default)]
pub(crate) struct Touched {
    /// What its folds take and its bodies replace.
    pub(crate) runs: Vec<Run>,
    /// What its insertions follow.
    pub(crate) anchors: Vec<Option<Item>>,
}

/// What the projection is made of.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    runs: Vec<Run>,
    bodies: BTreeMap<Item, Vec<EditAt>>,
    /// Ranges of the log that folds took: from the start to the end and the block.
    folded: BTreeMap<usize, (usize, usize)>,
    /// For each block the one that folded the first message of it.
    above: Vec<Option<usize>>,
    /// For each block the fold that brings its first message.
    heads: Vec<Option<usize>>,
}

impl Layout {
    /// Lays out a log of any length without blocks.
    pub(crate) fn of_log() -> Self {
        Self {
            runs: vec![Run { source: Source::Log, range: 0..usize::MAX }],
            bodies: BTreeMap::new(),
            folded: BTreeMap::new(),
            above: Vec::new(),
            heads: Vec::new(),
        }
    }

    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Returns the body edits of the messages of a run, each with the edits in the order of their application.
    pub(crate) fn bodies(&self, run: &Run) -> impl Iterator<Item = (Item, &[EditAt])> {
        let range = (!run.range.is_empty()).then(|| self.bodies.range(run.items()));
        range.into_iter().flatten().map(|(item, edits)| (*item, edits.as_slice()))
    }

    /// Returns the body edits of one message, in the order of their application.
    pub(crate) fn bodies_of(&self, item: Item) -> &[EditAt] {
        self.bodies.get(&item).map_or(&[], Vec::as_slice)
    }

    /// Returns the block that folded a message of the log.
    pub(crate) fn folded_by(&self, at: usize) -> Option<usize> {
        let (_, (end, block)) = self.folded.range(..=at).next_back()?;
        (at < *end).then_some(*block)
    }

    /// Returns a block and those that hide its first message, innermost first.
    pub(crate) fn chain(&self, block: usize) -> impl Iterator<Item = usize> {
        std::iter::successors(Some(block), |block| self.above.get(*block).copied().flatten())
    }

    /// Lays out one more block; nothing if a place is not there.
    pub(crate) fn fold(mut self, block: usize, places: &[Place], patch: &Patch) -> Option<(Self, Touched)> {
        self.above.resize(block + 1, None);
        self.heads.resize(block + 1, None);
        self.heads[block] = head(patch);
        let mut touched = Touched::default();
        let mut walk = Walk::over(std::mem::take(&mut self.runs));
        for (edit, (place, change)) in places.iter().zip(&patch.edits).enumerate() {
            match *place {
                Place::Body(item) => {
                    touched.runs.push(Run { source: item.source, range: item.at..item.at + 1 });
                    self.bodies.entry(item).or_default().push(EditAt { block, edit });
                    continue;
                }
                Place::Fold(first, last) => {
                    walk.pass_before(first)?;
                    let taken = touched.runs.len();
                    walk.take_through(last, &mut touched.runs)?;
                    self.note_taken(block, &touched.runs[taken..]);
                }
                Place::After(anchor) => {
                    touched.anchors.push(anchor);
                    if let Some(item) = anchor {
                        walk.pass_through(item)?;
                    }
                }
                Place::Here => {}
            }
            let n_with = if let Edit::Fold { with, .. } = change { with.len() } else { 0 };
            walk.emit(Run { source: Source::Fold { block, edit }, range: 0..n_with });
        }
        self.runs = walk.finish();
        Some((self, touched))
    }

    fn note_taken(&mut self, block: usize, runs: &[Run]) {
        for run in runs {
            match run.source {
                Source::Log => {
                    self.folded.insert(run.range.start, (run.range.end, block));
                }
                Source::Fold { block: below, edit } => {
                    if self.heads[below] == Some(edit) && run.range.start == 0 {
                        self.above[below] = Some(block);
                    }
                }
            }
        }
    }

    /// Turns the indices of a patch into places, given the length of the log and the late messages that the
    /// projection did not show; nothing if an index is out of range.
    pub(crate) fn places(&self, patch: &Patch, n_log: usize, late: &[usize]) -> Option<Vec<Place>> {
        let seen = Seen::of(&self.runs, n_log, late);
        let mut free_from = None;
        let place = |edit: &Edit| match edit {
            Edit::Body { at, .. } => seen.item(*at).map(Place::Body),
            Edit::Fold { range, .. } => {
                let follows = free_from == Some(range.start);
                free_from = Some(range.end);
                match range.end.checked_sub(1) {
                    Some(last) if !range.is_empty() => {
                        Some(Place::Fold(seen.item(range.start)?, seen.item(last)?))
                    }
                    _ if follows => Some(Place::Here),
                    Some(before) => Some(Place::After(Some(seen.item(before)?))),
                    None => Some(Place::After(None)),
                }
            }
        };
        patch.edits.iter().map(place).collect()
    }

    /// Returns the blocks that touched what is touched now, in order; `hider` tells for a late message of the log which
    /// block hides its call.
    pub(crate) fn parents(&self, touched: &Touched, late: &BTreeMap<usize, usize>) -> BTreeSet<usize> {
        let mut parents = BTreeSet::new();
        for run in &touched.runs {
            match run.source {
                Source::Log => parents.extend(late.range(run.range.clone()).map(|(_, hider)| *hider)),
                Source::Fold { block, .. } => {
                    parents.insert(block);
                }
            }
            parents.extend(self.bodies(run).flat_map(|(_, edits)| edits).map(|edit| edit.block));
        }
        parents.extend(touched.anchors.iter().flatten().filter_map(|item| match item.source {
            Source::Log => None,
            Source::Fold { block, .. } => Some(block),
        }));
        parents
    }
}

/// Returns the fold that brings the first message of a patch, else its first fold.
fn head(patch: &Patch) -> Option<usize> {
    let mut folds = patch.edits.iter().enumerate().filter_map(|(at, edit)| match edit {
        Edit::Fold { with, .. } => Some((at, with.is_empty())),
        Edit::Body { .. } => None,
    });
    let first = folds.next()?;
    let head = if first.1 { folds.find(|(_, is_empty)| !is_empty) } else { None };
    Some(head.unwrap_or(first).0)
}

/// Runs on their way from the old list to the new one.
#[derive(Debug)]
struct Walk {
    old: std::vec::IntoIter<Run>,
    current: Option<Run>,
    new: Vec<Run>,
}

impl Walk {
    fn over(runs: Vec<Run>) -> Self {
        let new = Vec::with_capacity(runs.len() + 2);
        let mut old = runs.into_iter();
        Self { current: old.next(), old, new }
    }

    /// Appends a run; one that goes on where the last one ended is joined to it.
    fn emit(&mut self, run: Run) {
        match self.new.last_mut() {
            Some(last)
                if last.source == run.source
                    && last.range.end == run.range.start
                    && !last.range.is_empty()
                    && !run.range.is_empty() =>
            {
                last.range.end = run.range.end;
            }
            _ => self.new.push(run),
        }
    }

    fn pass_before(&mut self, item: Item) -> Option<()> {
        loop {
            let mut run = self.current.take()?;
            if run.holds(item) {
                let rest = Run { source: run.source, range: item.at..run.range.end };
                run.range.end = item.at;
                if !run.range.is_empty() {
                    self.emit(run);
                }
                self.current = Some(rest);
                return Some(());
            }
            self.emit(run);
            self.current = self.old.next();
        }
    }

    fn pass_through(&mut self, item: Item) -> Option<()> {
        self.pass_before(item)?;
        let mut passed = Vec::new();
        self.take_through(item, &mut passed)?;
        for run in passed {
            self.emit(run);
        }
        Some(())
    }

    fn take_through(&mut self, item: Item, taken: &mut Vec<Run>) -> Option<()> {
        loop {
            let mut run = self.current.take()?;
            if run.holds(item) {
                let rest = Run { source: run.source, range: item.at + 1..run.range.end };
                run.range.end = item.at + 1;
                taken.push(run);
                self.current = if rest.range.is_empty() { self.old.next() } else { Some(rest) };
                return Some(());
            }
            taken.push(run);
            self.current = self.old.next();
        }
    }

    fn finish(mut self) -> Vec<Run> {
        while let Some(run) = self.current.take() {
            self.emit(run);
            self.current = self.old.next();
        }
        self.new
    }
}

/// The runs that a projection showed, each with the index of its first message in it.
#[derive(Debug)]
struct Seen {
    starts: Vec<usize>,
    runs: Vec<Run>,
    n_messages: usize,
}

impl Seen {
    fn of(runs: &[Run], n_log: usize, late: &[usize]) -> Self {
        let mut seen = Self { starts: Vec::new(), runs: Vec::new(), n_messages: 0 };
        let mut late = late.iter().copied().peekable();
        for run in runs {
            if run.source != Source::Log {
                seen.push(run.source, run.range.clone());
                continue;
            }
            let (mut start, end) = (run.range.start, run.range.end.min(n_log));
            while late.next_if(|at| *at < start).is_some() {}
            while let Some(at) = late.next_if(|at| *at < end) {
                seen.push(Source::Log, start..at);
                start = at + 1;
            }
            seen.push(Source::Log, start..end);
        }
        seen
    }

    fn push(&mut self, source: Source, range: Range<usize>) {
        if !range.is_empty() {
            self.starts.push(self.n_messages);
            self.n_messages = self.n_messages.saturating_add(range.len());
            self.runs.push(Run { source, range });
        }
    }

    fn item(&self, at: usize) -> Option<Item> {
        let run = self.starts.partition_point(|start| *start <= at).checked_sub(1)?;
        let item = self.runs[run].range.start + (at - self.starts[run]);
        (at < self.n_messages).then_some(Item { source: self.runs[run].source, at: item })
    }
}
