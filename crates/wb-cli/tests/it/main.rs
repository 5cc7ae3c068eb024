//! Integration tests of the `wb` command.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod sessions;
mod strategies;
mod commands;
mod session;
