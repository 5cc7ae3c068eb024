//! Integration tests of the passes.

mod vectors;
