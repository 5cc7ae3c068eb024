//! Integration tests of the conductor.

mod vectors;
