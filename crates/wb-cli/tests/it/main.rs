//! Integration tests of the `wb` command.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod home;
mod place;
mod sessions;
mod strategies;
mod commands;
mod replay;
mod screens;
mod hints;
mod in_place;
mod hook;
mod hook_opencode;
mod hook_schema;
mod log;
mod model_cards;
#[cfg(feature = "models")]
mod models;
mod odd_files;
mod terminal;
mod overview;
mod as_planned;
mod audit;
mod validate;
mod validity;
mod convert;
mod refusals;
mod repair;
mod doctor;
mod install;
mod install_check;
mod promises;
mod session;
mod session_writes;
mod session_files;
