//! The command line of `wb install` and `wb uninstall`.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// An agent with a plug-in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HostName {
    #[value(alias = "claude")]
    ClaudeCode,
    Codex,
    #[value(alias = "gemini")]
    GeminiCli,
    Opencode,
    Pi,
}

impl HostName {
    /// Returns the name on the command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
        }
    }
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Install {
    /// The agent; without it, same as --check
    #[arg(value_enum, value_name = "HOST")]
    pub(crate) host: Option<HostName>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// Write hooks, for versions of Claude Code without plug-ins
    ///
    /// They add facts to the summary that Claude Code's model writes, and do not replace it.
    #[arg(long, requires = "host", conflicts_with = "check")]
    pub(crate) hooks: bool,
    /// Report whether the plug-in would be used; write nothing
    ///
    /// Exits with 3 if a plug-in would not be used, or is not installed for HOST.
    #[arg(long, conflicts_with_all = ["project", "dry_run"])]
    pub(crate) check: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Uninstall {
    /// The agent
    #[arg(value_enum, value_name = "HOST")]
    pub(crate) host: HostName,
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
