//! The way to models: over HTTP, or none where `wb` was built without it.

#[cfg(feature = "models")]
mod http;
#[cfg(not(feature = "models"))]
mod none;

#[cfg(feature = "models")]
pub(crate) use http::{Runtime, connect};
#[cfg(not(feature = "models"))]
pub(crate) use none::{Runtime, connect};
