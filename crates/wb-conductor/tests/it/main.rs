//! Integration tests of the conductor.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod laws;
mod vectors;
mod worth;
mod regressions;
mod steps;
mod asking;
mod report_display;
mod chained;
mod context;
mod facts;
mod background;
mod cached_conversation;
mod agent_settings;
mod continuation;
mod recipes;
mod pipelines;
mod three_level;
mod edges;
mod how_a_compaction_runs;
