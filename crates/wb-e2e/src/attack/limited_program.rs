//! Runs of `wb` within limits of time, memory and the size of files.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The seconds that a run may take.
pub(super) const MOST_SECONDS: u64 = 10;

/// The memory that a run may take.
pub(super) const MOST_GB: u64 = 2;

/// The exit codes that `wb` documents.
const CODES: [i32; 4] = [0, 1, 2, 3];

/// The program under attack, in a home of its own.
#[derive(Debug)]
pub(super) struct LimitedProgram {
    program: PathBuf,
    home: TempDir,
}

/// The result of a run.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) stderr: String,
}

impl Ended {
    /// Returns the fault of a run, if it has one.
    pub(super) fn fault(&self) -> Option<String> {
        let is_known = self.code.is_some_and(|code| CODES.contains(&code));
        let has_panicked = self.stderr.contains("panicked at");
        let last = || self.stderr.lines().last().unwrap_or_default();
        (!is_known || has_panicked).then(|| format!("exit {:?}: {}", self.code, last()))
    }
}

impl LimitedProgram {
    pub(super) fn new(program: &Path) -> Result<Self, String> {
        let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
        Ok(Self { program, home: folder()? })
    }

    /// Returns the command that runs `wb` with a limit of memory, and of the size of files in
    /// kilobytes.
    fn command(&self, words: &[&str], most_kilobytes: Option<u64>) -> Command {
        let memory = MOST_GB << 20;
        let size =
            most_kilobytes.map_or_else(String::new, |most| format!("trap '' XFSZ; ulimit -f {most}; "));
        let mut command = Command::new("bash");
        command
            .args(["-c", &format!("{size}ulimit -v {memory}; exec \"$0\" \"$@\"")])
            .arg(&self.program)
            .args(words);
        command.env("HOME", self.home.path()).env("XDG_STATE_HOME", self.home.path().join("state"));
        command
    }

    /// Runs it to its end, or to the limit of time.
    pub(super) fn run(&self, words: &[&str], most_kilobytes: Option<u64>) -> Result<Ended, String> {
        let run = || -> io::Result<Ended> {
            let mut command = self.command(words, most_kilobytes);
            let mut child =
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
            let status = wait(&mut child)?;
            let mut stderr = Vec::new();
            child.stderr.take().map_or(Ok(0), |mut pipe| pipe.read_to_end(&mut stderr))?;
            let stderr = String::from_utf8_lossy(&stderr).into_owned();
            Ok(Ended { code: status.and_then(|status| status.code()), stderr })
        };
        run().map_err(|error| format!("{}: {error}", self.program.display()))
    }

    /// Starts it, and kills it after a time.
    pub(super) fn kill_after(&self, words: &[&str], time: Duration) -> Result<(), String> {
        let failed = |error: io::Error| format!("{}: {error}", self.program.display());
        let mut child = self.start(words).map_err(failed)?;
        sleep(time);
        child.kill().and_then(|()| child.wait()).map_err(failed).map(drop)
    }

    pub(super) fn start(&self, words: &[&str]) -> io::Result<Child> {
        let mut command = self.command(words, None);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()
    }
}

/// Waits for a program; none if it takes too long, and it is killed then.
fn wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if start.elapsed() > Duration::from_secs(MOST_SECONDS) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(Duration::from_millis(1));
    }
}

/// Returns a path as a word of a command.
pub(super) fn word(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

/// Creates a folder that is removed after use.
pub(super) fn folder() -> Result<TempDir, String> {
    tempfile::tempdir().map_err(|error| format!("a folder for temporary files: {error}"))
}

/// Reads a file.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}
