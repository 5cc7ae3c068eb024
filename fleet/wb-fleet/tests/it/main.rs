//! Tests on DataFusion.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;
mod function;
mod report;
