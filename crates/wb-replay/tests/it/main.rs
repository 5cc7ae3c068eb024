//! Integration tests of the replay.

mod laws;
