//! Errors in building an invoker.

use crate::key::KeyError;

/// The names of the built-in providers.
pub const PROVIDERS: &[&str] = &[
    #[cfg(feature = "anthropic")]
    "anthropic",
    #[cfg(feature = "openai")]
    "openai",
    #[cfg(feature = "openai-responses")]
    "openai-responses",
    #[cfg(feature = "gemini")]
    "gemini",
    #[cfg(feature = "openai")]
    "openai-compatible",
];

/// An error in building an invoker.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// There is no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The provider is unknown, or left out of this build.
    #[error("unknown provider `{name}`; expected one of {}", PROVIDERS.join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// An OpenAI-compatible server has no default address.
    #[error("an OpenAI-compatible server needs a base URL, such as http://localhost:11434/v1")]
    NoBaseUrl,
    /// The base URL is invalid.
    #[error("invalid base URL: {0}")]
    BaseUrl(String),
    /// The key would be sent in the clear to another machine.
    #[error("the key would be sent unencrypted to {host}")]
    Unencrypted {
        /// The host of the base URL.
        host: String,
    },
    /// The name or value of a header is invalid.
    #[error("invalid header {0:?}")]
    Header(String),
    /// The model has no name.
    #[error("the model has no name")]
    NoModel,
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up: {0}")]
    Client(String),
}
