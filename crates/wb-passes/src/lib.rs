//! Free compaction passes: no model, no clock, one file each.
//!
//! [`PASSES`] lists each pass with its effect and what it may lose.
//!
//! A pass plans a [`Patch`] over a [`WeighedTranscript`]; nothing is rewritten until the patch is
//! applied. The pipeline of `wb-conductor` runs several passes in a row. Two passes may add weight:
//! [`restore_reads`] builds messages that restore the files the agent was reading, and [`Repair`]
//! answers calls whose result never came and drops results whose call is missing.
//!
//! ```
//! use serde_json::json;
//! use std::sync::Arc;
//! use wb_budget::{TokenHeuristic, WeighedTranscript, TokenCounter};
//! use wb_message::{Block, Message};
//! use wb_passes::{Goal, Microcompact, Pass};
//!
//! let mut messages = Vec::new();
//! for n in 0..8 {
//!     let id = format!("call_{n}");
//!     let call = Block::call(&id, "Read", json!({"file_path": "a.rs"}));
//!     messages.push(Message::assistant_blocks(vec![call]));
//!     messages.push(Message::tool_result(&id, "Read", "fn main() {}\n".repeat(40)));
//! }
//! let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
//! let view = WeighedTranscript::new(&messages, &counter);
//! let patch = Microcompact::default().plan(&view, Goal::target(0));
//! assert_eq!(patch.map(|patch| patch.edits.len()), Some(2), "all but the newest six are cleared");
//! ```

pub mod pass;
pub mod microcompact;
pub mod images;
pub mod rehydrate;
pub mod preview;
pub mod oversized_result;
mod groups;
pub mod tool_output;
pub mod collapse;
pub mod drop_middle;
pub mod truncate;
pub mod repair;
pub mod table;

pub use wb_message::markers::{CLEARED_TOOL_RESULT, RESTORED_FILE_PREFIX};

pub use collapse::Collapse;
pub use drop_middle::DropMiddle;
pub use images::{ImagePolicy, Images};
pub use microcompact::{DEFAULT_KEEP_RECENT, Microcompact, clear_stale_tool_results, compactable_tool_names};
pub use oversized_result::{
    ARTIFACT_COMPACTION, ARTIFACT_SETTINGS_KEY, ArtifactCompactionConfig, OversizedResult,
};
pub use pass::{Goal, Pass};
pub use preview::{MIN_PREVIEW_BYTES, Preview};
pub use rehydrate::{RehydrateOpts, RestoreLimits, rehydrate_recent_reads, restore_reads};
pub use repair::{INTERRUPTED, MAX_ORPHAN_BYTES, OrphanPolicy, Repair, RepairReport};
pub use table::{Effect, PASSES, PassEntry, pass_entry};
pub use tool_output::{ToolOutput, truncate_head_tail};
pub use truncate::{STEPS_PER_TARGET, Truncate};
pub use wb_budget::{TokenCounter, TokenHeuristic, WeighedTranscript};
pub use wb_message::{Block, Edit, Message, Patch, ToolVocabulary, Undo, json};
