//! The agents that `wb` can be installed in: their folders and files.

use std::path::PathBuf;

use super::hooks::{HookEvent, OF_CLAUDE_CODE, OF_CODEX};
use super::plug_in::{self, Embedded};
use crate::args::install::HostName;
use crate::platform::environment::Environment;

/// An agent, as it was tried.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) name: HostName,
    /// As its makers write it.
    pub(crate) title: &'static str,
    pub(crate) program: &'static str,
    /// The first version that is known to ask the plug-in, if older ones do not.
    pub(crate) first: Option<&'static str>,
    /// The version that the plug-in was tested with, as docs/evaluation has it.
    pub(crate) tried: &'static str,
    /// The folder below the user's home.
    pub(crate) home: &'static str,
    /// The folder that a variable names instead.
    pub(crate) moved: fn(&Environment) -> Option<PathBuf>,
    /// The folder below the project, if the agent looks for plug-ins there.
    pub(crate) project: Option<&'static str>,
    /// Indicates that the agent also finds that folder from subfolders, up to the repository root,
    /// not only where it starts.
    pub(crate) looks_up: bool,
    /// The files of the plug-in, first the one that runs `wb`; none if the agent takes no plug-in.
    pub(crate) files: &'static [Embedded],
    /// The file for hooks, for all that the user does and for a project.
    pub(crate) hooks: Option<[&'static str; 2]>,
    /// The settings that take instructions for the summary that its model writes, if there are any.
    pub(crate) prompt: Option<&'static str>,
    /// The programs that the plug-in runs in addition to `wb`; each must be in the search path.
    pub(crate) runs: &'static [&'static str],
    /// The events that the hooks handle.
    pub(crate) events: &'static [HookEvent],
    /// The settings that may switch it off, the user's and those of a project.
    pub(crate) settings: [&'static [&'static str]; 2],
    /// The effect of the plug-in on compactions, if there is one.
    pub(crate) effect: &'static str,
}

pub(crate) const HOSTS: [Host; 5] = [
    Host {
        name: HostName::ClaudeCode,
        title: "Claude Code",
        program: "claude",
        first: Some("2.1.286"),
        tried: "2.1.332",
        home: ".claude",
        moved: |environment| environment.claude_config.clone(),
        project: Some(".claude"),
        looks_up: false,
        files: &plug_in::OF_CLAUDE_CODE,
        hooks: Some(["settings.json", "settings.local.json"]),
        prompt: None,
        runs: &[],
        events: OF_CLAUDE_CODE,
        settings: [&["settings.json"], &[".claude/settings.json", ".claude/settings.local.json"]],
        effect: "Claude Code now compacts with wb, without a request to a model.",
    },
    Host {
        name: HostName::Codex,
        title: "Codex",
        program: "codex",
        first: None,
        tried: "0.171.0",
        home: ".codex",
        moved: |environment| environment.codex_home.clone(),
        project: Some(".codex"),
        looks_up: true,
        files: &[],
        hooks: Some(["hooks.json", "hooks.json"]),
        prompt: Some("config.toml"),
        runs: &[],
        events: OF_CODEX,
        settings: [&["config.toml"], &[".codex/config.toml"]],
        effect: "",
    },
    Host {
        name: HostName::GeminiCli,
        title: "Gemini CLI",
        program: "gemini",
        first: None,
        tried: "0.61.0",
        home: ".gemini",
        moved: |environment| Some(environment.gemini_home.as_ref()?.join(".gemini")),
        project: None,
        looks_up: false,
        files: &plug_in::OF_GEMINI_CLI,
        hooks: None,
        prompt: None,
        runs: &["node"],
        events: &[],
        settings: [&["settings.json"], &[".gemini/settings.json"]],
        effect: "In Gemini CLI the model now reads the summary of wb; Gemini CLI still sends its own requests for one.",
    },
    Host {
        name: HostName::Opencode,
        title: "opencode",
        program: "opencode",
        first: None,
        tried: "1.18.33",
        home: ".config/opencode",
        moved: |environment| Some(environment.config_home.as_ref()?.join("opencode")),
        project: Some(".opencode"),
        looks_up: true,
        files: &plug_in::OF_OPENCODE,
        hooks: None,
        prompt: None,
        runs: &[],
        events: &[],
        settings: [&["config.json", "opencode.json", "opencode.jsonc"], &["opencode.json", "opencode.jsonc"]],
        effect: "opencode now stores the summary of wb; it still sends its own request for one.",
    },
    Host {
        name: HostName::Pi,
        title: "pi",
        program: "pi",
        first: None,
        tried: "1.6.0",
        home: ".pi/agent",
        moved: |environment| environment.pi_agent.clone(),
        project: Some(".pi"),
        looks_up: false,
        files: &plug_in::OF_PI,
        hooks: None,
        prompt: None,
        runs: &[],
        events: &[],
        settings: [&["settings.json"], &[".pi/settings.json"]],
        effect: "pi now compacts with wb, without a request to a model.",
    },
];

/// Returns the entry of an agent.
pub(crate) fn host(name: HostName) -> &'static Host {
    HOSTS.iter().find(|host| host.name == name).unwrap_or(&HOSTS[0])
}
