//! Integration tests of the messages.

mod wire;
mod pairing;
mod patch;
mod text;
