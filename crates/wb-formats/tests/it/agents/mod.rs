//! Sessions of single agents: reading, and what is written into them.

pub(crate) mod opencode;
#[cfg(feature = "sqlite")]
pub(crate) mod opencode_database;
pub(crate) mod gemini_cli;
pub(crate) mod claude_code;
pub(crate) mod claude_sessions;
pub(crate) mod codex;
pub(crate) mod codex_sessions;
pub(crate) mod pi_sessions;
pub(crate) mod openhands_events;
