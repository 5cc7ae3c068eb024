//! Models over HTTP as [`ModelInvoker`]s: a conversation goes in,
//! emissions stream out.
//!
//! [`ProviderOpts`] names the model and how to reach it; [`build`](ProviderOpts::build) turns it
//! into an [`HttpInvoker`]. There are four protocols, each behind a feature of its name: `openai`
//! (chat completions, also of compatible servers), `openai-responses`, `anthropic` and `gemini`.
//! `wb-dialect` encodes the conversation; this crate adds the model, the limits and the level of
//! thinking, sends the request and reads the stream.
//!
//! ```
//! # #[cfg(feature = "anthropic")] {
//! use wb_message::{Conversation, Turn};
//! use wb_providers::{Key, ProviderOpts};
//! use wb_invoke::{StreamOptions, ThinkingLevel};
//!
//! let key = Key::new("sk-not-a-real-one")?; // or Key::from_file, or .key_from_env()? as below
//! let model = ProviderOpts::anthropic("claude-haiku-4-5").key(key).build()?;
//!
//! let conversation = Conversation { turns: vec![Turn::user("Hello")], ..Conversation::default() };
//! let options = StreamOptions {
//!     max_output_tokens: Some(1_000),
//!     thinking: Some(ThinkingLevel::Low),
//!     ..StreamOptions::default()
//! };
//! let body = model.body(&conversation, &options);
//! assert_eq!(body["messages"][0]["role"], "user");
//! assert_eq!(body["max_tokens"], 3_048); // the answer, and room for thinking
//! assert!(!format!("{model:?}").contains("not-a-real-one"));
//! # }
//! # Ok::<(), wb_providers::ProviderError>(())
//! ```
//!
//! # A digest by a model
//! The stream needs a tokio runtime with I/O and time; without one it is an error that says so.
//!
//! ```no_run
//! # #[cfg(feature = "openai")]
//! # async fn digest(
//! #     mut messages: Vec<wb_message::Message>,
//! # ) -> Result<(), Box<dyn std::error::Error>> {
//! use wb_budget::ModelCard;
//! use wb_conductor::{Compactor, CondenseOpts, compact_in_place};
//! use wb_providers::ProviderOpts;
//!
//! let model = ProviderOpts::openai("gpt-5.4").key_from_env()?.build()?; // OPENAI_API_KEY
//! let compactor = Compactor::new().card(ModelCard::with_window(200_000)).summarizer(model);
//! let report = compact_in_place(&mut messages, &compactor, &CondenseOpts::default()).await;
//! println!("{report}"); // digest by the model, or: local digest: the model failed: HTTP 401: …
//! # Ok(())
//! # }
//! ```
//!
//! # Guarantees
//! - Every stream ends in one terminal emission; an error follows what was already streamed.
//! - [`RetryPolicy`]: transient failures are retried, after a random delay or the one that the
//!   server asks for, and only before the model's first output. Randomness comes from a seed, and
//!   time from tokio alone.
//! - [`TimeLimits`] for the connection, for silence and in total.
//! - A cancel and a dropped stream both close the connection.
//! - A [`Key`] is in one header, marked as sensitive, and in no error and no `Debug`. Redirects are
//!   not followed.
//! - Usage has four disjoint parts and includes failed attempts.
#![cfg_attr(
    not(all(feature = "anthropic", feature = "openai", feature = "openai-responses", feature = "gemini")),
    allow(dead_code, reason = "each protocol uses other parts of an answer")
)]
mod key;
mod error;
mod sse;
mod failure;
mod overflow;
mod answer;
mod retry;
mod http;
mod protocol;
#[cfg(feature = "anthropic")]
mod anthropic;
#[cfg(any(feature = "openai", feature = "openai-responses"))]
mod openai_models;
#[cfg(feature = "openai")]
mod openai;
#[cfg(feature = "openai-responses")]
mod openai_responses;
#[cfg(feature = "gemini")]
mod gemini;
mod exchange;
mod invoker;

pub use error::{PROVIDERS, ProviderError};
pub use http::TimeLimits;
pub use invoker::{HttpInvoker, ProviderOpts};
pub use key::{Key, KeyError};
pub use overflow::{is_overflow_error, is_overflow_reply};
pub use retry::RetryPolicy;
pub use wb_invoke::{ModelInvoker, StreamOptions, ThinkingLevel};
pub use wb_message::{Block, Conversation, Turn, json};
