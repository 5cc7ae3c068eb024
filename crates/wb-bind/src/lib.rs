//! One function.

mod strategy;
mod known_window;
mod measure;
mod validity;

pub use known_window::{KnownWindow, WindowFrom};
pub use measure::{Measure, counted_before, tracker_of};
pub use strategy::Strategy;
pub use validity::Validity;
