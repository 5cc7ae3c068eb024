//! The agents that `wb` can be installed in: their folders and files.

pub(crate) mod compact_prompt;
pub(crate) mod hooks;
pub(crate) mod host_version;
mod json_edit;
pub(crate) mod status_line;
pub(crate) mod place;
pub(crate) mod plug_in;
pub(crate) mod switches;
pub(crate) mod trust;

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::{Serialize, Serializer};

use self::hooks::{HookEvent, OF_CLAUDE_CODE, OF_CODEX};
use self::plug_in::Embedded;
use self::switches::Switches;
use self::trust::Untrusted;
use crate::platform::environment::Environment;

/// An agent, as it was tried.
#[derive(Debug)]
pub(crate) struct Host {
    /// The name on the command line.
    pub(crate) name: &'static str,
    pub(crate) alias: Option<&'static str>,
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
    /// The next step of the user, after an installation for all projects and for one.
    pub(crate) next: [&'static str; 2],
    /// Returns what in the settings of the agent switches an installed file off.
    pub(crate) off: fn(&Switches<'_>) -> Option<String>,
    /// Returns the question about trust that the agent has not put to the user yet.
    pub(crate) distrust: fn(&Untrusted<'_>) -> Option<&'static str>,
    /// The folder below its home with digests next to sessions, if its plug-in writes any.
    pub(crate) digests: Option<&'static str>,
}

pub(crate) static HOSTS: [Host; 5] = [
    Host {
        name: "claude-code",
        alias: Some("claude"),
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
        next: [
            "Restart open Claude Code sessions to use it.",
            "Claude Code loads it once you trust this folder. Restart open sessions to use it.",
        ],
        off: switches::of_claude_code,
        distrust: trust::by_claude_code,
        digests: None,
    },
    Host {
        name: "codex",
        alias: None,
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
        next: [
            "Start codex and enter /hooks: Codex runs no hook until you review and trust it, and codex exec does not mention it. wb never accepts that prompt for you.",
            "Trust this project in Codex, then start codex and enter /hooks: Codex runs no hook until you review and trust it, and codex exec does not mention it. wb never accepts that prompt for you.",
        ],
        off: switches::of_codex,
        distrust: trust::by_codex,
        digests: None,
    },
    Host {
        name: "gemini-cli",
        alias: Some("gemini"),
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
        next: ["Restart open Gemini CLI sessions to use it.", "Restart open Gemini CLI sessions to use it."],
        off: switches::of_gemini_cli,
        distrust: |_| None,
        digests: Some("tmp"),
    },
    Host {
        name: "opencode",
        alias: None,
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
        next: ["Restart open opencode sessions to use it.", "Restart open opencode sessions to use it."],
        off: |_| None,
        distrust: |_| None,
        digests: None,
    },
    Host {
        name: "pi",
        alias: None,
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
        next: ["Restart open pi sessions to use it.", "Restart open pi sessions to use it."],
        off: switches::of_pi,
        distrust: |_| None,
        digests: None,
    },
];

impl Host {
    /// Parses the name of an agent on the command line.
    pub(crate) fn parser() -> impl TypedValueParser<Value = &'static Self> {
        let names = HOSTS.iter().map(|host| PossibleValue::new(host.name).aliases(host.alias));
        PossibleValuesParser::new(names).try_map(|name| host(&name).ok_or("unknown agent"))
    }
}

impl Serialize for Host {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name)
    }
}

/// Returns the agent of a name.
pub(crate) fn host(name: &str) -> Option<&'static Host> {
    HOSTS.iter().find(|host| host.name == name || host.alias == Some(name))
}
