//! Tests on DataFusion.

mod common;
mod function;
mod report;
