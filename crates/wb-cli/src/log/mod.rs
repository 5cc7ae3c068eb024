//! `wb session`: what a session log holds, read and never written.

mod opened;
mod find;
mod words;
mod graph;
mod tree;
mod show;
mod context;

use anyhow::Result;

use crate::args::SessionCommand;

/// Runs one of the commands that look into a session log.
pub(crate) fn run(command: &SessionCommand) -> Result<()> {
    match command {
        SessionCommand::Tree(args) => tree::tree(args),
        SessionCommand::Show(args) => show::show(args),
        SessionCommand::Context(args) => context::context(args),
    }
}
