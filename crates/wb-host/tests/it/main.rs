//! Tests of compactions and branch summaries from a session to its next entry.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod settings_files;
mod prompts;
mod compaction;
mod branch;
mod hooks;
mod navigate;

mod recorded_requests;
mod recorded;
mod recorded_branches;
mod recorded_replies;
