//! Traces of observability: spans and rows, each of which holds the messages of one request; and
//! the forms in which the Hugging Face Hub holds sessions.

mod trace_object;
mod rows;
pub(crate) mod otel_genai;
pub(crate) mod export;
pub(crate) mod openinference;
pub(crate) mod sts;
pub(crate) mod sharegpt;
