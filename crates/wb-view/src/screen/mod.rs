//! The state of the screen: what is shown, selected and asked.

mod colors;
mod answer_lines;
mod state;
mod keys;
mod wrap;
mod meter;
mod panes;
mod help;
mod draw;

pub use answer_lines::found_lines;
pub use colors::Colors;
pub use state::{Choice, Effect, Input, Screen};
