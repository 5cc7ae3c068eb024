//! Document 1: a compaction in three levels, each run only if the previous one was not enough.
//!
//! The published code is the document's pseudocode; every recorded answer is equal. The document's
//! messages are ours: its `Content` is a [`Block`](wb_message::Block), its `Extension` a
//! [`Custom`](wb_message::Message::Custom) whose text is the extension's data as JSON. Shell
//! executions, branch summaries and compaction summaries, which it does not know, are kept like
//! extensions.
//!
//! ```
//! use wb_compat::three_level::{AgentMessage, ContextConfig, compact_messages, total_tokens};
//!
//! let config =
//!     ContextConfig { max_context_tokens: 5_000, keep_recent: 2, ..ContextConfig::default() };
//! let mut messages = vec![AgentMessage::user("Why does the build fail?")];
//! let step = |n| format!("step {n}: {}", "x".repeat(400));
//! messages.extend((0..20).map(|n| AgentMessage::assistant(step(n))));
//!
//! let compacted = compact_messages(messages, &config);
//! assert_eq!(compacted[1], AgentMessage::user("[Summary] [Assistant response]"));
//! assert!(total_tokens(&compacted) <= 1_000);
//! ```
//!
//! # Faults
//! A boundary separates calls from their results; the task and the latest request can be dropped;
//! the result can exceed the budget without a report; a further message starts the next compaction.
//! The three-level preset of `wb-conductor` has none of these faults.

mod estimate;
mod levels;
mod tracker;

pub use estimate::{content_tokens, estimate_tokens, message_tokens, total_tokens};
pub(crate) use levels::summary_line;
pub use levels::{
    ContextConfig, compact_messages, keep_within_budget, level1_truncate_tool_outputs,
    level2_summarize_old_turns, level3_drop_middle, truncate_head_tail,
};
pub use tracker::{ContextTracker, Usage};

/// The document's name of a message.
pub type AgentMessage = wb_message::Message;
/// The document's name of a part of a message.
pub type Content = wb_message::Block;
