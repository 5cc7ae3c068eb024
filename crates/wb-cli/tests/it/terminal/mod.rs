//! Output: screens, hints, colours, and promises of the docs.

mod screens;
mod output;
mod overview;
mod hints;
mod promises;
mod fleet;
