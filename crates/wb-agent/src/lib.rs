//! A small agent that works for hours inside a small window.
pub mod error;
pub mod clock;
pub mod sandbox;
pub mod tools;
pub mod script;
pub mod model;
pub mod validity;
mod step;
pub mod journal;
mod answer;
pub mod agent;
pub mod commands;

pub use agent::{Agent, Ended, Event, SYSTEM, Show};
pub use commands::Command;
pub use error::AgentError;
pub use journal::{Journal, StepNote};
pub use model::Model;
pub use sandbox::Sandbox;
pub use script::{Offline, Script};
pub use tools::{ToolBox, ToolLimits, ToolOutput};
