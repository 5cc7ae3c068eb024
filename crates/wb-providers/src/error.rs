//! Why a provider cannot be asked at all.

use crate::key::KeyError;

/// The names of the providers that are built in.
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

/// Why an invoker could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// There is no key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// Nobody has this name, or this build leaves the provider out.
    #[error("there is no provider `{name}`; there are {}", PROVIDERS.join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// The server has no address of its own.
    #[error(
        "a server that is compatible with OpenAI has no address of its own: name its base URL, such as http://localhost:11434/v1"
    )]
    NoBaseUrl,
    /// The base URL is none.
    #[error("the base URL is none to send requests to: {0}")]
    BaseUrl(String),
    /// The name or the value of a header is none that HTTP knows.
    #[error("the header {0:?} is none that can be sent")]
    Header(String),
    /// The model has no name.
    #[error("the model has no name")]
    NoModel,
    /// The HTTP client could not be set up.
    #[error("the HTTP client could not be set up: {0}")]
    Client(String),
}
