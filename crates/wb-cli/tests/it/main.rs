//! Integration tests of the `wb` command.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod compaction;
mod checks;
mod agents;
mod session;
mod terminal;
