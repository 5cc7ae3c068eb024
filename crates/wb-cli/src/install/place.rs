//! Where agents look for what is put into them.

use std::path::{Path, PathBuf};

use crate::environment::Environment;
use crate::install_args::HostName;
use crate::user_error::UserError;

/// An agent, as it was tried.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) name: HostName,
    /// The name that people type.
    pub(super) word: &'static str,
    /// As its makers write it.
    pub(super) title: &'static str,
    pub(super) program: &'static str,
    /// The version that the plug-in was tried with, as docs/evaluation/hosts.md has it.
    pub(super) tried: &'static str,
    /// The folder below the project.
    project: &'static str,
    /// The file for hooks, for all that the user does and for a project.
    hooks: Option<[&'static str; 2]>,
    /// What its compaction is with the plug-in, if there is one.
    pub(super) effect: &'static str,
}

pub(super) const HOSTS: [Host; 4] = [
    Host {
        name: HostName::ClaudeCode,
        word: "claude-code",
        title: "Claude Code",
        program: "claude",
        tried: "2.1.328",
        project: ".claude",
        hooks: Some(["settings.json", "settings.local.json"]),
        effect: "Claude Code now compacts by wb, without a request to a model.",
    },
    Host {
        name: HostName::Codex,
        word: "codex",
        title: "Codex",
        program: "codex",
        tried: "0.169.0",
        project: ".codex",
        hooks: Some(["hooks.json", "hooks.json"]),
        effect: "",
    },
    Host {
        name: HostName::Opencode,
        word: "opencode",
        title: "opencode",
        program: "opencode",
        tried: "1.18.33",
        project: ".opencode",
        hooks: None,
        effect: "opencode now stores the summary of wb; it still sends its own request for one.",
    },
    Host {
        name: HostName::Pi,
        word: "pi",
        title: "pi",
        program: "pi",
        tried: "0.73.1",
        project: ".pi",
        hooks: None,
        effect: "pi now compacts by wb, without a request to a model.",
    },
];

/// Returns what is known of an agent.
pub(super) fn host(name: HostName) -> &'static Host {
    HOSTS.iter().find(|host| host.name == name).unwrap_or(&HOSTS[0])
}

/// A folder of an agent: the user's, or that of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// What is there already, links or not; below it no link is followed.
    pub(super) root: PathBuf,
    /// Below the root, the folder that the agent reads.
    folder: PathBuf,
    pub(super) is_project: bool,
}

impl Place {
    /// Returns the folder of an agent.
    pub(super) fn of(host: &Host, environment: &Environment, is_project: bool) -> Result<Self, UserError> {
        if is_project {
            let root = environment.working.clone().ok_or_else(no_folder)?;
            return Ok(Self { root, folder: host.project.into(), is_project });
        }
        let told = match host.name {
            HostName::ClaudeCode => environment.claude_config.clone(),
            HostName::Codex => environment.codex_home.clone(),
            HostName::Opencode => environment.config_home.as_ref().map(|folder| folder.join("opencode")),
            HostName::Pi => environment.pi_agent.clone(),
        };
        let below = match host.name {
            HostName::ClaudeCode => ".claude",
            HostName::Codex => ".codex",
            HostName::Opencode => ".config/opencode",
            HostName::Pi => ".pi/agent",
        };
        let root = told.or_else(|| environment.home.as_ref().map(|home| home.join(below)));
        Ok(Self { root: root.ok_or_else(no_folder)?, folder: PathBuf::new(), is_project })
    }

    /// Returns the path of a file below the folder that the agent reads.
    pub(super) fn file(&self, below: &str) -> PathBuf {
        self.root.join(&self.folder).join(below)
    }

    /// Returns the file for hooks, if the agent has one.
    pub(super) fn hooks(&self, host: &Host) -> Option<PathBuf> {
        Some(self.file(host.hooks?[usize::from(self.is_project)]))
    }
}

fn no_folder() -> UserError {
    UserError::new(
        "it is not known where to look",
        "set HOME to your home, or run wb in a folder that is there",
    )
}

/// Returns the path of a program, if the user's search path leads to one.
pub(super) fn found(environment: &Environment, program: &str) -> Option<PathBuf> {
    environment.search.iter().map(|folder| folder.join(program)).find(|path| is_program(path))
}

/// Returns whether a file is there that can be run.
#[cfg(unix)]
pub(super) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns whether a file is there.
#[cfg(not(unix))]
pub(super) fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_the_agents_say_where_else_to_put_it() {
        let environment = Environment { home: Some("/h".into()), ..Environment::default() };
        let place = |name, environment: &Environment| Place::of(host(name), environment, false).unwrap().root;
        let names = [HostName::ClaudeCode, HostName::Codex, HostName::Opencode, HostName::Pi];
        let usual = ["/h/.claude", "/h/.codex", "/h/.config/opencode", "/h/.pi/agent"].map(PathBuf::from);
        assert_eq!(names.map(|name| place(name, &environment)), usual);
        let moved = Environment {
            claude_config: Some("/c".into()),
            codex_home: Some("/x".into()),
            config_home: Some("/o".into()),
            pi_agent: Some("/p".into()),
            ..environment
        };
        assert_eq!(
            names.map(|name| place(name, &moved)),
            ["/c", "/x", "/o/opencode", "/p"].map(PathBuf::from)
        );
        assert!(Place::of(host(HostName::Pi), &Environment::default(), false).is_err());
    }

    #[test]
    fn a_project_has_a_folder_for_each_agent() {
        let environment = Environment { working: Some("/w".into()), ..Environment::default() };
        let place = Place::of(host(HostName::ClaudeCode), &environment, true).unwrap();
        assert_eq!(place.hooks(host(HostName::ClaudeCode)), Some("/w/.claude/settings.local.json".into()));
        assert_eq!(place.file("x"), PathBuf::from("/w/.claude/x"));
    }
}
