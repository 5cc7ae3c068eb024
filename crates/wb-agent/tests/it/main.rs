//! The agent, its tools and its command.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod support;
mod tools;
mod turns;
mod sessions;
#[cfg(unix)]
mod command;
