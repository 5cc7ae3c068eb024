//! The three-level compaction of seed 1 as its published crate answers.
