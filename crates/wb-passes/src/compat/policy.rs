//! The truncation, previews and repair of seed 4 as its published crate answers.
