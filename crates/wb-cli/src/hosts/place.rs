//! Finds the folders from which agents load what is installed.

use std::path::{Path, PathBuf};

use super::Host;
use crate::platform::environment::Environment;
use crate::terminal::user_error::UserError;

/// A folder of an agent: the user's, or that of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallPlace {
    /// The existing root, links or not; no link below it is followed.
    pub(crate) root: PathBuf,
    /// Below the root, the folder that the agent reads.
    folder: PathBuf,
    pub(crate) is_project: bool,
}

impl InstallPlace {
    /// Returns the folder of an agent.
    pub(crate) fn new(host: &Host, environment: &Environment, is_project: bool) -> Result<Self, UserError> {
        if is_project {
            let root = project_folders(host, environment).pop().ok_or_else(no_folder)?;
            let folder = host.project.ok_or_else(|| no_project(host))?.into();
            return Ok(Self { root: root.to_owned(), folder, is_project });
        }
        let moved = (host.moved)(environment);
        let root = moved.or_else(|| environment.home.as_ref().map(|home| home.join(host.home)));
        Ok(Self { root: root.ok_or_else(no_folder)?, folder: PathBuf::new(), is_project })
    }

    /// Returns the path of a file below the folder that the agent reads.
    pub(crate) fn file(&self, below: &str) -> PathBuf {
        self.root.join(&self.folder).join(below)
    }

    /// Returns the file for hooks, if the agent has one.
    pub(crate) fn hooks(&self, host: &Host) -> Option<PathBuf> {
        Some(self.file(host.hooks?[usize::from(self.is_project)]))
    }

    /// Returns the settings file with instructions for a summary, if the agent has one.
    pub(crate) fn prompt(&self, host: &Host) -> Option<PathBuf> {
        Some(self.file(host.prompt?))
    }
}

/// Returns the folders in which an agent started here looks for project files, the outermost last.
pub(crate) fn project_folders<'a>(host: &Host, environment: &'a Environment) -> Vec<&'a Path> {
    let Some(working) = environment.working.as_deref() else { return Vec::new() };
    let root = repository(working).filter(|_| host.looks_up).unwrap_or(working);
    working.ancestors().take_while(|folder| folder.starts_with(root)).collect()
}

/// Returns the root of the repository that a folder is in.
fn repository(folder: &Path) -> Option<&Path> {
    folder.ancestors().find(|it| it.join(".git").exists())
}

/// Notes which folder a project's plug-in applies to, if the repository is larger.
pub(crate) fn part_of_project(
    host: &Host,
    place: &InstallPlace,
    environment: &Environment,
) -> Option<String> {
    let whole = repository(&place.root).filter(|it| place.is_project && *it != place.root)?;
    let [part, whole] = [&place.root, whole].map(|folder| environment.tilde(folder));
    let title = host.title;
    Some(format!(
        "{title} only looks for project plug-ins in the folder where it starts: this applies to {part}, not to {whole}"
    ))
}

fn no_project(host: &Host) -> UserError {
    let hint = format!("leave --project out: wb install {}", host.name);
    UserError::new(format!("{} only loads plug-ins from your home directory", host.title), hint)
}

fn no_folder() -> UserError {
    UserError::new("no home or working directory found", "set HOME, or run wb in an existing folder")
}

/// Returns the path of a program, if the user's search path leads to one.
pub(crate) fn find_program(environment: &Environment, program: &str) -> Option<PathBuf> {
    environment.search.iter().map(|folder| folder.join(program)).find(|path| is_program(path))
}

/// Returns whether a file is there that can be run.
#[cfg(unix)]
pub(crate) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Returns whether a file is there.
#[cfg(not(unix))]
pub(crate) fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(test)]
mod tests {
    use super::super::{HOSTS, host};
    use super::*;

    #[test]
    fn variables_of_the_agents_say_where_else_to_put_it() {
        let environment = Environment { home: Some("/h".into()), ..Environment::default() };
        let place = |name, environment: &Environment| {
            InstallPlace::new(host(name).unwrap(), environment, false).unwrap().root
        };
        let names = HOSTS.each_ref().map(|host| host.name);
        let usual = ["/h/.claude", "/h/.codex", "/h/.gemini", "/h/.config/opencode", "/h/.pi/agent"]
            .map(PathBuf::from);
        assert_eq!(names.map(|name| place(name, &environment)), usual);
        let moved = Environment {
            claude_config: Some("/c".into()),
            codex_home: Some("/x".into()),
            config_home: Some("/o".into()),
            gemini_home: Some("/g".into()),
            pi_agent: Some("/p".into()),
            ..environment
        };
        assert_eq!(
            names.map(|name| place(name, &moved)),
            ["/c", "/x", "/g/.gemini", "/o/opencode", "/p"].map(PathBuf::from)
        );
        assert!(InstallPlace::new(host("pi").unwrap(), &Environment::default(), false).is_err());
    }

    #[test]
    fn the_folder_of_a_project_is_where_the_agent_looks_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let [root, below] = ["r", "r/a/b"].map(|it| folder.path().join(it));
        std::fs::create_dir_all(&below).unwrap();
        let environment = Environment { working: Some(below.clone()), ..Environment::default() };
        let place = |name| InstallPlace::new(host(name).unwrap(), &environment, true).unwrap();
        let part = |name| part_of_project(host(name).unwrap(), &place(name), &environment);
        for name in ["codex", "opencode", "claude-code", "pi"] {
            assert_eq!((place(name).root, part(name)), (below.clone(), None), "it is in no repository");
        }
        // As in a worktree.
        std::fs::write(root.join(".git"), "gitdir: elsewhere\n").unwrap();
        for name in ["codex", "opencode"] {
            assert_eq!((place(name).root, part(name)), (root.clone(), None), "{name:?}");
        }
        for name in ["claude-code", "pi"] {
            assert_eq!(place(name).root, below, "{name:?}");
            assert!(part(name).unwrap().contains(root.to_str().unwrap()), "{name:?}");
        }
    }

    #[test]
    fn a_project_has_a_folder_for_each_agent() {
        let environment = Environment { working: Some("/w".into()), ..Environment::default() };
        let place = InstallPlace::new(host("claude-code").unwrap(), &environment, true).unwrap();
        assert_eq!(place.hooks(host("claude-code").unwrap()), Some("/w/.claude/settings.local.json".into()));
        assert_eq!(place.file("x"), PathBuf::from("/w/.claude/x"));
    }
}
