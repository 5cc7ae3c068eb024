//! The options of commands that write a session.

use std::path::PathBuf;

use clap::Args;

/// The place that a changed session is written to; without one, nothing is written.
#[derive(Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct WriteTo {
    /// Write the whole changed session to OUT; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite OUT if it exists
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    /// Write the change into FILE; `wb undo FILE` reverts it
    #[arg(long, conflicts_with = "out")]
    pub(crate) in_place: bool,
    /// Write into FILE even if another program uses it
    ///
    /// A program uses it if it has it open, or wrote to it less than 10 s ago.
    #[arg(long, requires = "in_place", alias = "even-if-open")]
    pub(crate) allow_open: bool,
    /// Report what would be done and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}
