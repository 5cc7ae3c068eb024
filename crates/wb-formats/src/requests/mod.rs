//! Bodies of requests, and lists of messages that programs keep.

pub(crate) mod openai_chat;
pub(crate) mod anthropic_messages;
pub(crate) mod gemini_contents;
pub(crate) mod openai_responses;
pub(crate) mod ai_sdk;
pub(crate) mod pydantic_ai;
pub(crate) mod langchain;
pub(crate) mod native;
