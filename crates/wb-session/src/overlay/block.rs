//! The block: one compaction as stored data.

use std::borrow::{Borrow, Cow};
use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wb_message::Patch;

use super::fingerprint::Fingerprint;

/// The `customType` of the pi `custom` entries whose `data` is a [`BlockEvent`].
pub const BLOCK_EVENT_TYPE: &str = "compaction_block";

/// The name of a block, unique in its overlay.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BlockId(String);

impl BlockId {
    /// Returns the name as it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for BlockId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

impl From<String> for BlockId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl Borrow<str> for BlockId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Who made a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Author {
    /// A rule without a digest, such as one that cuts tool outputs.
    Rule {
        /// The rule's name.
        name: String,
    },
    /// A strategy that wrote a digest without a model.
    Local {
        /// The strategy's name.
        name: String,
    },
    /// A model.
    Model {
        /// The model's name.
        name: String,
    },
}

/// Where a block comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Provenance {
    /// Who made it.
    pub author: Author,
    /// When, in milliseconds since the Unix epoch, given by whoever made it.
    pub created_at: i64,
    /// The weight of the projection before, in tokens.
    pub tokens_before: u64,
    /// The weight of the projection after, in tokens.
    pub tokens_after: u64,
    /// What the covered messages of the log were: a fingerprint each of at most 16 parts of equal length.
    pub covered: Vec<Fingerprint>,
}

/// The state that a patch was planned on: what its indices mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Basis {
    /// The blocks that were active, by their ids in order.
    pub active: Fingerprint,
    /// How many messages the log had.
    pub n_log: usize,
    /// The messages of the log that no block folds and that were hidden anyway: results that came after their
    /// call had been folded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub late: Vec<usize>,
}

/// One compaction over an append-only log, as data that is never rewritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CompactionBlock {
    /// The block's name.
    pub id: BlockId,
    /// The active blocks that this one stands on: whose messages it folds or changes, or whose traces lie in what it
    /// folds. In the order of their application.
    pub parents: Vec<BlockId>,
    /// The messages of the log, by index, from the first to the last that it folds or changes, those that its parents
    /// cover among them.
    pub covers: Range<usize>,
    /// Who made it, when, and of what.
    pub provenance: Provenance,
    /// The state that the patch was planned on.
    pub basis: Basis,
    /// What it changes, in indices of the projection that it was planned on.
    pub patch: Patch,
}

/// What happened to an overlay; events are only ever appended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum BlockEvent<'a> {
    /// A block was applied.
    Applied {
        /// The block.
        block: Cow<'a, CompactionBlock>,
    },
    /// A block was taken back.
    Undone {
        /// Its name.
        id: Cow<'a, BlockId>,
    },
    /// A block that had been taken back was applied again.
    Redone {
        /// Its name.
        id: Cow<'a, BlockId>,
    },
}
