//! The heuristic as data: the cost of characters, images and framing.

use wb_message::{Block, Content, Message};

use super::json_len::{block_chars, text_chars, value_chars};

/// The costs of a message: `ceil(chars / chars_per_token) + framing + images × image_tokens`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenHeuristic {
    /// Unicode scalar values per token.
    pub chars_per_token: f64,
    /// Tokens of one image, whatever its size.
    pub image_tokens: u64,
    /// Tokens of a message's role and frame.
    pub message_framing_tokens: u64,
    /// Tokens of one structured block's frame.
    pub block_framing_tokens: u64,
    /// Tokens of the id and name around one tool call or result.
    pub call_envelope_tokens: u64,
}

impl TokenHeuristic {
    /// The default constants: 3.6, 1024, 4, 2 and 6.
    pub const DEFAULT: Self = Self {
        chars_per_token: 3.6,
        image_tokens: 1024,
        message_framing_tokens: 4,
        block_framing_tokens: 2,
        call_envelope_tokens: 6,
    };

    /// Returns the weight of a message in tokens.
    ///
    /// The recorded rules, poor ones included: images in a `Custom` message are free, one nested in a tool
    /// result's output costs its base64 text, signatures and ids are free.
    pub fn message_tokens(&self, message: &Message) -> u64 {
        let mut estimator = Estimator::new(*self);
        match message {
            Message::User { content: Content::Text(text), .. } => estimator.framed_text(text),
            Message::User { content: Content::Blocks(blocks), .. } => estimator.blocks(blocks),
            Message::Assistant { content, error_message } => {
                estimator.assistant(content);
                estimator.add_text(error_message.as_deref().unwrap_or_default());
            }
            Message::ToolResult { tool_name, content, .. } => {
                estimator.blocks(content);
                estimator.add_text(tool_name);
                estimator.framing_tokens += self.call_envelope_tokens;
            }
            Message::BashExecution { command, output, .. } => {
                estimator.add_text(command);
                estimator.framed_text(output);
            }
            Message::Custom { custom_type, content } => estimator.custom(custom_type, content),
            Message::BranchSummary { summary, from_id } => {
                estimator.add_text(from_id);
                estimator.framed_text(summary);
            }
            Message::CompactionSummary { summary, .. } => estimator.framed_text(summary),
        }
        estimator.tokens()
    }

    /// Returns the tokens of a plain text without any framing.
    pub fn text_tokens(&self, text: &str) -> u64 {
        self.chars_tokens(text_chars(text))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "characters are not negative"
    )]
    fn chars_tokens(&self, n_chars: u64) -> u64 {
        (n_chars as f64 / self.chars_per_token).ceil() as u64
    }

    /// Returns the number of characters that fit into `n_tokens`, rounded down.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tokens are not negative")]
    pub fn chars_within(&self, n_tokens: u64) -> usize {
        (n_tokens as f64 * self.chars_per_token).floor() as usize
    }
}

impl Default for TokenHeuristic {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// The running characters, images and frames of one message.
#[derive(Clone, Copy, Debug)]
struct Estimator {
    heuristic: TokenHeuristic,
    n_chars: u64,
    n_images: u64,
    framing_tokens: u64,
}

impl Estimator {
    fn new(heuristic: TokenHeuristic) -> Self {
        Self { heuristic, n_chars: 0, n_images: 0, framing_tokens: heuristic.message_framing_tokens }
    }

    fn tokens(&self) -> u64 {
        let images = self.n_images * self.heuristic.image_tokens;
        self.heuristic.chars_tokens(self.n_chars) + self.framing_tokens + images
    }

    fn add_text(&mut self, text: &str) {
        self.n_chars += text_chars(text);
    }

    fn framed_text(&mut self, text: &str) {
        self.add_text(text);
        self.framing_tokens += self.heuristic.block_framing_tokens;
    }

    fn add_call(&mut self, name: &str, input: &serde_json::Value) {
        self.add_text(name);
        self.n_chars += if input.is_null() { 0 } else { value_chars(input) };
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text { text } | Block::Thinking { text, .. } => self.add_text(text),
            Block::Image { .. } => self.n_images += 1,
            Block::ToolCall { name, input, .. } => self.add_call(name, input),
            Block::ToolResult { .. } | Block::Command { .. } => self.n_chars += block_chars(block),
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.block(block);
        }
        self.framing_tokens += self.heuristic.block_framing_tokens * blocks.len() as u64;
    }

    fn assistant(&mut self, blocks: &[Block]) {
        self.blocks(blocks);
        let n_calls = blocks.iter().filter(|block| matches!(block, Block::ToolCall { .. })).count();
        self.framing_tokens += self.heuristic.call_envelope_tokens * n_calls as u64;
    }

    /// Adds the framing of a single block for any number of blocks, and no images, as recorded.
    fn custom(&mut self, custom_type: &str, content: &Content) {
        self.framed_text(custom_type);
        match content {
            Content::Text(text) => self.add_text(text),
            Content::Blocks(blocks) => {
                for block in blocks {
                    self.block(block);
                }
                self.n_images = 0;
            }
        }
    }
}
