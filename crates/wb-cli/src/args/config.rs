//! The command line of `wb config`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Args, Subcommand};

/// The keys outside tables.
pub(crate) const KEYS: [&str; 6] =
    ["strategy", "trigger_ratio", "keep_recent_tokens", "reserve_tokens", "images", "pin"];

/// The keys of agents.
const HOST_KEYS: [&str; 5] =
    ["hosts.claude-code", "hosts.codex", "hosts.gemini-cli", "hosts.opencode", "hosts.pi"];

#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    pub(crate) action: Option<ConfigAction>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigAction {
    /// Set a key, such as `strategy`, `hosts.pi` or `pin`
    ///
    /// Comments in the file stay, and a value that is not valid changes nothing. A key of a model
    /// is written as `'models."ID".context_window'`.
    ///
    /// Examples: `wb config set trigger_ratio 0.8`; `wb config set hosts.pi false`
    Set {
        /// The key
        #[arg(value_parser = KeyParser, hide_possible_values = true)]
        key: String,
        /// The value, as in the file; quotes of a text may be left out
        #[arg(allow_negative_numbers = true)]
        value: String,
        /// Change .wb.toml in the working folder
        #[arg(long)]
        project: bool,
    },
    /// Remove a key, so that its default counts
    Unset {
        /// The key
        #[arg(value_parser = KeyParser, hide_possible_values = true)]
        key: String,
        /// Change .wb.toml in the working folder
        #[arg(long)]
        project: bool,
    },
    /// Open the settings in your editor, and check them afterwards
    ///
    /// A new file begins with every key, its default and what it does. The editor is VISUAL, EDITOR
    /// or vi.
    Edit {
        /// Open .wb.toml in the working folder
        #[arg(long)]
        project: bool,
    },
    /// Print a settings file with every key, its default and what it does
    Example,
    /// Trust the .wb.toml of a folder
    ///
    /// Without it the file has no effect. Read the file first: its pinned sentences appear in every
    /// digest.
    Trust {
        /// The project's folder; default: the working one
        folder: Option<PathBuf>,
    },
    /// Stop trusting the .wb.toml of a folder
    Untrust {
        /// The project's folder; default: the working one
        folder: Option<PathBuf>,
    },
}

/// Accepts every key, and names those that a shell may complete.
#[derive(Clone, Copy, Debug)]
struct KeyParser;

impl TypedValueParser for KeyParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(KEYS.into_iter().chain(HOST_KEYS).map(PossibleValue::new)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::HOSTS;

    #[test]
    fn every_agent_has_a_key() {
        let names: Vec<String> = HOSTS.iter().map(|host| format!("hosts.{}", host.name)).collect();
        assert_eq!(names, HOST_KEYS);
    }
}
