//! Compactions: previewed, written, undone, replayed, and written by a model.

mod commands;
mod strategies;
mod sessions;
mod in_place;
mod as_planned;
mod validity;
mod log;
mod replay;
mod model_cards;
#[cfg(feature = "models")]
mod models;
