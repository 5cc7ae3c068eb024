//! The command line of `wb install` and `wb uninstall`.

use clap::Args;

use crate::hosts::Host;

#[derive(Clone, Copy, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct Install {
    /// The agent; without it, same as --check
    #[arg(value_parser = Host::parser(), value_name = "HOST")]
    pub(crate) host: Option<&'static Host>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// Write hooks, for versions of Claude Code without plug-ins
    ///
    /// They add facts to the summary that Claude Code's model writes, and do not replace it.
    #[arg(long, requires = "host", conflicts_with = "check")]
    pub(crate) hooks: bool,
    /// Leave out the tool with which the model looks up what was folded
    #[arg(long, requires = "host", conflicts_with = "check")]
    pub(crate) no_recall: bool,
    /// Also set the status line of Claude Code, unless you have one
    #[arg(long, requires = "host", conflicts_with = "check")]
    pub(crate) statusline: bool,
    /// Report whether the plug-in would be used; write nothing
    ///
    /// Exits with 3 if a plug-in would not be used, or is not installed for HOST.
    #[arg(long, conflicts_with_all = ["project", "dry_run"])]
    pub(crate) check: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Uninstall {
    /// The agent
    #[arg(value_parser = Host::parser(), value_name = "HOST")]
    pub(crate) host: &'static Host,
    #[command(flatten)]
    pub(crate) scope: Scope,
}

/// The scope of an installation.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Scope {
    /// Apply to the current project only
    ///
    /// For Codex and opencode at the root of the repository; for Claude Code and pi in the working
    /// directory, where they look for it.
    #[arg(long, requires = "host")]
    pub(crate) project: bool,
    /// Show what would be written and write nothing
    #[arg(long, requires = "host")]
    pub(crate) dry_run: bool,
}
