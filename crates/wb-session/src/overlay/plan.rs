//! The plan of a block: a patch on a projection, before it is applied.

use serde::{Deserialize, Serialize};
use wb_message::Patch;

use super::block::{Author, Basis, BlockId};

/// A patch that was planned on a projection, as data: it can be previewed, stored and applied later.
///
/// Messages may be appended to the log meanwhile; after another block was applied or taken back it is stale.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockPlan {
    /// The name of the block to be.
    pub id: BlockId,
    /// Who made the patch.
    pub author: Author,
    /// When, in milliseconds since the Unix epoch.
    pub created_at: i64,
    /// The state that the patch was planned on.
    pub basis: Basis,
    /// What it changes, in indices of the projection.
    pub patch: Patch,
}

/// What a block would do, in the very figures that hold once it is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockPreview {
    /// The weight of the projection before, in tokens.
    pub tokens_before: u64,
    /// The weight of the projection after, in tokens.
    pub tokens_after: u64,
    /// Messages of the projection before.
    pub messages_before: usize,
    /// Messages of the projection after.
    pub messages_after: usize,
    /// Messages of the log that are seen before and not after.
    pub hidden: usize,
    /// Messages whose bodies are replaced.
    pub changed: usize,
}
