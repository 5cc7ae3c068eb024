//! The code of the recipe "Count tokens better"; a test in wb-conductor compares the recipe with
//! this file.

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
fn a_missing_tokenizer_is_an_error() {
    let counted = || -> Result<u64, Box<dyn Error>> {
        let counter = TokenizerJson::from_bytes(std::fs::read("tokenizer.json")?)?;
        Ok(counter.text("a"))
    };
    assert!(counted().is_err());
}
