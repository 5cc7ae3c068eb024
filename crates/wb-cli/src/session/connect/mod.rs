//! The connection to models: over HTTP, or none in a build without the feature `models`.

#[cfg(feature = "models")]
mod http;
#[cfg(not(feature = "models"))]
mod none;

#[cfg(feature = "models")]
pub(crate) use http::{HttpRuntime as Runtime, connect};
#[cfg(not(feature = "models"))]
pub(crate) use none::{NoRuntime as Runtime, connect};
