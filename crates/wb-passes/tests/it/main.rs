//! Integration tests of the passes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod collapse_and_drop;
mod restore;
mod vectors;
mod truncate;
mod artifacts;
mod repair;
