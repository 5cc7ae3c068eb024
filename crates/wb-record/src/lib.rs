//! Sessions as documents over their own bytes.
//!
//! The bytes of a session are [`Parts`]: one file, rows of a database, memory. A [`Format`] tells by a [`Probe`] whether
//! they are its own and opens them as a [`Document`], of which messages are a [`View`], each with its [`Place`]s. What
//! the view shall become is a list of [`Item`]s; the document renders it as a [`ChangeSet`], in the way native to
//! the format, and touches no byte outside of it. What was changed is an [`Operation`] of its [`History`], which
//! undoes and redoes it; [`Blocks`] are the compactions of it, how they stand on each other and what they hide.
//!
//! This crate knows no agent and counts no tokens. Files it touches in [`FileParts`], [`write_new`] and the database.
//!
//! ```
//! use wb_record::{ChangeSet, MemoryParts, Parts};
//!
//! let mut parts = MemoryParts::of("{}\n");
//! let set = ChangeSet::append("", 3, b"{\"a\":1}\n".to_vec());
//! parts.commit(&set)?;
//! assert_eq!(parts.whole("")?, b"{}\n{\"a\":1}\n");
//! parts.commit(&set.inverse())?;
//! assert_eq!(parts.whole("")?, b"{}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod lines;
mod json_scan;
pub mod json;
mod numbers;
mod error;
mod note;
mod span;
mod change;
mod piece_table;
mod part;
mod changed_part;
pub mod splice;
pub mod settle;
mod reformatted;
mod whole_objects;
#[cfg(any(unix, windows))]
mod disk;
#[cfg(any(unix, windows))]
mod write;
#[cfg(any(unix, windows))]
mod file;
#[cfg(any(unix, windows))]
#[cfg(test)]
mod simulated;
#[cfg(any(unix, windows))]
#[cfg(test)]
mod power;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod probe;
mod view;
mod item;
mod missing_role;
mod format;
mod by_agent;
mod kept;
mod history_error;
mod operation;
mod history;
mod undo_in_log;
mod blocks;
mod undo;

pub use blocks::{Blocks, CompactionBlock, Explanation, Section};
pub use by_agent::ByAgent;
pub use change::{Bytes, Change, ChangeSet, CommitError};
pub use changed_part::ChangedPart;
pub use error::{FileError, FormatError};
#[cfg(any(unix, windows))]
pub use file::{FileParts, append_line};
pub use format::{
    Abilities, Ability, Confidence, Document, Format, NotExpressible, ONLY_CONVERSATION, Stamp, Wanted,
    WriteError,
};
pub use history::{History, list_of};
pub use history_error::HistoryError;
pub use item::{Item, items};
pub use json_scan::JsonScan;
pub use kept::Kept;
pub use lines::{Line, Lines};
pub use missing_role::MissingRole;
pub use note::Note;
pub use numbers::Numbers;
pub use operation::{Operation, What};
pub use part::{Access, BorrowedPart, MemoryParts, PartReader, Parts};
pub use probe::{Probe, Seen};
pub use span::{PartId, Span};
pub use undo::Undone;
pub use view::{Place, Provenance, Segment, Segments, UsageAt, View, forget_stale_usage};
#[cfg(any(unix, windows))]
pub use write::{check_new, write_new};
