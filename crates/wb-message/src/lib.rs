//! Transcripts of LLM agents: messages, the pairing of calls with results, and patches that never
//! break a transcript.
//!
//! A transcript is a `&[Message]`. [`Pairing`] reads it once and knows the legal cuts. A [`Patch`]
//! describes a change as data; [`Patch::apply`] makes the change, refuses to separate a tool call
//! from its result, and returns an [`Undo`]. This crate knows no tokens, models, clocks or files.
//!
//! ```
//! use serde_json::json;
//! use wb_message::{Block, Edit, Message, Pairing, Patch};
//!
//! let mut messages = vec![
//!     Message::user("What does lib.rs do?"),
//!     Message::assistant_blocks(vec![Block::call("c1", "read", json!({"path": "lib.rs"}))]),
//!     Message::tool_result("c1", "read", "pub fn answer() -> u8 { 42 }"),
//!     Message::assistant("It answers."),
//! ];
//! assert!(!Pairing::new(&messages).is_legal(2), "a cut there would orphan the result");
//!
//! let patch = Patch::new(vec![Edit::Fold { range: 0..3, with: vec![Message::user("[digest]")] }]);
//! let undo = patch.apply(&mut messages)?;
//! assert_eq!(messages.len(), 2);
//! undo.revert(&mut messages);
//! assert_eq!(messages.len(), 4);
//! # Ok::<(), wb_message::PatchError>(())
//! ```

pub mod block;
pub mod message;
pub mod turn;
mod transcript_json;
mod xml;
mod controls;
pub mod markers;
mod json;
pub mod text;
pub mod excerpt;
mod untrusted;
pub mod bytes;
pub mod number;
pub mod tools;
pub mod inferred_role;
pub mod pairing;
pub mod fingerprint;
mod content_fingerprint;
mod piece_fingerprint;
pub mod patch;
pub mod outline;

pub use block::Block;
pub use content_fingerprint::content_fingerprints;
pub use fingerprint::{blocks_fingerprint, fingerprint, prefix_fingerprint, quick_fingerprint};
pub use message::{Aside, Content, Message};
pub use pairing::{CallIds, CallPosition, Pair, Pairing, last_prompt_start, runs};
pub use patch::{AppliedPatch, Edit, Origin, Patch, PatchError, Undo};
pub use piece_fingerprint::piece_fingerprints;
pub use serde_json::{Value, json};
pub use tools::{ToolRole, ToolVocabulary};
pub use transcript_json::{TranscriptJsonError, messages_from_json, turns_from_json};
pub use turn::{Conversation, ToolDescriptor, Turn};
pub use untrusted::Untrusted;
