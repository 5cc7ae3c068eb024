//! A small vocabulary in the layout of a `tokenizer.json`.

use wb_budget::TokenCounter;
use wb_tokens::TokenizerJson;

/// A vocabulary of whole words, separated by white space and punctuation.
const WORDS: &str = r#"{
  "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
  "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
  "model": {"type": "WordLevel", "vocab": {"[UNK]": 0, "fix": 1, "the": 2, "test": 3}, "unk_token": "[UNK]"}
}"#;

#[test]
fn a_vocabulary_is_read_and_counts() {
    let counter = TokenizerJson::from_bytes(WORDS).unwrap();
    assert_eq!(["", "fix the test", "fix it!"].map(|text| counter.text(text)), [0, 3, 3]);
}

#[test]
fn an_invalid_vocabulary_is_refused_with_a_reason() {
    let error = TokenizerJson::from_bytes("{}").unwrap_err().to_string();
    assert!(error.starts_with("invalid tokenizer.json: "), "{error}");
}
