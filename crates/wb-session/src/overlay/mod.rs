//! Compaction as stored data over a log that nothing changes.
//!
//! A [`CompactionBlock`] holds a [`Patch`](wb_message::Patch), what it covers, what it stands on and who made it. An
//! [`Overlay`] is the blocks of one log; [`Overlay::project`] gives what the model sees, [`Projection::explain`] what
//! became of each message. Blocks may fold what earlier ones brought. Whatever is applied can be taken back and
//! applied again, and each step is a [`BlockEvent`] to be stored, for example as the `data` of a `custom` entry of a
//! pi session (`customType` [`BLOCK_EVENT_TYPE`]).
//!
//! ```
//! use wb_budget::TokenHeuristic;
//! use wb_message::{Edit, Message, Patch};
//! use wb_session::overlay::{Author, Explanation, Overlay};
//!
//! let mut log = vec![Message::user("a".repeat(900)), Message::assistant("b".repeat(900)), Message::user("go on")];
//! let mut overlay = Overlay::new();
//!
//! let fold = Edit::Fold { range: 0..2, with: vec![Message::user("[digest]")] };
//! let author = Author::Model { name: "small".into() };
//! let plan = overlay.project(&log)?.plan(overlay.next_id(), author, 0, Patch::new(vec![fold]));
//! let preview = overlay.preview(&log, &plan, &TokenHeuristic::DEFAULT)?;
//! assert!(preview.tokens_after < preview.tokens_before / 10);
//!
//! let block = overlay.seal(&log, plan, &TokenHeuristic::DEFAULT)?;
//! overlay.apply(&log, block)?;
//! log.push(Message::assistant("done"));
//! let projection = overlay.project(&log)?;
//! assert_eq!(projection.to_vec()[0], Message::user("[digest]"));
//! assert!(matches!(projection.explain(1), Some(Explanation::Hidden { .. })));
//!
//! overlay.undo()?;
//! assert_eq!(overlay.project(&log)?.to_vec(), log);
//! # Ok::<(), wb_session::overlay::OverlayError>(())
//! ```

pub mod fingerprint;
pub mod block;
pub mod error;
mod layout;
mod skeleton;
mod late_results;
pub mod plan;
pub mod projection;
pub mod state;
pub mod zones;
mod summary;
pub mod strategy;

pub use block::{Author, BLOCK_EVENT_TYPE, Basis, BlockEvent, BlockId, CompactionBlock, Provenance};
pub use error::OverlayError;
pub use fingerprint::Fingerprint;
pub use plan::{BlockPlan, BlockPreview};
pub use projection::{Explanation, ProjectedFrom, Projection};
pub use state::Overlay;
pub use strategy::{
    BLOCK_COMPACTION_CONFIG, BlockCompactionConfig, BlockCompactionStrategy, DefaultBlockCompaction,
};
pub use summary::{DIGEST_LEGEND, LINES_LEFT_OUT};
pub use zones::{Zones, turns};
