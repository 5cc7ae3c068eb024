//! Integration tests of the summarizer.

mod caps;
mod local;
mod asking;
mod summarizer;
mod summarizer_vectors;
mod requests;
mod snapshots;
mod vectors;
