//! Published ways of keeping a conversation inside a context window, exact to their recorded answers.
//!
//! Three documents describe how other systems do it. Each is a module here, under the published names and with the
//! answers that were recorded of it, faults included: for whoever moves from one of these systems and must reproduce
//! what it did, and for comparing. Each fault is named in the doc of the item that has it, with what to use instead.
//! Nothing else of this workspace uses this crate but the facade, and it depends on nothing but the messages.
//!
//! | module | document | what it is |
//! |---|---|---|
//! | [`three_level`] | 1 | tool outputs are cut, old turns collapsed, the middle dropped |
//! | [`overlay`] | 1, its notes | blocks over the loops of a session, which are rendered in place of their messages |
//! | [`context_window`] | 3 | a buffer of messages with a token budget |
//! | [`policy`] | 4 | a policy and what a runtime makes of it: previews, truncation, summaries |
//!
//! What holds for all of them: a tool call can be separated from its result, a result can be over its budget in
//! silence, and nothing can be undone. The pipeline of `wb-conductor` has none of these faults.
//!
//! What the systems take from a clock or from chance is an input here, or left out: synthetic messages have no time of
//! their own, and ids of new messages are made by the caller. Our messages have kinds that the documents do not know;
//! each module says what it takes them for.
//!
//! ```
//! use wb_compat::context_window::{ChatMessage, ContextWindow};
//!
//! let mut window = ContextWindow::new(1000, 200);
//! window.push(ChatMessage::user("Hello"), 700);
//!
//! // 700 / (1000 - 200) = 87.5% full
//! assert!(window.needs_compaction(0.8));
//! assert!(!window.needs_compaction(0.9));
//! ```

pub mod three_level;
pub mod overlay;
pub mod context_window;
pub mod policy;

pub use context_window::ContextWindow;
