//! The command line of `wb install` and `wb uninstall`.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

/// An agent that `wb` can be put into.
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
    /// Returns the name that people type.
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
    /// The agent; without it this is --check
    #[arg(value_enum, value_name = "HOST")]
    pub(crate) host: Option<HostName>,
    #[command(flatten)]
    pub(crate) scope: Scope,
    /// For older versions of Claude Code, which know no such plug-in: write hooks into its settings
    ///
    /// They add facts to the summary that Claude Code has its model write, and do not take its place.
    #[arg(long, requires = "host", conflicts_with = "check")]
    pub(crate) hooks: bool,
    /// Write nothing; say whether what was installed is in place and would be used
    ///
    /// The exit code is 3 if something is in place and would not be used, or nothing is in place for the HOST that is
    /// named.
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

/// What both have in common.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Scope {
    /// For the project that you are in only, instead of for all that you do
    ///
    /// Codex and opencode have it at the root of the repository; Claude Code and pi look for it in the folder that they
    /// are started in, so it goes into the working directory.
    #[arg(long, requires = "host")]
    pub(crate) project: bool,
    /// Show exactly what would be written, and write nothing
    #[arg(long, requires = "host")]
    pub(crate) dry_run: bool,
}
