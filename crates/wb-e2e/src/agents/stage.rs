//! A folder for one run: a separate home for the agent, a project, and the agent's output.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::apart;

/// The time limit of an agent for one prompt.
const PATIENCE: Duration = Duration::from_mins(2);
/// The interval between checks for its end.
const PAUSE: Duration = Duration::from_millis(20);
/// The number of output lines in an error.
const SHOWN_LINES: usize = 12;

/// The folder of a run.
#[derive(Debug)]
pub(crate) struct Stage {
    root: PathBuf,
    modules: PathBuf,
    port: u16,
    /// Ports that were listened on while programs ran, where only this stage can have listeners.
    heard: RefCell<BTreeSet<u16>>,
    /// Ports that were listened on before: the provider's, and that of the last run, which may end
    /// a little later.
    known: Vec<u16>,
    is_apart: bool,
}

impl Stage {
    /// Creates the folders below a new root; the agent's packages are in `modules`.
    pub(crate) fn create(root: PathBuf, modules: PathBuf, port: u16) -> Result<Self, String> {
        let stage = Self {
            root,
            modules,
            port,
            heard: RefCell::default(),
            known: apart::listeners(),
            is_apart: apart::is_here(),
        };
        for folder in [stage.home(), stage.project(), stage.root.join("tmp")] {
            std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        Ok(stage)
    }

    /// Returns the home of the agent.
    pub(crate) fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// Returns the folder that the agent works in.
    pub(crate) fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// Returns where a plug-in looks for `wb`.
    pub(crate) fn wb(&self) -> PathBuf {
        self.root.join("bin/wb")
    }

    /// Returns every file below the home.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        files_below(&self.home())
    }

    /// Returns the folder that the agent's packages are in.
    pub(crate) fn modules(&self) -> &Path {
        &self.modules
    }

    /// Returns the address of the provider.
    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Writes a file below the home.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let file = self.home().join(name);
        let failure = |error| format!("{}: {error}", file.display());
        file.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failure)?;
        std::fs::write(&file, text).map_err(failure)
    }

    /// Returns a program of the agent's packages.
    pub(crate) fn agent(&self, name: &str) -> Command {
        self.command(&self.programs().join(name))
    }

    fn programs(&self) -> PathBuf {
        self.modules.join("node_modules/.bin")
    }

    /// Returns a program that knows nothing of this machine but where programs are, those of the
    /// agent's packages first.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [self.programs()].into_iter().chain(std::env::split_paths(&path));
        let path = std::env::join_paths(folders).unwrap_or(path);
        command.env_clear().env("PATH", path).env("HOME", self.home()).env("TMPDIR", self.root.join("tmp"));
        command.envs([("LANG", "C.UTF-8"), ("TERM", "dumb"), ("DO_NOT_TRACK", "1")]);
        command.current_dir(self.project());
        command
    }

    /// Runs a program to its end and returns its output; the label names the files that keep it.
    pub(crate) fn run(&self, label: &str, mut command: Command) -> Result<String, String> {
        let name = command.get_program().display().to_string();
        let [out, err] = ["out", "err"].map(|end| self.root.join(format!("{label}.{end}")));
        let create = |file: &Path| File::create(file).map_err(|error| format!("{}: {error}", file.display()));
        command.stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
        own_group(&mut command);
        let child = command.spawn().map_err(|error| format!("{label}: {name}: {error}"))?;
        let ended = wait(child, PATIENCE, &|| self.hear()).map_err(|why| format!("{label}: {name}: {why}"));
        let status =
            ended.and_then(
                |status| {
                    if status.success() { Ok(()) } else { Err(format!("{label}: {name}: {status}")) }
                },
            );
        let [out, err] = [out, err].map(|file| std::fs::read_to_string(file).unwrap_or_default());
        status.map(|()| out.clone()).map_err(|why| format!("{why}\n{}", last_lines(&format!("{out}{err}"))))
    }

    fn hear(&self) {
        if self.is_apart {
            self.heard.borrow_mut().extend(apart::listeners());
        }
    }

    /// Returns the ports, but for those known before, that were listened on since this was asked
    /// last.
    pub(crate) fn heard(&self) -> Vec<u16> {
        self.heard.take().into_iter().filter(|port| !self.known.contains(port)).collect()
    }

    /// Deletes the folder.
    pub(crate) fn delete(&self) -> Result<(), String> {
        std::fs::remove_dir_all(&self.root).map_err(|error| format!("{}: {error}", self.root.display()))
    }
}

