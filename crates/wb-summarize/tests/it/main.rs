//! Integration tests of the summarizer.

mod caps;
mod asking;
mod snapshots;
mod vectors;
