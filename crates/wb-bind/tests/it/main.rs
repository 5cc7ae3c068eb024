//! The surface as its users see it.

mod context;
mod laws;
mod summarizer;
mod vectors;
