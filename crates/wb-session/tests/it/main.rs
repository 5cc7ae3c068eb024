//! Tests of session logs: composed ones, recorded answers, real files, damaged ones, and written
//! ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod log;
mod context;
mod recorded;
mod damaged;
mod edges;
mod store;
mod writing;
mod session;
mod tree;
mod undo;
mod undo_laws;
mod crash;
mod chain;
mod accounting;
mod preparing;
mod files;
mod branching;
mod converting;
mod talks;
mod settings_files;
mod prompts;
mod compaction;
mod branch;
mod driver;
mod hooks;
mod navigate;
mod recorded_requests;
mod recorded_compactions;
mod recorded_branches;
mod recorded_replies;
