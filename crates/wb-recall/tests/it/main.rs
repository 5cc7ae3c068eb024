//! Questions about whole sessions, and text that imitates somebody else.

mod imitations;
mod laws;
mod numbers;
mod questions;
