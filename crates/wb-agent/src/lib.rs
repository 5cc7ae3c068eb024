//! A small agent that works for hours inside a small window: five tools in one folder, any model or
//! none, a log to resume from.
//!
//! It shows a host how the pieces fit. An [`Agent`] runs on a `SessionDriver` of `wb-session`,
//! whose log is the file of a [`Journal`]. The driver's `AgentContext` folds the head when the
//! window is full, in the background if a model writes the digest. Each message is appended before
//! it counts, and each compaction becomes entries of the log, so that the same transcript is read
//! again: [`Agent::new`] resumes after a kill at any point. Before a request is sent, it is checked
//! once more by the rules of its provider.
//!
//! The tools of a [`ToolBox`] stay in their [`Sandbox`], except for a shell command, which starts
//! there and has a limited time. Offline there are the [`Offline`] model, which runs the user's
//! calls, and [`Script`]s.
//!
//! ```
//! use std::sync::Arc;
//! use tokio_util::sync::CancellationToken;
//! use wb_agent::{Agent, Ended, Journal, Model, Offline, Sandbox, ToolBox, ToolLimits};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let dir = tempfile::tempdir()?;
//! std::fs::write(dir.path().join("notes.md"), "Buy milk.\n")?;
//! let sandbox = Sandbox::new(dir.path())?;
//! let journal = Journal::create(&dir.path().join("logs"), sandbox.root())?;
//! let tools = ToolBox::new(sandbox, ToolLimits::default());
//! let mut agent = Agent::new(Model::offline(Arc::new(Offline), false), tools, journal)?;
//! let ended = agent.prompt("read notes.md", &CancellationToken::new(), &mut |_| {}).await?;
//! assert_eq!((ended, agent.messages().len()), (Ended::Done, 4)); // prompt, call, result, answer
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod clock;
mod sandbox;
mod tools;
mod script;
mod model;
mod validity;
mod journal;
mod answer;
mod agent;
pub mod commands;
pub mod demo;

pub use agent::{Agent, Ended, Event, Show};
pub use error::AgentError;
pub use journal::Journal;
pub use model::Model;
pub use sandbox::Sandbox;
pub use script::{Offline, Script};
pub use tools::{STOPPED, ToolBox, ToolLimits, ToolOutput};
