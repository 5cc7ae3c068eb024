//! Integration tests of the conductor.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod laws;
mod vectors;
mod regressions;
mod steps;
mod asking;
mod told;
mod chained;
mod recovery;
mod prompt_cache;
mod pipelines;
mod three_level;
mod three_level_edges;
mod three_level_rates;
mod edges;
mod background;
