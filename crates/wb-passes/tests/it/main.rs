//! Integration tests of the passes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod collapse_and_drop;
mod restoring;
mod vectors;
mod truncating;
mod artifacts;
mod repairing;
