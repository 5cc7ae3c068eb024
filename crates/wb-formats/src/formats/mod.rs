//! The formats, one file each.

mod fields;
mod passed;
mod log;
mod draft;
mod records;
mod gemini_part;
pub mod native;
pub mod pi;
pub mod claude_code;
pub mod codex;
pub mod opencode;
pub mod gemini_cli;
pub mod copilot_cli;
