//! Why an overlay refuses.

use std::ops::Range;

use wb_message::PatchError;

use super::block::BlockId;

/// Why an overlay cannot do what it was asked; the overlay is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OverlayError {
    /// There is no active block.
    #[error("no block is active")]
    NothingToUndo,
    /// No block was taken back since the last one was applied.
    #[error("no block can be applied again")]
    NothingToRedo,
    /// No block has this name.
    #[error("there is no block {id}")]
    UnknownBlock {
        /// The name.
        id: BlockId,
    },
    /// A block of this name is there already.
    #[error("there is a block {id} already")]
    DuplicateBlock {
        /// The name.
        id: BlockId,
    },
    /// The block is taken back already.
    #[error("block {id} is not active")]
    NotActive {
        /// The block.
        id: BlockId,
    },
    /// The event does not name the block that would be applied again.
    #[error("block {id} is not the next one to be applied again")]
    NotNext {
        /// The block.
        id: BlockId,
    },
    /// Active blocks stand on the one that was to be taken back.
    #[error("block {id} cannot be taken back: {} on it", stand(.by))]
    StoodOn {
        /// The block.
        id: BlockId,
        /// The blocks that stand on it, in the order of their application.
        by: Vec<BlockId>,
    },
    /// Blocks were applied or taken back since the block was planned.
    #[error("block {id} was planned on another state of the overlay")]
    Stale {
        /// The block.
        id: BlockId,
    },
    /// The block says of itself what is not so.
    #[error("block {id} does not fit its own patch: {what}")]
    Misfit {
        /// The block.
        id: BlockId,
        /// The field that is wrong.
        what: &'static str,
    },
    /// The patch is not legal on the projection.
    #[error("the patch of block {id} was refused: {why}")]
    Refused {
        /// The block.
        id: BlockId,
        /// The reason, in indices of the projection.
        why: PatchError,
    },
    /// The log is not the one that the block was made for.
    #[error("the log changed below block {id}: the first difference is in messages {}..{}", .first.start, .first.end)]
    LogChanged {
        /// The oldest block that covers a change.
        id: BlockId,
        /// Where the first difference is: one message where the block covers few, else some of them.
        first: Range<usize>,
    },
    /// The log is shorter than it was when the block was made.
    #[error("the log has {n_log} messages and had {n_known} when block {id} was made")]
    LogTooShort {
        /// The block.
        id: BlockId,
        /// Messages of the log then.
        n_known: usize,
        /// Messages of the log now.
        n_log: usize,
    },
}

fn stand(by: &[BlockId]) -> String {
    let names: Vec<&str> = by.iter().map(BlockId::as_str).collect();
    format!("{} {}", names.join(", "), if names.len() == 1 { "stands" } else { "stand" })
}
