//! Integration tests of the passes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod climbing;
mod restoring;
mod vectors;
mod truncating;
mod artifacts;
mod repairing;
mod policy_vectors;
