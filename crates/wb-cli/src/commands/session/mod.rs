//! `wb session`: the content of a session log, and new entries for it.

mod session_log;
mod find;
mod describe;
mod graph;
mod tree;
mod show;
mod weight;
mod context;
mod write;
mod settings;
mod branch;

use anyhow::Result;

use crate::args::session::SessionCommand;
use crate::terminal::shell::Shell;

/// Runs one of the commands on a session log.
pub(crate) fn run(shell: &Shell, command: &SessionCommand) -> Result<()> {
    match command {
        SessionCommand::Tree(args) => tree::tree(shell, args),
        SessionCommand::Show(args) => show::show(shell, args),
        SessionCommand::Context(args) => context::context(shell, args),
        SessionCommand::Branch(args) => branch::branch(shell, args),
    }
}
