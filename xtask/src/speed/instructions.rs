//! `cargo xtask instructions`: the instructions that commands take on composed sessions, against
//! recorded counts.
//!
//! Counts of the same build on the same input differ by less than a tenth of a percent, whatever
//! else the machine does, so a commit that makes a command slower is seen.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{program, report, target};

/// The recorded counts: a command, a tab, its instructions.
const RECORD: &str = "docs/evaluation/data/instructions.tsv";
/// The part of a recorded count, in percent, by which a count may be higher.
const TOLERANCE: f64 = 3.0;
/// The turns of a session.
const TURNS: &str = "60";
/// The commands, and the format of the session that each gets.
const COMMANDS: [(&str, &str); 5] = [
    ("weigh", "codex"),
    ("compact --force", "codex"),
    ("compact --force", "claude-code"),
    ("audit", "pi"),
    ("recall --file src", "pi"),
];
const USAGE: &str = "usage: cargo xtask instructions [--write]";

/// Counts the instructions of each command, and compares or records them.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<(), String> {
    let is_written = match words {
        [] => false,
        ["--write"] => true,
        _ => return Err(USAGE.to_owned()),
    };
    let valgrind = Command::new("valgrind").arg("--version").stdout(Stdio::null()).status();
    if !valgrind.is_ok_and(|status| status.success()) {
        println!("skipped: valgrind is not installed");
        return Ok(());
    }
    let counted = Counter::new(root)?.all()?;
    for (name, count) in &counted {
        println!("{count:>14}  {name}");
    }
    if is_written {
        let rows: Vec<String> = counted.iter().map(|(name, count)| format!("{name}\t{count}\n")).collect();
        return program::write(root, RECORD, rows.concat());
    }
    let recorded =
        std::fs::read_to_string(root.join(RECORD)).map_err(|error| format!("{RECORD}: {error}"))?;
    report("instructions", &findings(&recorded, &counted))
}

/// The programs that are counted, and the folder of the sessions.
struct Counter {
    wb: PathBuf,
    large_log: PathBuf,
    folder: PathBuf,
}

impl Counter {
    fn new(root: &Path) -> Result<Self, String> {
        let build = "build --quiet --workspace --all-features --bin wb --example large_log";
        program::run(&mut program::cargo(root, build.split(' ')))?;
        let debug = target()?.join("debug");
        let folder = target()?.join("instructions");
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { wb: debug.join("wb"), large_log: debug.join("examples/large_log"), folder })
    }

    fn all(&self) -> Result<Vec<(String, u64)>, String> {
        COMMANDS
            .iter()
            .map(|(words, format)| Ok((format!("{words}, {format}"), self.count(words, format)?)))
            .collect()
    }

    /// Counts the instructions of a command on a session of a format.
    fn count(&self, words: &str, format: &str) -> Result<u64, String> {
        let session = self.folder.join(format!("{format}.jsonl"));
        let log = program::output(Command::new(&self.large_log).args([format, TURNS]))?;
        std::fs::write(&session, log).map_err(|error| format!("{}: {error}", session.display()))?;
        let counts = self.folder.join("counts");
        let mut words = words.split(' ');
        let mut valgrind = Command::new("valgrind");
        valgrind.arg("--quiet").arg("--tool=callgrind");
        valgrind.arg(format!("--callgrind-out-file={}", counts.display()));
        valgrind.arg(&self.wb).args(words.next()).arg(&session).args(words);
        // Sessions, settings and colours of this machine do not count.
        valgrind.env("HOME", &self.folder).env("XDG_CONFIG_HOME", &self.folder).env("NO_COLOR", "1");
        let line = program::line(&valgrind);
        let done = valgrind.stdin(Stdio::null()).output().map_err(|error| format!("{line}: {error}"))?;
        if !done.status.success() {
            return Err(format!("{line}: {}\n{}", done.status, String::from_utf8_lossy(&done.stderr)));
        }
        let text =
            std::fs::read_to_string(&counts).map_err(|error| format!("{}: {error}", counts.display()))?;
        total(&text).ok_or_else(|| format!("{line}: no count in its output"))
    }
}

/// Returns the sum in the output of callgrind.
fn total(output: &str) -> Option<u64> {
    let line = output.lines().find_map(|line| line.strip_prefix("totals: "));
    line?.split(' ').next()?.parse().ok()
}

/// Returns the commands that take more than was recorded, and those without a record.
fn findings(recorded: &str, counted: &[(String, u64)]) -> Vec<String> {
    let known = |name: &str| {
        recorded
            .lines()
            .find_map(|line| line.split_once('\t').filter(|it| it.0 == name)?.1.parse::<f64>().ok())
    };
    let finding = |(name, count): &(String, u64)| {
        let Some(before) = known(name) else { return Some(format!("{name}: no count is recorded")) };
        let more = 100.0 * (*count as f64 / before - 1.0);
        (more > TOLERANCE).then(|| {
            format!("{name}: {count} instructions, {more:.1} % more than recorded; cargo xtask instructions --write accepts it")
        })
    };
    counted.iter().filter_map(finding).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slower_command_is_found() {
        let recorded = "weigh, pi\t1000\n";
        let at = |count| findings(recorded, &[("weigh, pi".to_owned(), count)]);
        assert_eq!((at(900).len(), at(1029).len()), (0, 0));
        assert!(at(1031)[0].contains("3.1 % more"), "{:?}", at(1031));
        assert!(findings(recorded, &[("plan, pi".to_owned(), 1)])[0].contains("no count"));
    }

    #[test]
    fn the_sum_is_read() {
        assert_eq!(total("events: Ir\nfn=(1)\ntotals: 4711\n"), Some(4711));
        assert_eq!(total("events: Ir\n"), None);
    }
}
