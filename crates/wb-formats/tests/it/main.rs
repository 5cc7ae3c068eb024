//! Tests of the formats: composed files, refusals, damaged files, and real sessions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
#[path = "../../examples/one_step_error/errors.rs"]
mod errors;
mod agents;
mod reading;
mod writing;
mod damage;
