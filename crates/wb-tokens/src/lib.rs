//! Exact token counts behind [`TokenCounter`](wb_budget::TokenCounter).
//!
//! [`Vocabulary`] names the vocabularies of OpenAI that are public. One counter of each is made when it is first
//! asked for, then shared; making it takes about half a second, a count takes one for some 50 to 100 MB of text. With
//! the feature `tokenizer-json`, any vocabulary is read from its `tokenizer.json`.
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
//! // A tracker counts each message once, when it comes.
//! let mut tracker = ContextTracker::with_counter(Arc::new(counter));
//! tracker.push(&Message::user("why is the build red?"));
//! tracker.push(&Message::assistant("A test fails."));
//! assert_eq!(tracker.total_tokens(), (6 + 6) + (6 + 4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What is exact
//!
//! The tokens of each text. What stands around texts is not told by any vocabulary; as everywhere here it is
//! 4 tokens for a message, 2 for a block, 6 for a call or a result and 1,024 for an image. Markers of a vocabulary, such
//! as `<|endoftext|>`, are counted as the text they are in a transcript, never as the one token that ends it.
//!
//! # Once per message
//!
//! Tokens never reach across messages, so a transcript weighs what its messages weigh, and no message has to be counted
//! again when another comes. A [`ContextTracker`](wb_budget::ContextTracker) does that: `push` counts one message,
//! `apply` what a patch brought, and its sums answer all else. A message that grows while it streams is counted by
//! `replace`, whole.

mod vocabulary;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;

#[cfg(feature = "tokenizer-json")]
pub use tokenizer_json::{TokenizerJson, TokenizerJsonError};
pub use vocabulary::{ExactCounter, Vocabulary, VocabularyError};
