//! The formats, one file each, below what several of them share.

mod loose;
mod json_text;
mod picture;
mod content_value;
mod message_list;
mod list_document;
mod anthropic_block;
mod anthropic_message;
mod chat_message;
mod request_probe;
pub mod openai_chat;
pub mod anthropic_messages;
pub mod mini_swe_agent;
pub mod native;
pub mod pi;
pub mod claude_code;
pub mod codex;
pub mod opencode;
