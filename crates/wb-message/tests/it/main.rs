//! Integration tests of the messages.

mod fingerprint;
mod wire;
mod pairing;
mod patch;
mod text;
