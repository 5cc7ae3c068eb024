//! Models over HTTP against a server on the loopback address.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod answers;
mod faults;
mod limits;
mod secrets;
mod digests;
mod overflow;
