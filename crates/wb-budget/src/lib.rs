//! Token arithmetic.

pub mod card;

pub use card::{Cost, ModelCard, Usage};
