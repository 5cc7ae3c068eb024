//! Exact token counts as [`TokenCounter`]s.
//!
//! [`Vocabulary`] lists the public vocabularies of OpenAI. The counter of each is created on first
//! use, in about half a second, and then shared; it counts some 50 to 100 MB of text per second.
//! The feature `tokenizer-json` reads any vocabulary from its `tokenizer.json`.
//!
//! ```
//! use std::sync::Arc;
//! use wb_budget::{ContextTracker, TokenCounter};
//! use wb_message::Message;
//! use wb_tokens::Vocabulary;
//!
//! let vocabulary = Vocabulary::of_model("gpt-5.4").ok_or("no vocabulary")?;
//! let counter = vocabulary.counter()?;
//! assert_eq!(counter.text("tiktoken is great!"), 6);
//!
//! // A tracker counts each message once.
//! let mut tracker = ContextTracker::with_counter(Arc::new(counter));
//! tracker.push(&Message::user("why is the build red?"));
//! tracker.push(&Message::assistant("A test fails."));
//! assert_eq!(tracker.total_tokens(), (6 + 6) + (6 + 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Exactness
//!
//! Texts are counted exactly. No vocabulary defines the tokens around texts; they are estimated as
//! in all counters, with 4 tokens for a message, 2 for a block, 6 for a call or a result and 1,024
//! for an image. A marker such as `<|endoftext|>` is counted as text, never as the one token that
//! ends it.
//!
//! # Once per message
//!
//! Tokens never span messages, so a transcript weighs the sum of its messages, and a message is
//! counted once. A [`ContextTracker`] does that: `push` counts one
//! message, `apply` the messages of a patch, and `replace` a message that grew while streaming.

mod vocabulary;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;

#[cfg(feature = "tokenizer-json")]
pub use tokenizer_json::{TokenizerJson, TokenizerJsonError};
pub use vocabulary::{ExactCounter, Vocabulary, VocabularyError};
pub use wb_budget::{Block, Message, json};
pub use wb_budget::{ContextTracker, TokenCounter};
