//! The formats, one file each, below what several of them share.

mod loose;
mod json_text;
mod picture;
mod content_value;
mod message_list;
mod list_document;
mod parted_record;
mod anthropic_block;
mod anthropic_message;
mod chat_message;
mod request_probe;
pub mod openai_chat;
pub mod anthropic_messages;
pub mod mini_swe_agent;
pub mod openhands_completions;
pub mod cline;
pub mod kimi_cli;
pub mod swe_agent;
pub mod tau_bench;
pub mod inspect_ai;
pub mod ai_sdk;
pub mod pydantic_ai;
pub mod native;
pub mod pi;
pub mod claude_code;
pub mod codex;
pub mod opencode;
