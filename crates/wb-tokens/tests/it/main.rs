//! Exact counts, compared with published ones and a second tokenizer.

mod counts;
mod equality;
mod recipe;
#[cfg(feature = "tokenizer-json")]
mod tokenizer_json;
