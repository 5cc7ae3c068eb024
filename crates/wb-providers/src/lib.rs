//! Models over HTTP, behind the seam of `wb-summarize`.
#![cfg_attr(
    not(any(feature = "anthropic", feature = "gemini", feature = "openai", feature = "openai-responses")),
    expect(dead_code, reason = "without a protocol nobody can be asked")
)]

mod key;
mod error;
mod sse;
mod failure;
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

pub use error::ProviderError;
pub use http::TimeLimits;
pub use invoker::{HttpInvoker, ProviderOpts};
pub use key::{Key, KeyError};
pub use retry::RetryPolicy;
