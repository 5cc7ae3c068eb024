//! Tests of session logs: composed ones, recorded answers, real files, and damaged ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod log;
mod context;
mod recorded;
mod damaged;
mod overlay;
