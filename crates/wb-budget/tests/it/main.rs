//! Integration tests of the budget.

mod vectors;
mod ledger;
mod anchor;
