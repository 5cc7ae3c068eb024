//! Tests of the function over batches.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod answers;
mod bad_rows;
mod column_types;
mod sizes;
mod summaries;
