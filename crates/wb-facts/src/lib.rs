//! Facts of a session, and what they say about a summary.
//!
//! [`Facts`] are collected message by message: requests, constraints, file changes, commands and
//! their outcomes, failures, tasks, and the names that a next step may need. They are plain data
//! that a host may store next to a session. [`audit()`] checks any summary against them, and
//! [`corrected`] returns a summary without the lines that they contradict.
//!
//! ```
//! use wb_facts::{Facts, audit};
//! use wb_message::{Message, ToolVocabulary};
//!
//! let request = Message::user("Port src/cart.rs, but never touch its API.");
//! let session = [request, Message::assistant("Now I read it.")];
//! let facts = Facts::default().with_messages(&session, &ToolVocabulary::default());
//! assert_eq!(facts.constraints().count(), 1);
//! let findings = audit("# Status\n- Ported src/basket.rs.", &facts);
//! assert!(!findings.is_empty(), "no message names that file");
//! ```

mod facts;
pub mod audit;

pub use audit::{Finding, FindingKind, audit, corrected};
pub use facts::{
    Change, ChangedFile, Constraint, FACTS_VERSION, Facts, Failure, Failures, FileFact, Files, GitState,
    Noted, RequestSource, Run, Turn, Turns, calls, files, mentions, names, turns,
};
pub use wb_message::{Block, Message, ToolVocabulary, json};
