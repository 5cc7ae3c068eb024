//! The agents whose sessions are compacted: packages, settings, how they are run, where their
//! session is.
//!
//! Each is pinned to a version that was reviewed. All of them are configured to stay off the
//! network.

mod claude_code;
mod codex;
mod gemini_cli;
mod opencode;
mod pi;

use std::path::PathBuf;
use std::process::Command;

use super::stage::Stage;

/// The name of the scripted provider and of its model, in the settings of agents.
const PROVIDER: &str = "scripted";
const MODEL: &str = "scripted-1";
/// The Node for newer agents.
const NODE: &str = "node@22.23.3";
/// The window configured for agents, large enough that none compacts by itself.
const WINDOW_TOKENS: usize = 200_000;
/// The window of those that are to compact themselves.
const SMALL_WINDOW_TOKENS: usize = 64_000;

/// An agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    /// The word for the command line and the table.
    pub(crate) name: &'static str,
    /// Its package in the registry of npm.
    pub(crate) package: &'static str,
    /// The version.
    pub(crate) version: &'static str,
    /// Another package, of the same version.
    pub(crate) companion: Option<&'static str>,
    /// The package of the Node that it needs, if that is newer than what many systems have.
    pub(crate) node: Option<&'static str>,
    /// The dialect of its requests.
    pub(crate) dialect: &'static str,
    /// Includes it in `all`.
    pub(crate) is_of_all: bool,
    /// Sends the outputs of old calls twice when it resumes a session that nobody touched.
    pub(crate) repeats_outputs: bool,
    /// Has sessions in which each line names the line that it follows.
    pub(crate) is_tree: bool,
    /// Writes its settings.
    pub(crate) configure: fn(&Stage, Compacts) -> Result<(), String>,
    /// Says a prompt, in a new session or in the last one.
    pub(crate) say: fn(&Stage, &str, Session) -> Command,
    /// Finds the file of its session.
    pub(crate) session: fn(&Stage) -> Result<PathBuf, String>,
    /// Tokens with which its window is so full that its model writes a summary, if `wb install`
    /// gives instructions for that.
    pub(crate) informed_at_tokens: Option<usize>,
    /// The way to install our plug-in, if there is one.
    pub(crate) plug: Option<Plug>,
}

/// The program that compacts the sessions of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compacts {
    /// `wb`, in the file, on request.
    ByHand,
    /// The agent itself, when the window is full.
    Itself,
}

/// The moment at which an agent compacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// At the end of a run.
    End,
    /// Between two requests of a run, and whether the calls in between stay unchanged.
    Midway { keeps_calls: bool },
}

/// The behaviour of an agent that compacts itself, and the way to install our plug-in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plug {
    /// The files of the plug-in in `crates/wb-cli/integrations`, and where they go below the home.
    pub(crate) files: &'static [(&'static str, &'static str)],
    /// Tokens with which the window is so full that it compacts.
    pub(crate) full_tokens: usize,
    /// The moment of its compaction.
    pub(crate) moment: Moment,
    /// Asks for a summary even if ours replaces it.
    pub(crate) asks_anyway: bool,
    /// Prints, without a terminal, the line that says how to undo a compaction.
    pub(crate) prints_notice: bool,
    /// Passes the user's wish for a compaction on.
    pub(crate) hands_over_words: bool,
    /// Compacts the last session, as its user would, with words if it takes any.
    pub(crate) compact: fn(&Stage, &str) -> Command,
}

impl Plug {
    /// Returns whether it compacts between two requests of a run.
    pub(crate) fn is_midway(&self) -> bool {
        self.moment != Moment::End
    }
}

/// The session that a prompt goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Session {
    /// A new one.
    New,
    /// The last one.
    Last,
}

/// Every agent.
pub(crate) const HOSTS: [Host; 6] =
    [pi::HOST, codex::HOST, opencode::HOST, claude_code::HOST, gemini_cli::HOST, pi::FORMER_HOST];

/// Returns the agents of a word: a name, or `all` that our CI runs.
pub(crate) fn named(word: &str) -> Result<Vec<Host>, String> {
    let found: Vec<Host> =
        HOSTS.into_iter().filter(|host| host.name == word || word == "all" && host.is_of_all).collect();
    if found.is_empty() {
        let names = HOSTS.map(|host| host.name).join(", ");
        return Err(format!("there is no host `{word}`\nhint: {names}, or the first three: all"));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_those_that_our_ci_runs() {
        let names = |word: &str| named(word).map(|hosts| hosts.iter().map(|host| host.name).collect());
        assert_eq!(names("all"), Ok(vec!["pi", "codex", "opencode"]));
        assert_eq!(names("claude-code"), Ok(vec!["claude-code"]));
    }

    #[test]
    fn an_unknown_host_is_reported_with_the_known_ones() {
        let why = named("emacs").unwrap_err();
        assert!(
            why.starts_with("there is no host `emacs`\nhint: pi, codex, opencode, claude-code, gemini-cli"),
            "{why}"
        );
    }
}
