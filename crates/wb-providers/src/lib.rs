//! Models over HTTP, behind the seam of `wb-summarize`: a conversation goes in, emissions stream out.
//!
//! [`ProviderOpts`] says whom to ask and how; [`build`](ProviderOpts::build) makes an [`HttpInvoker`] of it, which is a
//! [`ModelInvoker`](wb_summarize::ModelInvoker) like any other. There are four protocols, each behind a feature of its name:
//! `openai` (chat completions, and every server that speaks them), `openai-responses`, `anthropic` and `gemini`.
//! Conversations are written by `wb-dialect`; this crate adds the model, the limits and how much to think, sends it, and
//! reads the stream.
//!
//! ```
//! # #[cfg(feature = "anthropic")] {
//! use wb_message::{Conversation, Turn};
//! use wb_providers::{Key, ProviderOpts};
//! use wb_summarize::{StreamOptions, ThinkingLevel};
//!
//! let key = Key::new("sk-not-a-real-one")?; // or Key::from_file, or .key_from_env()? below
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
//! assert_eq!(body["max_tokens"], 3_048); // the answer, and room for what it thinks
//! assert!(!format!("{model:?}").contains("not-a-real-one"));
//! # }
//! # Ok::<(), wb_providers::ProviderError>(())
//! ```
//!
//! # A digest by a model
//! A tokio runtime with I/O and time must be around it; without one the stream is an error that says so.
//!
//! ```no_run
//! # #[cfg(feature = "openai")]
//! # async fn digest(mut messages: Vec<wb_message::Message>) -> Result<(), Box<dyn std::error::Error>> {
//! use std::sync::Arc;
//! use wb_budget::ModelCard;
//! use wb_conductor::{Compactor, CondenseOpts, Summarizer, compact_in_place};
//! use wb_providers::ProviderOpts;
//!
//! let model = ProviderOpts::openai("gpt-5-mini").key_from_env()?.build()?; // OPENAI_API_KEY
//! let compactor = Compactor::new()
//!     .card(ModelCard::with_window(200_000))
//!     .summarizer(Summarizer::new(Arc::new(model)));
//! let report = compact_in_place(&mut messages, &compactor, &CondenseOpts::default()).await;
//! println!("{report}"); // … digest by the model, or: local digest: the model failed: HTTP 401: …
//! # Ok(())
//! # }
//! ```
//!
//! # What is promised
//! - Every stream ends in one terminal emission, and an error comes after what was streamed.
//! - [`RetryPolicy`]: what may pass is asked again, with a delay by chance or as long as the server asks for, and only
//!   while the model has said nothing. The chance comes from a seed, and no clock is read but tokio's.
//! - [`TimeLimits`] on the connection, on silence and on the whole.
//! - A cancel, and dropping the stream, close the connection.
//! - [`Key`]s go into one header, marked as sensitive, and stand in no error and no `Debug`. Redirects are not followed.
//! - Usage has its four disjoint parts, also that of attempts which failed.
#![cfg_attr(
    not(any(feature = "anthropic", feature = "gemini", feature = "openai", feature = "openai-responses")),
    expect(dead_code, unused_variables, reason = "without a protocol nobody can be asked")
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
