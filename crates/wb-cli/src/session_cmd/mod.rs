//! `wb session`: what a session log holds, and entries that are appended to it.

mod opened;
mod find;
mod describe;
mod graph;
mod tree;
mod show;
mod weight;
mod context;
mod write;
mod settings;
mod compact;
mod undo;
mod branch;

use anyhow::Result;

use crate::args::SessionCommand;

/// Runs one of the commands on a session log.
pub(crate) fn run(command: &SessionCommand) -> Result<()> {
    match command {
        SessionCommand::Tree(args) => tree::tree(args),
        SessionCommand::Show(args) => show::show(args),
        SessionCommand::Context(args) => context::context(args),
        SessionCommand::Compact(args) => compact::compact(args),
        SessionCommand::Undo(args) => undo::undo(args),
        SessionCommand::Branch(args) => branch::branch(args),
    }
}
