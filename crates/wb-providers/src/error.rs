//! Why a provider cannot be asked at all.

use crate::key::KeyError;

/// Why an invoker could not be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProviderError {
    /// There is no key.
    #[error(transparent)]
    Key(#[from] KeyError),
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
