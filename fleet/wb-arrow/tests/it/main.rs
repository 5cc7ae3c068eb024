//! Tests of the function over batches.

mod common;
mod answers;
mod bad_rows;
mod column_types;
mod sizes;
