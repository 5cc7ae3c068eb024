//! Times of tests: cargo starts each test program through `cargo xtask time-tests`, which appends a
//! line for each test.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The variable that names the file of times.
const FILE: &str = "WB_TEST_TIMES";
/// The number of tests that are listed.
pub(crate) const N_SLOWEST: usize = 10;

/// The name and the seconds of a test.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Timed {
    pub(crate) name: String,
    pub(crate) seconds: f64,
}

/// A file of times, empty at first.
#[derive(Debug)]
pub(crate) struct Times {
    file: PathBuf,
}

impl Times {
    pub(crate) fn new() -> Self {
        let file = std::env::temp_dir().join(format!("window-budget-times-{}", std::process::id()));
        let _ = std::fs::remove_file(&file);
        Self { file }
    }

    /// Returns the words that make cargo start test programs through this one.
    pub(crate) fn config() -> Result<String, String> {
        let program = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        Ok(format!("target.'cfg(all())'.runner = [{:?}, \"time-tests\"]", program.display().to_string()))
    }

    /// Returns the variable for the test programs.
    pub(crate) fn variable(&self) -> (&'static str, std::ffi::OsString) {
        (FILE, self.file.clone().into())
    }

    /// Reads the times, the slowest test first.
    pub(crate) fn read(&self) -> Vec<Timed> {
        let text = std::fs::read_to_string(&self.file).unwrap_or_default();
        let mut times: Vec<Timed> = text.lines().filter_map(line_of_file).collect();
        times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        times
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

fn line_of_file(line: &str) -> Option<Timed> {
    let (seconds, name) = line.split_once(' ')?;
    Some(Timed { name: name.to_owned(), seconds: seconds.parse().ok()? })
}

/// Lists the slowest tests, a line each.
pub(crate) fn slowest(times: &[Timed]) -> String {
    let mut text = String::new();
    for Timed { name, seconds } in times.iter().take(N_SLOWEST) {
        let _ = writeln!(text, "{seconds:>8.1} s  {name}");
    }
    text
}

/// Runs a test program, prints what it prints and appends the time of each test to the file.
pub(crate) fn run(words: &[&str]) -> Result<(), String> {
    let [program, words @ ..] = words else { return Err("usage: cargo xtask time-tests PROGRAM".to_owned()) };
    let mut child = Command::new(program)
        .args(words)
        .args(["-Z", "unstable-options", "--report-time"])
        // The stable test harness reports times only if unstable options are allowed.
        .env("RUSTC_BOOTSTRAP", "1")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error}"))?;
    let package = std::env::var("CARGO_PKG_NAME").unwrap_or_default();
    let mut times = String::new();
    for line in child.stdout.take().into_iter().flat_map(|output| BufReader::new(output).lines()) {
        let line = line.map_err(|error| format!("{program}: {error}"))?;
        println!("{line}");
        if let Some(Timed { name, seconds }) = line_of_harness(&line) {
            let _ = writeln!(times, "{seconds} {package} {name}");
        }
    }
    if let Some(file) = std::env::var_os(FILE) {
        append(Path::new(&file), &times)?;
    }
    let status = child.wait().map_err(|error| format!("{program}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{program}: {status}")) }
}

/// Reads `test a::b ... ok <0.125s>`.
fn line_of_harness(line: &str) -> Option<Timed> {
    let (name, rest) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let seconds = rest.rsplit_once('<')?.1.strip_suffix("s>")?.parse().ok()?;
    Some(Timed { name: name.to_owned(), seconds })
}

fn append(file: &Path, text: &str) -> Result<(), String> {
    let opened = std::fs::OpenOptions::new().create(true).append(true).open(file);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_from_lines_of_the_test_harness() {
        let timed = line_of_harness("test a::b_c ... ok <1.250s>");
        assert_eq!(timed, Some(Timed { name: "a::b_c".into(), seconds: 1.25 }));
        assert_eq!(line_of_harness("test a::b_c ... ok"), None);
        assert_eq!(line_of_harness("running 3 tests"), None);
    }

    #[test]
    fn the_slowest_tests_come_first() {
        let times = Times::new();
        append(&times.file, "0.5 wb-a one\n").unwrap();
        append(&times.file, "12.25 wb-b two\n").unwrap();
        assert_eq!(slowest(&times.read()), "    12.2 s  wb-b two\n     0.5 s  wb-a one\n");
    }
}
