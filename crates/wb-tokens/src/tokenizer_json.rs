//! Any vocabulary, from the `tokenizer.json` that stands beside an open model's weights.

use std::fmt;

use tokenizers::Tokenizer;
use wb_budget::{TokenCounter, TokenHeuristic};

/// A `tokenizer.json` that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no tokenizer.json: {0}")]
pub struct TokenizerJsonError(String);

/// Counts the tokens of texts by a `tokenizer.json`.
///
/// Tokens that begin or end a whole prompt are not counted. A text that the tokenizer refuses is estimated.
#[derive(Clone)]
pub struct TokenizerJson {
    tokenizer: Tokenizer,
}

impl TokenizerJson {
    /// Reads the content of a `tokenizer.json`; who owns the file hands it in.
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
