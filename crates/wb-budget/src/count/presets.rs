//! Heuristics of other programs as data, for hosts that need their exact figures.

use wb_message::{Block, Content, Message};

use super::TokenCounter;
use super::json_len::{block_chars, text_chars};

/// The unit of a text's length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextUnit {
    /// UTF-8 bytes.
    Bytes,
    /// UTF-16 code units.
    Utf16,
}

/// The point at which units are rounded up to tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rounding {
    /// Once for each text.
    UpEach,
    /// Once for the message.
    UpOnce,
}

/// The cost of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ImageCost {
    /// The cost of a text of this length.
    Units(u64),
    /// A token for each `per_token` decoded bytes, within bounds.
    Bytes { per_token: u64, min: u64, max: u64 },
}

/// The token costs of another program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeuristicPreset {
    unit: TextUnit,
    units_per_token: u64,
    rounding: Rounding,
    image: ImageCost,
    free_user_images: bool,
    /// Tokens of the frame of any message but a result.
    message_tokens: u64,
    /// Tokens of the frame of a tool result.
    result_tokens: u64,
    counts_result_name: bool,
    /// Tokens of a call in addition to its name and arguments.
    call_tokens: u64,
}

impl HeuristicPreset {
    /// Three-level compaction: bytes / 4, rounded up for each text; an image costs its decoded bytes / 750, within 85
    /// and 16 000; 4 for a message, 8 for a call and for a result.
    pub const THREE_LEVEL: Self = Self {
        unit: TextUnit::Bytes,
        units_per_token: 4,
        rounding: Rounding::UpEach,
        image: ImageCost::Bytes { per_token: 750, min: 85, max: 16_000 },
        free_user_images: false,
        message_tokens: 4,
        result_tokens: 8,
        counts_result_name: true,
        call_tokens: 8,
    };

    /// pi's session compaction: UTF-16 units / 4, rounded up once; an image in a result costs 4800 units, a user's
    /// image is free; frames cost nothing.
    pub const PI: Self = Self {
        unit: TextUnit::Utf16,
        units_per_token: 4,
        rounding: Rounding::UpOnce,
        image: ImageCost::Units(4800),
        free_user_images: true,
        message_tokens: 0,
        result_tokens: 0,
        counts_result_name: false,
        call_tokens: 0,
    };

    /// Charges a user's image like one in a result.
    #[must_use]
    pub const fn with_user_images(self) -> Self {
        Self { free_user_images: false, ..self }
    }

    /// Returns the tokens of a plain text without a frame.
    pub fn text_tokens(&self, text: &str) -> u64 {
        let mut tally = Tally::new(*self);
        tally.text(text);
        tally.tokens()
    }

    /// Returns the tokens of blocks without the frame of their message.
    pub fn blocks_tokens(&self, blocks: &[Block]) -> u64 {
        let mut tally = Tally::new(*self);
        tally.blocks(blocks);
        tally.tokens()
    }

    /// Returns the weight of a message in tokens.
    pub fn message_tokens(&self, message: &Message) -> u64 {
        let mut tally = Tally::new(*self);
        tally.tokens = self.message_tokens;
        match message {
            Message::User { content, .. } => {
                tally.preset.image = if self.free_user_images { ImageCost::Units(0) } else { self.image };
                tally.content(content);
            }
            Message::Custom { content, .. } => tally.content(content),
            Message::Assistant { content, .. } => tally.blocks(content),
            Message::ToolResult { tool_name, content, .. } => {
                tally.tokens = self.result_tokens;
                tally.blocks(content);
                if self.counts_result_name {
                    tally.text(tool_name);
                }
            }
            Message::BashExecution { command, output, .. } => {
                tally.text(command);
                tally.text(output);
            }
            Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
                tally.text(summary);
            }
        }
        tally.tokens()
    }
}

impl TokenCounter for HeuristicPreset {
    fn text(&self, text: &str) -> u64 {
        self.text_tokens(text)
    }

    fn message(&self, message: &Message) -> u64 {
        self.message_tokens(message)
    }
}

/// The running units and tokens of one message.
#[derive(Debug)]
struct Tally {
    preset: HeuristicPreset,
    units: u64,
    tokens: u64,
}

impl Tally {
    fn new(preset: HeuristicPreset) -> Self {
        Self { preset, units: 0, tokens: 0 }
    }

    fn tokens(&self) -> u64 {
        let per_token = self.preset.units_per_token;
        self.tokens + self.units.div_ceil(per_token)
    }

    fn units(&mut self, units: u64) {
        match self.preset.rounding {
            Rounding::UpEach => self.tokens += units.div_ceil(self.preset.units_per_token),
            Rounding::UpOnce => self.units += units,
        }
    }

    fn text(&mut self, text: &str) {
        self.units(self.measure(text));
    }

    fn measure(&self, text: &str) -> u64 {
        match self.preset.unit {
            TextUnit::Bytes => text.len() as u64,
            TextUnit::Utf16 => utf16_units(text),
        }
    }

    fn content(&mut self, content: &Content) {
        match content {
            Content::Text(text) => self.text(text),
            Content::Blocks(blocks) => self.blocks(blocks),
        }
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text { text } | Block::Thinking { text, .. } => self.text(text),
            Block::Image { data_base64, .. } => self.image(data_base64),
            Block::ToolCall { name, input, .. } => self.call(name, input),
            Block::ToolResult { .. } | Block::Command { .. } => self.units(block_chars(block)),
        }
    }

    fn call(&mut self, name: &str, input: &serde_json::Value) {
        self.tokens += self.preset.call_tokens;
        self.text(name);
        self.text(&input.to_string());
    }

    fn image(&mut self, data_base64: &str) {
        match self.preset.image {
            ImageCost::Units(units) => self.units(units),
            ImageCost::Bytes { per_token, min, max } => {
                let bytes = data_base64.len() as u64 * 3 / 4;
                self.tokens += (bytes / per_token).clamp(min, max);
            }
        }
    }
}

/// Returns the UTF-16 units of a text: two for characters of four bytes, one for others.
fn utf16_units(text: &str) -> u64 {
    let n_chars = text_chars(text);
    if n_chars == text.len() as u64 {
        return n_chars;
    }
    n_chars + text.as_bytes().chunks(STEP).map(|step| u64::from(four_byte_chars(step))).sum::<u64>()
}

/// Bytes per step, few enough for a count in one byte.
const STEP: usize = 128;

/// Counts four-byte characters without branches, so that the compiler can use vector instructions.
fn four_byte_chars(step: &[u8]) -> u8 {
    step.iter().map(|&byte| u8::from(byte >= 0xF0)).fold(0, u8::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf16_units_match_javascript() {
        for text in ["", "a", "é", "\u{7ff}\u{800}\u{ffff}\u{10000}\u{10ffff}", "a😀b 汉字 \u{d7ff}\u{e000}"]
        {
            assert_eq!(utf16_units(text), text.encode_utf16().count() as u64, "{text}");
        }
        let all: String = (0..=0x0010_ffff).filter_map(char::from_u32).collect();
        assert_eq!(utf16_units(&all), all.encode_utf16().count() as u64);
    }
}
