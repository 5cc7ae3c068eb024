//! Integration tests: the recorded answers of the published systems, and the text of the documents.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod three_level;
mod overlay;
mod context_window;
mod thread;
mod policy_requests;
mod policy_settings;
mod policy_summaries;
mod any_input;
