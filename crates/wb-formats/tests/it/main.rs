//! Tests of the formats: composed files, what is refused, damaged files, and real sessions.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod composed;
mod refused;
mod native;
mod damaged;
mod sessions;
