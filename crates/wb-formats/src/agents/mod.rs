//! Session files of coding agents.

pub(crate) mod pi;
pub(crate) mod claude_code;
pub mod codex;
pub mod opencode;
pub(crate) mod gemini_cli;
pub(crate) mod copilot_cli;
pub(crate) mod goose;
pub(crate) mod qwen_code;
pub(crate) mod openhands_events;
pub(crate) mod cline;
pub(crate) mod droid;
pub(crate) mod kimi_cli;
pub(crate) mod kimi_code;
