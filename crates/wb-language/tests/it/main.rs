//! Tests of wb-language on labelled texts.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod labelled_rules;
