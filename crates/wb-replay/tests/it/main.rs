//! Integration tests.

mod laws;
