//! Lookup of what a compaction folded, for an agent and for a person.
//!
//! [`Recall`] indexes messages as they arrive and answers a [`Question`] with exact excerpts: by
//! words, message number, file, command or turn. Each [`Excerpt`] says who said it, how the call
//! ended and what overtakes it; every quoted line is behind its number and a bar, so no tool can
//! speak as the user. [`descriptor`] and [`Recall::call`] are the tool that a host offers to its
//! model. No text is copied into the index, and nothing is written.
//!
//! ```
//! use wb_message::{Message, ToolVocabulary, json};
//! use wb_recall::{Question, Recall, descriptor};
//!
//! let messages = [
//!     Message::user("Use port 9090 for the admin server."),
//!     Message::assistant("Noted: the admin server listens on 9090."),
//! ];
//! let recall = Recall::new(&messages, ToolVocabulary::UNIVERSAL);
//! let answer = recall.answer(&Question::words("admin port"));
//! assert_eq!(answer.excerpts[0].message, 0);
//!
//! // As a tool of a model:
//! let tools = [descriptor()];
//! let text = recall.call(&json!({ "query": "admin port" }))?;
//! assert!(text.contains("#0 the user") && text.contains("1| Use port 9090"));
//! # let _ = tools;
//! # Ok::<(), wb_recall::QuestionError>(())
//! ```

mod message_body;
mod word_hashes;
mod word_index;
mod question;
mod excerpt;
mod author;
mod later_event;
mod answer;
mod tool;
mod user_aside;
mod message_numbers;
mod recall;

pub use answer::{Answer, Excerpt};
pub use author::Author;
pub use later_event::LaterEvent;
pub use message_body::body;
pub use question::{DEFAULT_TOKENS, Question, QuestionError, Subject};
pub use recall::Recall;
pub use tool::{TOOL_NAME, descriptor};
