//! A log that grows under an overlay, and random things done to both.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use wb_budget::TokenHeuristic;
use wb_message::markers::is_pinned;
use wb_message::{Block, Edit, Message, Pairing, Patch};
use wb_session::overlay::{
    Author, BlockPlan, CompactionBlock, Explanation, Overlay, OverlayError, ProjectedFrom,
};
use wb_testkit::laws;

/// Something that is done to a log and its overlay.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Apply(Vec<(Index, Index, u8)>, Vec<Index>),
    Undo,
    UndoBlock(Index),
    Redo,
    Append(usize),
}

pub(crate) fn act() -> impl Strategy<Value = Act> {
    let cuts = vec((any::<Index>(), any::<Index>(), 0..4_u8), 0..4);
    prop_oneof![
        6 => (cuts, vec(any::<Index>(), 0..3)).prop_map(|(cuts, bodies)| Act::Apply(cuts, bodies)),
        2 => Just(Act::Undo),
        2 => any::<Index>().prop_map(Act::UndoBlock),
        3 => Just(Act::Redo),
        3 => (0..4_usize).prop_map(Act::Append),
    ]
}

/// A log of which some is still to come.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) all: Vec<Message>,
    pub(crate) n_log: usize,
    pub(crate) overlay: Overlay,
}

pub(crate) fn author() -> Author {
    Author::Rule { name: "test".into() }
}

impl World {
    pub(crate) fn new(all: Vec<Message>, n_log: usize) -> Self {
        let n_log = n_log.min(all.len());
        Self { all, n_log, overlay: Overlay::new() }
    }

    pub(crate) fn log(&self) -> &[Message] {
        &self.all[..self.n_log]
    }

    pub(crate) fn seen(&self) -> Vec<Message> {
        self.overlay.project(self.log()).unwrap().to_vec()
    }

    pub(crate) fn plan(&self, patch: Patch) -> BlockPlan {
        let now = self.overlay.project(self.log()).unwrap();
        now.plan(self.overlay.next_id(), author(), 7, patch)
    }

    pub(crate) fn seal(&self, patch: Patch) -> Result<CompactionBlock, OverlayError> {
        self.overlay.seal(self.log(), self.plan(patch), &TokenHeuristic::DEFAULT)
    }

    pub(crate) fn apply(&mut self, patch: Patch) -> Result<(), OverlayError> {
        let block = self.seal(patch)?;
        self.overlay.apply(&self.all[..self.n_log], block).map(drop)
    }

    pub(crate) fn run_all(&mut self, acts: &[Act]) {
        for act in acts {
            self.run(act);
        }
    }

    pub(crate) fn run(&mut self, act: &Act) {
        match act {
            Act::Apply(cuts, bodies) => {
                let before = self.seen();
                let patch = legal_patch(&before, cuts, bodies);
                let mut expected = before;
                drop(patch.clone().apply(&mut expected).unwrap());
                self.apply(patch).unwrap();
                assert_eq!(self.seen(), expected);
            }
            Act::Undo => drop(self.overlay.undo()),
            Act::Redo => drop(self.overlay.redo()),
            Act::UndoBlock(at) => {
                let ids: Vec<_> = self.overlay.blocks().iter().map(|block| block.id.clone()).collect();
                if !ids.is_empty() {
                    drop(self.overlay.undo_block(at.get(&ids)));
                }
            }
            Act::Append(n) => self.n_log = self.all.len().min(self.n_log + n),
        }
    }

    /// Checks everything that always holds.
    pub(crate) fn check(&self) {
        let (log, projection) = (self.log(), self.overlay.project(self.log()).unwrap());
        let seen = projection.to_vec();
        laws::pairs_intact(log, &seen);
        laws::pinned_untouched(log, &seen);
        assert_eq!(projection.pairing(), Pairing::of(&seen));
        assert_eq!(projection.origins.len(), projection.len());
        for (at, message) in log.iter().enumerate() {
            match projection.explain(at).unwrap() {
                Explanation::Visible { at: place, changed_by } => {
                    assert_eq!(projection.origins[place], ProjectedFrom::Log { at });
                    assert!(!changed_by.is_empty() || seen[place] == *message);
                    self.all_active(&changed_by);
                }
                Explanation::Hidden { by } => {
                    assert!(!by.is_empty());
                    self.all_active(&by);
                }
            }
        }
        assert_eq!(projection.explain(log.len()), None);
        let mut bare = self.overlay.clone();
        while bare.undo().is_ok() {}
        assert_eq!(bare.project(log).unwrap().to_vec(), log);
    }

    fn all_active(&self, ids: &[&wb_session::BlockId]) {
        assert!(ids.iter().all(|id| self.overlay.active().any(|block| block.id == **id)));
    }
}

/// Makes a patch that a transcript accepts: folds between legal cuts to nothing, one or two messages, insertions, and
/// new bodies.
pub(crate) fn legal_patch(messages: &[Message], cuts: &[(Index, Index, u8)], bodies: &[Index]) -> Patch {
    let pairing = Pairing::of(messages);
    let legal: Vec<usize> = (0..=messages.len()).filter(|&at| pairing.is_legal(at)).collect();
    let mut edits: Vec<Edit> = Vec::new();
    let mut taken = vec![false; messages.len()];
    for (one, other, kind) in cuts {
        let (one, other) = (*one.get(&legal), *other.get(&legal));
        let range = one.min(other)..if *kind == 3 { one.min(other) } else { one.max(other) };
        let free = range.clone().all(|at| !taken[at] && !is_pinned(&messages[at]));
        if free {
            taken[range.clone()].fill(true);
            let with = ["[digest]", "[restored]"].map(Message::user).into_iter().take(usize::from(*kind % 3));
            edits.push(Edit::Fold { range, with: with.collect() });
        }
    }
    for at in bodies.iter().filter(|_| !messages.is_empty()).map(|at| at.index(messages.len())) {
        let has_calls = messages[at]
            .blocks()
            .iter()
            .any(|block| matches!(block, Block::ToolCall { .. } | Block::ToolResult { .. }));
        if !taken[at] && !has_calls && !is_pinned(&messages[at]) {
            taken[at] = true;
            edits.push(Edit::Body { at, content: vec![Block::text("[cleared]")] });
        }
    }
    let mut free_from = 0;
    let mut patch = Patch::new(edits);
    patch.edits.retain(|edit| {
        let (start, end) = match edit {
            Edit::Body { at, .. } => (*at, at + 1),
            Edit::Fold { range, .. } => (range.start, range.end),
        };
        let fits = start >= free_from;
        free_from = free_from.max(end);
        fits
    });
    patch
}
