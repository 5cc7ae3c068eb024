//! Exact counts, held against public ones and against a second tokenizer.

mod counts;
mod equality;
mod recipe;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;
