//! Integration tests of the passes.

mod laws;
mod restoring;
mod vectors;
