//! The command line of `wb session`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::args::model::ModelArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Show the entries of a session as a tree
    Tree(SessionTree),
    /// Show the content of an entry
    Show(SessionEntry),
    /// Show what the model sees at an entry
    Context(SessionEntry),
    /// Move to an entry, so that the next message follows it
    ///
    /// For a prompt, moves to the entry before it and prints the prompt, so that you can rewrite
    /// it.
    Branch(Box<SessionBranch>),
}

/// The arguments of a command that writes.
#[derive(Debug, Args)]
pub(crate) struct SessionChange {
    /// Session of pi: a file, an id or words of its title
    ///
    /// `-` is standard input and needs -o.
    #[arg(value_name = "SESSION")]
    pub(crate) file: PathBuf,
    /// Write the changed session to OUT, a new file; SESSION stays unchanged
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Show what would be done and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionTree {
    /// Session of pi: a file, an id or words of its title; `-` is stdin
    #[arg(value_name = "SESSION")]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SessionEntry {
    /// Session of pi: a file, an id or words of its title; `-` is stdin
    #[arg(value_name = "SESSION")]
    pub(crate) file: PathBuf,
    /// Id of an entry, or any unique prefix [default: the last entry]
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SessionBranch {
    #[command(flatten)]
    pub(crate) change: SessionChange,
    /// Id of an entry, or any unique prefix
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: String,
    /// Add a digest of the branch that you leave
    #[arg(long)]
    pub(crate) summarize: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
