//! Vocabularies from the `tokenizer.json` of open models.

use std::fmt;

use tokenizers::Tokenizer;
use wb_budget::{TokenCounter, TokenHeuristic};

/// The error for an invalid `tokenizer.json`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid tokenizer.json: {0}")]
pub struct TokenizerJsonError(String);

/// A counter with the vocabulary of a `tokenizer.json`.
///
/// Tokens that start or end a whole prompt are not counted. A text that the tokenizer refuses is
/// estimated.
#[derive(Clone)]
pub struct TokenizerJson {
    tokenizer: Tokenizer,
}

impl TokenizerJson {
    /// Parses the content of a `tokenizer.json`.
    pub fn from_bytes(bytes: impl AsRef<[u8]>) -> Result<Self, TokenizerJsonError> {
        let read = Tokenizer::from_bytes(bytes);
        let tokenizer = read.map_err(|error| TokenizerJsonError(error.to_string()))?;
        Ok(Self { tokenizer })
    }
}

impl fmt::Debug for TokenizerJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenizerJson").finish_non_exhaustive()
    }
}

impl TokenCounter for TokenizerJson {
    fn text(&self, text: &str) -> u64 {
        match self.tokenizer.encode_fast(text, false) {
            Ok(encoding) => encoding.len() as u64,
            Err(_) => TokenHeuristic::DEFAULT.text_tokens(text),
        }
    }
}
