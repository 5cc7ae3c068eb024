//! Integration tests of the conductor.

mod laws;
mod vectors;
