//! Integration tests of the `wb` command.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod place;
mod sessions;
mod strategies;
mod commands;
mod replay;
mod screens;
mod hints;
mod in_place;
mod hook;
mod log;
mod models;
mod odd_files;
mod terminal;
mod overview;
mod audit;
mod install;
mod session;
mod session_writes;
mod session_files;
