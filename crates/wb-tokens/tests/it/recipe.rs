//! What the recipe "Count tokens better" shows of this crate is compiled and run here; wb-conductor holds the lines
//! against this file.

use std::error::Error;
use std::sync::Arc;

use wb_budget::TokenCounter;
#[cfg(feature = "tokenizer-json")]
use wb_tokens::TokenizerJson;
use wb_tokens::Vocabulary;

#[test]
fn the_vocabulary_of_a_model_counts_its_tokens() -> Result<(), Box<dyn Error>> {
    let vocabulary = Vocabulary::of_model("gpt-5.4").ok_or("not a model of OpenAI")?;
    let counter: Arc<dyn TokenCounter> = Arc::new(vocabulary.counter()?);
    assert_eq!(counter.text("tiktoken is great!"), 6);
    Ok(())
}

#[cfg(feature = "tokenizer-json")]
#[test]
#[expect(clippy::disallowed_methods, reason = "the recipe reads a file")]
fn a_tokenizer_that_is_not_there_is_an_error() {
    let counted = || -> Result<u64, Box<dyn Error>> {
        let counter = TokenizerJson::from_bytes(std::fs::read("tokenizer.json")?)?;
        Ok(counter.text("a"))
    };
    assert!(counted().is_err());
}
