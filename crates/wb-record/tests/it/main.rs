//! Tests of files.

#![expect(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test of files fails by panicking")]

mod file;
mod write;
