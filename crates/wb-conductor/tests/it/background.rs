//! Compaction beside the agent.

mod support;
mod starting;
mod apply_summary;
mod breaking;
mod keeping;
mod messages;
mod recorded;
mod interleaved;
