//! Integration tests of the summarizer.

mod vectors;
