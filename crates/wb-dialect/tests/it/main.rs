//! Integration tests.

mod encoding;
mod examples;
mod nameless;
mod sizes;
mod refusals;
