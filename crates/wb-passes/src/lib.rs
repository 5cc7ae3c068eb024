//! Free compaction passes: no model, no clock, one file each.
//!
//! | pass | what it may lose |
//! |---|---|
//! | [`Microcompact`] | bodies of older tool results whose tool can be run again |
//! | [`Preview`] | the middle of giant tool bodies and shell outputs |
//! | [`Artifact`] | the middle of each tool body and shell output above a size of its own |
//! | [`ToolOutput`] | all but the first and last lines of tool results and shell outputs |
//! | [`Collapse`] | thinking, calls, results and the ends of long texts of older replies |
//! | [`DropMiddle`] | whole messages, but neither the task nor the latest request |
//! | [`Truncate`] | the oldest history, without a digest |
//!
//! A pass plans a [`Patch`](wb_message::Patch) over a [`View`](wb_budget::View); nothing is rewritten until the
//! patch is applied. [`Climb`] applies several, one after the other; [`three_level`] runs four of them, cheapest
//! first, until a transcript fits. [`restore_reads`] is the other direction: it builds the messages that give the
//! agent back the files it was just reading. [`Repair`] may add weight too: it answers calls whose result never
//! came, and takes results whose call is gone.
//!
//! ```
//! use serde_json::json;
//! use wb_budget::{Tariff, View, prefix_tokens};
//! use wb_message::{Block, Message, Pairing};
//! use wb_passes::{Goal, Microcompact, Pass};
//!
//! let mut messages = Vec::new();
//! for n in 0..8 {
//!     let id = format!("call_{n}");
//!     messages.push(Message::assistant_blocks(vec![Block::call(&id, "Read", json!({"file_path": "a.rs"}))]));
//!     messages.push(Message::tool_result(&id, "Read", "fn main() {}\n".repeat(40)));
//! }
//! let (prefix, pairing) = (prefix_tokens(&messages), Pairing::of(&messages));
//! let view = View { messages: &messages, prefix: &prefix, pairing: &pairing };
//! let patch = Microcompact::default().plan(view, Goal { target_tokens: 0, weigher: &Tariff::SEED });
//! assert_eq!(patch.map(|patch| patch.edits.len()), Some(2), "all but the newest six are cleared");
//! ```

pub mod pass;
pub mod microcompact;
pub mod rehydrate;
pub mod preview;
pub mod artifact;
mod groups;
pub mod tool_output;
pub mod collapse;
pub mod drop_middle;
pub mod truncate;
pub mod repair;

pub use wb_message::marks::{CLEARED_TOOL_RESULT, RESTORED_FILE_PREFIX};

pub use artifact::{
    ARTIFACT_COMPACTION, ARTIFACT_SETTINGS_KEY, Artifact, ArtifactCompactionConfig, ArtifactConfigError,
};
pub use collapse::Collapse;
pub use drop_middle::DropMiddle;
pub use microcompact::{DEFAULT_KEEP_RECENT, Microcompact, clear_stale_tool_results, compactable_tool_names};
pub use pass::{Goal, Pass};
pub use preview::{MIN_PREVIEW_BYTES, Preview};
pub use rehydrate::{RehydrateOpts, RestoreLimits, rehydrate_recent_reads, restore_reads};
pub use repair::{INTERRUPTED, MAX_ORPHAN_BYTES, OrphanFate, Repair, Repaired};
pub use tool_output::{ToolOutput, truncate_head_tail};
pub use truncate::{STEPS_PER_TARGET, Truncate};
