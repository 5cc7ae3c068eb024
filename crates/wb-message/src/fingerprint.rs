//! Fingerprints: hashes of messages that are equal in every build and on every machine, so that
//! they can be stored.

use std::borrow::Borrow;

use serde_json::{Number, Value};
use xxhash_rust::xxh3::xxh3_64;

use crate::block::Block;
use crate::message::{Content, Message};

/// Hashes a message on top of the fingerprint of the previous ones, 0 for the first message.
///
/// Every field counts, as does the order of keys in JSON. It detects changes, but does not resist
/// deliberate collisions.
///
/// ```
/// use wb_message::{Message, fingerprint, prefix_fingerprint};
///
/// let messages = [Message::user("Which tests fail?"), Message::assistant("None.")];
/// let first = fingerprint(0, &messages[0]);
/// assert_eq!(fingerprint(first, &messages[1]), prefix_fingerprint(&messages));
/// ```
pub fn fingerprint(chain: u64, message: &Message) -> u64 {
    let mut sum = Sum { hash: chain, is_quick: false };
    sum.message(message);
    sum.hash
}

/// Hashes a message with only the lengths of its texts.
///
/// Most changes are detected, at a cost that does not grow with the texts; a change that keeps
/// every length goes unnoticed. Do not store the hash.
///
/// ```
/// use wb_message::{Message, quick_fingerprint};
///
/// let hash = quick_fingerprint(&Message::user("run it"));
/// assert_eq!(hash, quick_fingerprint(&Message::user("run at")));
/// assert_ne!(hash, quick_fingerprint(&Message::user("run it twice")));
/// assert_ne!(hash, quick_fingerprint(&Message::assistant("run it")));
/// ```
pub fn quick_fingerprint(message: &Message) -> u64 {
    let mut sum = Sum { hash: 0, is_quick: true };
    sum.message(message);
    sum.hash
}

/// Hashes messages in order; an empty list gives 0.
pub fn prefix_fingerprint<M: Borrow<Message>>(messages: &[M]) -> u64 {
    messages.iter().fold(0, |chain, message| fingerprint(chain, message.borrow()))
}

/// Hashes blocks in order, without their message.
///
/// ```
/// use wb_message::{Message, blocks_fingerprint};
///
/// let (reply, result) = (Message::assistant("None."), Message::tool_result("a", "Read", "None."));
/// assert_eq!(blocks_fingerprint(reply.blocks()), blocks_fingerprint(result.blocks()));
/// assert_ne!(blocks_fingerprint(reply.blocks()), blocks_fingerprint([]));
/// ```
pub fn blocks_fingerprint<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> u64 {
    let mut sum = Sum { hash: 0, is_quick: false };
    blocks.into_iter().for_each(|block| sum.block(block));
    sum.hash
}

/// 2⁶⁴ divided by the golden ratio, an odd number whose multiples are spread evenly.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// The running hash.
///
/// Each step adds a number: a length, the number of a variant or the hash of a text. Lists are
/// prefixed by their length, so that no two run together.
struct Sum {
    hash: u64,
    /// True to hash lengths instead of texts, by multiplication.
    is_quick: bool,
}

impl Sum {
    fn number(&mut self, number: u64) {
        if self.is_quick {
            self.hash = (self.hash.rotate_left(7) ^ number).wrapping_mul(GOLDEN_RATIO);
            return;
        }
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.hash.to_le_bytes());
        bytes[8..].copy_from_slice(&number.to_le_bytes());
        self.hash = xxh3_64(&bytes);
    }

    fn text(&mut self, text: &str) {
        self.number(if self.is_quick { text.len() as u64 } else { xxh3_64(text.as_bytes()) });
    }

    fn length(&mut self, n_parts: usize) {
        self.number(n_parts as u64);
    }

    fn optional(&mut self, text: Option<&str>) {
        self.number(u64::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn message(&mut self, message: &Message) {
        match message {
            Message::User { content, timestamp } => {
                self.number(1);
                self.content(content);
                self.number(timestamp.cast_unsigned());
            }
            Message::Assistant { content, error_message } => {
                self.number(2);
                self.blocks(content);
                self.optional(error_message.as_deref());
            }
            Message::ToolResult { tool_call_id, tool_name, content, is_error, .. } => {
                self.number(3);
                self.text(tool_call_id);
                self.text(tool_name);
                self.blocks(content);
                self.number(u64::from(*is_error));
            }
            Message::BashExecution { command, output, exit_code } => {
                self.number(4);
                self.text(command);
                self.text(output);
                self.number(exit_code.map_or(u64::MAX, |code| u64::from(code.cast_unsigned())));
            }
            Message::Custom { custom_type, content } => {
                self.number(5);
                self.text(custom_type);
                self.content(content);
            }
            Message::BranchSummary { summary, from_id } => {
                self.number(6);
                self.text(summary);
                self.text(from_id);
            }
            Message::CompactionSummary { summary, tokens_before } => {
                self.number(7);
                self.text(summary);
                self.number(*tokens_before);
            }
        }
    }

    fn content(&mut self, content: &Content) {
        match content {
            Content::Text(text) => {
                self.number(1);
                self.text(text);
            }
            Content::Blocks(blocks) => {
                self.number(2);
                self.blocks(blocks);
            }
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        self.length(blocks.len());
        for block in blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text { text } => {
                self.number(1);
                self.text(text);
            }
            Block::Thinking { text, signature } => {
                self.number(2);
                self.text(text);
                self.optional(signature.as_deref());
            }
            Block::ToolCall { id, name, input } => {
                self.number(3);
                self.text(id);
                self.text(name);
                self.value(input);
            }
            Block::ToolResult { call_id, output, is_error } => {
                self.number(4);
                self.text(call_id);
                self.value(output);
                self.number(is_error.map_or(2, u64::from));
            }
            Block::Image { media_type, data_base64 } => {
                self.number(5);
                self.text(media_type);
                self.text(data_base64);
            }
            Block::Command { command, args } => {
                self.number(6);
                self.text(command);
                self.number(u64::from(args.is_some()));
                self.length(args.as_ref().map_or(0, Vec::len));
                args.iter().flatten().for_each(|arg| self.text(arg));
            }
        }
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.number(1),
            Value::Bool(flag) => self.number(2 + u64::from(*flag)),
            Value::Number(number) => self.json_number(number),
            Value::String(text) => {
                self.number(7);
                self.text(text);
            }
            Value::Array(items) => {
                self.number(8);
                self.length(items.len());
                for item in items {
                    self.value(item);
                }
            }
            Value::Object(map) => {
                self.number(9);
                self.length(map.len());
                for (key, value) in map {
                    self.text(key);
                    self.value(value);
                }
            }
        }
    }

    fn json_number(&mut self, number: &Number) {
        if let Some(number) = number.as_u64() {
            self.number(4);
            self.number(number);
        } else if let Some(number) = number.as_i64() {
            self.number(5);
            self.number(number.cast_unsigned());
        } else {
            self.number(6);
            self.number(number.as_f64().map_or(0, f64::to_bits));
        }
    }
}
