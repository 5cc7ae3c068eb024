//! Integration tests.

#[path = "../../examples/figures/equal_sizes.rs"]
mod comparison;
mod equal_sizes;
mod laws;
