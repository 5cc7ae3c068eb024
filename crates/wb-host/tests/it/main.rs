//! Tests of compactions and branch summaries from a session to its next entry.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod settings_files;
mod overflow;
mod prompts;
mod recipe;
mod compaction;
mod branch;
mod hooks;
mod agent;
mod chain;
mod reads;
mod flow;
mod fitting;
mod edges;
mod shorten;
mod navigate;
mod real;

mod recorded_requests;
mod recorded;
mod recorded_branches;
mod recorded_replies;