/// Makes a program the first of a group, so that it can be ended with all that it started.
#[cfg(unix)]
fn own_group(command: &mut Command) {
    std::os::unix::process::CommandExt::process_group(command, 0);
}

#[cfg(not(unix))]
fn own_group(_: &mut Command) {}

fn wait(mut child: Child, patience: Duration, look: &dyn Fn()) -> Result<ExitStatus, String> {
    let start = Instant::now();
    while start.elapsed() < patience {
        if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
            return Ok(status);
        }
        look();
        std::thread::sleep(PAUSE);
    }
    let group = format!("-{}", child.id());
    let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("did not end within {} s", patience.as_secs()))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

/// Links a name to a file or folder elsewhere.
#[cfg(unix)]
pub(crate) fn link(there: &Path, here: &Path) -> Result<(), String> {
    std::os::unix::fs::symlink(there, here).map_err(|error| format!("{}: {error}", here.display()))
}

/// Links a name to a file or folder elsewhere.
#[cfg(not(unix))]
pub(crate) fn link(_: &Path, here: &Path) -> Result<(), String> {
    Err(format!("{}: is tested on Unix only", here.display()))
}

/// Returns the one file below a folder whose name ends so.
pub(crate) fn only_file(folder: &Path, end: &str) -> Result<PathBuf, String> {
    let mut found = files_below(folder);
    found.retain(|file| file.to_string_lossy().ends_with(end));
    match &found[..] {
        [file] => Ok(file.clone()),
        _ => Err(format!("{}: {} files end in {end}, and one is expected", folder.display(), found.len())),
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flat_map(|entry| below(entry.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(name: &str) -> Stage {
        let root = std::env::temp_dir().join(format!("wb-stage-{name}-{}", std::process::id()));
        Stage::create(root, "modules".into(), 1).unwrap()
    }

    #[cfg(unix)]
    fn shell(stage: &Stage, line: &str) -> Command {
        let mut command = stage.command(Path::new("sh"));
        command.args(["-c", line]);
        command
    }

    #[cfg(unix)]
    #[test]
    fn a_program_sees_the_home_of_its_run_and_nothing_else() {
        let stage = stage("home");
        let output = stage.run("home", shell(&stage, "echo $HOME; echo ${CARGO:-none}")).unwrap();
        assert_eq!(output, format!("{}\nnone\n", stage.home().display()));
        stage.delete().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_failed_program_is_reported_with_its_output() {
        let stage = stage("fails");
        let why = stage.run("first", shell(&stage, "echo lost; exit 3")).unwrap_err();
        assert_eq!(why, "first: sh: exit status: 3\nlost");
        stage.delete().unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_does_not_end_is_ended_with_what_it_started() {
        let stage = stage("endless");
        let mut endless = shell(&stage, "sleep 60; true");
        own_group(&mut endless);
        let started = endless.spawn().unwrap();
        assert_eq!(
            wait(started, Duration::from_millis(50), &|| ()),
            Err("did not end within 0 s".to_owned())
        );
        stage.delete().unwrap();
    }

    #[test]
    fn a_file_that_is_not_the_only_one_is_no_session() {
        let stage = stage("files");
        let found = || only_file(&stage.home(), ".jsonl");
        assert!(found().is_err());
        stage.write("a/b.jsonl", "").unwrap();
        assert_eq!(found(), Ok(stage.home().join("a/b.jsonl")));
        stage.write("c.jsonl", "").unwrap();
        assert!(found().unwrap_err().contains("2 files end in .jsonl"));
        stage.delete().unwrap();
    }
}
