//! Session logs of agents: an append-only tree of entries, and the context that a model sees of it.
//!
//! A log is a file of JSON lines in the layout of the pi coding agent: a header, then entries that name the entry
//! they follow. Nothing in it is ever changed; going back and trying another way makes a branch, and a compaction
//! is an entry too. [`SessionLog::read`] reads a log as a stream, bringing old layouts to the present one.
//! [`SessionLog::path`] walks from a leaf to its root, and [`build_context`] makes the messages of it: the digest of
//! the last compaction, what that kept, and all that came after.
//!
//! This crate knows [`Message`](wb_message::Message) and [`Usage`](wb_budget::Usage), no files and no clocks: it
//! reads from any [`BufRead`](std::io::BufRead). Other formats of JSON lines can be read with [`Lines`].
//!
//! ```
//! use wb_message::outline::outline;
//! use wb_session::{SessionLog, build_context};
//!
//! let file = r##"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}
//! {"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"list"}}
//! {"type":"message","id":"b","parentId":"a","message":{"role":"assistant","content":[{"type":"text","text":"a.rs"}]}}
//! {"type":"compaction","id":"c","parentId":"b","summary":"# Goal","firstKeptEntryId":"b","tokensBefore":900}
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

pub mod id;
pub mod stamp;
pub mod lines;
pub mod error;
pub mod entry;
pub mod log;
pub mod context;
pub mod overlay;

pub use context::{Context, RequestAt, build_context};
pub use entry::{
    BranchSummary, Compaction, ContextEdit, CustomMessage, Entry, EntryKind, Logged, ModelChange,
    Replacement, Request, StopReason, ThinkingLevelChange,
};
pub use error::SessionError;
pub use id::EntryId;
pub use lines::{Line, Lines};
pub use log::{Header, LogNote, NEWEST_VERSION, SessionLog};
pub use overlay::{BlockEvent, BlockId, CompactionBlock, Overlay, OverlayError, Projection};
pub use stamp::parse_iso_ms;
