//! Session logs of agents: an append-only tree of entries, and the context that a model sees of it.
//!
//! A log is a file of JSON lines in the layout of the pi coding agent: a header, then entries that
//! name the entry they follow. Nothing in it is ever changed; going back and trying another way
//! makes a branch, and a compaction is an entry too. [`SessionLog::read`] reads a log as a stream,
//! bringing old layouts to the present one. [`SessionLog::path`] walks from a leaf to its root, and
//! [`build_context`] makes the messages of it: the digest of the last compaction, what that kept,
//! and all that came after.
//!
//! An open session is a [`Session`]: it keeps the [`Tree`] in memory and the content of entries in
//! an [`EntryStore`], appends entries in pi's form, moves its leaf, and exports itself or one of
//! its paths. [`Session::undo_compaction`] undoes its last compaction, [`Session::mark_leaf`] moves
//! its leaf so that reopening the session finds it there; both only append.
//!
//! With the feature `driver`, which is on by default, a [`SessionDriver`] keeps a session within
//! its model's window: the engine of `wb-conductor` compacts, hooks of extensions can change or
//! cancel a compaction, and each compaction becomes entries of the log. [`read_settings`] reads the
//! settings from two files. [`prepare_compaction`], `compact` and their like have fixed names and
//! answers that other hosts of such sessions know.
//!
//! With the feature `postgres`, sessions may be in a PostgreSQL database, which many programs write
//! at once: a `PostgresStore` is an [`EntryStore`] that others see new entries of.
//!
//! This crate uses no clock, touches files only in [`store`] and [`read_settings`], and reads from
//! any [`BufRead`](std::io::BufRead).
//!
//! ```
//! use wb_message::outline::outline;
//! use wb_session::{SessionLog, build_context};
//!
//! let file = r##"{"type":"session","version":3,"id":"s","cwd":"/"}
//! {"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"list"}}
//! {"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":"a.rs"}}
//! {"type":"compaction","id":"c","parentId":"b","summary":"# Goal","firstKeptEntryId":"b"}
//! {"type":"message","id":"d","parentId":"c","message":{"role":"user","content":"go on"}}
//! "##;
//! let log = SessionLog::read(file.as_bytes())?;
//! let context = build_context(&log, log.leaf())?;
//! assert_eq!(outline(&context.messages), "\
//! \u{20}  0 digest    \"# Goal\"
//! \u{20}  1 assistant \"a.rs\"
//! \u{20}  2 user      \"go on\"
//! ");
//! # Ok::<(), wb_session::SessionError>(())
//! ```

mod id;
mod error;
pub mod store;
mod entry;
mod tree;
mod session;
mod document2;
#[cfg(feature = "driver")]
mod driver;

pub use document2::*;
#[cfg(feature = "driver")]
pub use driver::*;
pub use entry::{
    BranchSummary, Compaction, ContextEdit, Custom, CustomMessage, Entry, EntryKind, EntryTag, Label, Logged,
    ModelChange, NewSession, Replacement, Request, SessionInfo, StopReason, ThinkingLevelChange,
    compaction_entries, iso_ms, parse_iso_ms,
};
pub use error::{SessionError, StoreError, Torn};
pub use id::{EntryId, IdSource};
pub use session::{LEAF_MARK, Session, UNDO_MARK, UndoneCompaction};
pub use store::{Durability, EntryStore, Record};
/// The token that cancels a compaction or a summary from outside; from the crate `tokio-util`.
#[cfg(feature = "driver")]
pub use tokio_util::sync::CancellationToken;
pub use tree::{
    Context, Header, LogNote, NEWEST_VERSION, Node, RequestAt, SessionLog, Tree, Unpaired, build_context,
};
pub use wb_message::{Block, Message, json, outline::outline};
