//! Tests of the crate from outside.

mod encoding;
mod examples;
mod sizes;
mod refusals;
