//! Integration tests of the budget.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod vectors;
mod ledger;
mod lineages;
mod frontier;
mod window_policy;
mod anchor;
