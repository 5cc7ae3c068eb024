//! Traces of observability: spans and rows, each of which holds the messages of one request.

mod trace_object;
mod rows;
pub(crate) mod otel_genai;
pub(crate) mod langfuse_langsmith;
pub(crate) mod openinference;
