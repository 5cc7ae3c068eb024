//! Integration tests of the budget.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod vectors;
mod context_window;
mod tracker;
mod presets;
mod window_policy;
mod anchor;
