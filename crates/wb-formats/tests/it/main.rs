//! Tests of the formats: composed files, refusals, damaged files, and real sessions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
#[path = "../../examples/one_step_error/errors.rs"]
mod errors;
mod composed;
mod refused;
mod message_lists;
mod nameless;
mod native;
mod opencode;
#[cfg(feature = "sqlite")]
mod opencode_database;
mod laws;
mod promises;
mod gemini_cli;
mod history;
mod rounds;
mod repaired_and_undone;
mod blocks;
mod claude_code;
mod claude_sessions;
mod damaged;
mod fuzzed;
mod codex;
mod sessions;
mod codex_sessions;
mod pi_sessions;
mod usage;
mod round_trips;
mod broken;
mod corrupted;
mod lost_lines;
mod lost_roles;
mod unanswered;
mod one_id;
mod openhands_events;
