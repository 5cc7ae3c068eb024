//! Integration tests of the passes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laws;
mod climbing;
mod restoring;
mod three_level;
mod three_level_edges;
mod three_level_rates;
mod vectors;
mod truncating;
mod artifacts;
mod repairing;
