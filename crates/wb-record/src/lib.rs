//! Sessions as documents over their own bytes.
//!
//! The bytes of a session are [`Parts`]: one file, rows of a database, memory. A [`Format`] detects
//! its own by a [`Probe`] and opens them as a [`Document`], of which messages are a [`View`], each
//! with its [`Place`]s. The target of a change is a list of [`Item`]s; the document renders it as a
//! [`ChangeSet`], in the way native to the format, and touches no other byte. A change is an
//! [`Operation`] of a [`History`], which undoes and redoes it; [`Blocks`] are its compactions, how
//! they build on each other and what they hide.
//!
//! This crate knows no agent and counts no tokens. Files it touches in [`FileParts`], [`write_new`]
//! and the database.
//!
//! ```
//! use wb_record::{ChangeSet, MemoryParts, Parts};
//!
//! let mut parts = MemoryParts::from_bytes("{}\n");
//! let set = ChangeSet::append("", 3, b"{\"a\":1}\n".to_vec());
//! parts.commit(&set)?;
//! assert_eq!(parts.whole("")?, b"{}\n{\"a\":1}\n");
//! parts.commit(&set.inverse())?;
//! assert_eq!(parts.whole("")?, b"{}\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod parts;
pub mod json;
mod view;
mod format;
mod history;
mod numbers;

pub use format::{
    Abilities, Ability, Confidence, Document, Format, NotExpressible, ONLY_CONVERSATION, Stamp, Wanted,
    WriteError,
};
pub use history::History;
pub use history::blocks::{Blocks, CompactionBlock, Explanation, Section};
pub use history::changed_part::ChangedPart;
pub use history::delegated::DelegatedCompaction;
pub use history::error::HistoryError;
pub use history::operation::{Operation, OperationKind};
pub use history::operation_list::history_path;
pub use history::record_ref::RecordRef;
pub use history::undo::UndoMethod;
#[cfg(any(unix, windows))]
pub use history::whole_log::WholeLog;
pub use json::scan::JsonScan;
pub use json::splice;
pub use numbers::Numbers;
pub use parts::change::{Bytes, Change, ChangeSet, CommitError};
pub use parts::error::{FileError, FormatError};
#[cfg(any(unix, windows))]
pub use parts::file::{FileParts, append_line};
pub use parts::lines::{Line, Lines};
pub use parts::part::{Access, BorrowedPart, MemoryParts, PartReader, Parts};
pub use parts::probe::{Probe, ProbedValue};
pub use parts::span::{PartId, Span};
#[cfg(feature = "sqlite")]
pub use parts::sqlite;
#[cfg(any(unix, windows))]
pub use parts::write::{check_new, write_new};
pub use parts::{lines, recover};
pub use view::missing_role::MissingRole;
pub use view::note::Note;
pub use view::target_view::{Item, items};
pub use view::{Place, Provenance, Segment, Segments, UsageAt, View, forget_stale_usage};
