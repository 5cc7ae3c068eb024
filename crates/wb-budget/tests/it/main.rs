//! Integration tests of the budget.

mod vectors;
