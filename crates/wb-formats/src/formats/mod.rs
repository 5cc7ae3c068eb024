//! The formats, one file each.

pub mod native;
pub mod pi;
pub mod claude_code;
pub mod codex;
pub mod opencode;
