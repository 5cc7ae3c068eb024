//! Shapes of messages that several formats share.

pub(crate) mod content_value;
pub(crate) mod parted_record;
pub(crate) mod gemini_part;
pub(crate) mod responses_item;
pub(crate) mod responses_item_scan;
pub(crate) mod responses_body;
pub(crate) mod server_block;
pub(crate) mod anthropic_block;
pub(crate) mod anthropic_message;
pub(crate) mod chat_message;
pub(crate) mod otel_message;
pub(crate) mod openinference_message;
