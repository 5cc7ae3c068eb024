//! Tests of the crate from outside.

mod encoding;
mod examples;
mod nameless;
mod sizes;
mod refusals;
