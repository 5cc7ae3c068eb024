//! Integration tests of the conductor.

mod support;
mod laws;
mod vectors;
mod regressions;
mod steps;
mod asking;
mod told;
mod chained;
