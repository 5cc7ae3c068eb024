//! The agent, its tools and its command.

mod support;
mod tools;
mod turns;
#[cfg(unix)]
mod command;
