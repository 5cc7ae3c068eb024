//! Published context management of other systems, exact to their recorded answers.
//!
//! Three documents describe these systems. Each is a module here, under the published names and
//! with the recorded answers, faults included, for migrations that must reproduce a system and for
//! comparisons. The doc of each faulty item names the fault and a replacement. Only the facade uses
//! this crate, and it depends only on the messages.
//!
//! | module | document | what it is |
//! |---|---|---|
//! | [`three_level`] | 1 | tool outputs are cut, old turns collapsed, the middle dropped |
//! | [`overlay`] | 1, its notes | blocks over a session's loops, rendered in place of messages |
//! | [`context_window`] | 3 | a buffer of messages with a token budget |
//! | [`policy`] | 4 | a policy and a runtime that applies it: previews, truncation, summaries |
//!
//! Common faults: a tool call can be separated from its result, a result can exceed its budget
//! without a report, and nothing can be undone. The pipeline of `wb-conductor` has none of these
//! faults.
//!
//! Clocks and randomness are inputs or left out: synthetic messages have no timestamp, and the
//! caller supplies the ids of new messages. Our messages have kinds that the documents do not know;
//! each module states how it treats them.
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
