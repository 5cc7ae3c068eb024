//! Compaction beside the agent.

mod support;
mod starting;
mod landing;
mod breaking;
mod keeping;
mod words;
mod recorded;
mod interleaved;
