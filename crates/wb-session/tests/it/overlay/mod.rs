//! Tests of the overlay: single cases, laws, the default strategy, and recorded answers.

mod world;
mod cases;
mod laws;
mod strategy;
mod recorded;
