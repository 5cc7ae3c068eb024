//! The current system in the notes of document 1: blocks over the messages of a session's loops.
//!
//! The notes only name `CompactionBlock` and `BlockCompactionStrategy`; the rest is the published
//! crate's. Every recorded block and rendering is equal. A session is a list of loops, each with
//! its messages and, once compacted, one [`CompactionBlock`]; [`build_context_from_session`]
//! renders the context for a model.
//!
//! ```
//! use wb_compat::overlay::{
//!     CompactionConfig, DefaultBlockCompaction, LoopMessage, LoopRecord, Session,
//!     build_context_from_session, compact_session_loops,
//! };
//! use wb_message::Message;
//!
//! let texts = ["Port it.", "Which part?", "All.", "Done."];
//! let turn = |(text, at): (&&str, u32)| {
//!     LoopMessage { message: Message::assistant(*text), turn_index: Some(at) }
//! };
//! let messages = texts.iter().zip(0..).map(turn).collect();
//! let mut session = Session { loops: vec![LoopRecord::new("L0", None, messages)] };
//!
//! let config = CompactionConfig {
//!     keep_first_turns: 1,
//!     keep_recent_turns: 1,
//!     ..CompactionConfig::default()
//! };
//! compact_session_loops(&mut session, "L0", &DefaultBlockCompaction, &config, 96_000);
//! let context = build_context_from_session(&session, "L0", &config, 96_000);
//! assert_eq!(context[1], Message::user("[Summary] Which part?"));
//! assert_eq!(context.len(), 4);
//! ```
//!
//! # Faults
//! The rendering is never compared with a budget. In a short loop the first and the recent turns
//! overlap, and the overlap is rendered twice. Only replies of the middle leave a line: user
//! messages, errors and earlier summaries are lost. A new block replaces the last one, without
//! undo, history or versions. Use the history and the blocks of `wb-record`.

mod block;
mod session;

pub use block::{
    BlockCompactionStrategy, CompactedSection, CompactionBlock, CompactionConfig, CompactionScope,
    DefaultBlockCompaction, LoopMessage, TurnMap, TurnRange,
};
pub use session::{LoopRecord, Session, build_context_from_session, compact_session_loops};
