//! Reports of hosts on the outcome of a call, also those that they write around the output.

use std::fmt;

use super::NO_MATCH;
use wb_message::text::{head, tail};

/// The outcome of a call as reported by the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// No report.
    Nothing,
    /// Success.
    Ok,
    /// Failure.
    Error,
    /// An exit code.
    Exit(i32),
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Success.
    Ok,
    /// Failure.
    Failed,
    /// Unknown: nothing was tested, the call still runs, or it was aborted.
    Unknown,
    /// Refused or canceled before it ran.
    NotRun,
    /// The path or name does not exist, which is not a failure worth reporting.
    NotThere,
}

impl Outcome {
    const NAMES: [(Self, &str); 5] = [
        (Self::Ok, "ok"),
        (Self::Failed, "failed"),
        (Self::NotThere, "not there"),
        (Self::NotRun, "not run"),
        (Self::Unknown, "outcome unknown"),
    ];

    /// Returns the name of the outcome in a digest.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(outcome, _)| *outcome == self).map_or("", |(_, name)| name)
    }

    /// Parses the name of an outcome at the start of a text.
    pub fn from_prefix(text: &str) -> Option<Self> {
        let matches =
            |name: &str| text.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
        Self::NAMES.iter().find(|(_, name)| matches(name)).map(|(outcome, _)| *outcome)
    }
}

/// The outcome of a call, with the lines of the output that support it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict<'a> {
    /// The outcome.
    pub outcome: Outcome,
    /// The exit code, if the host reports it or writes it into the output.
    pub exit: Option<i32>,
    /// Up to three lines that explain a failure, in their order.
    pub why: Vec<&'a str>,
    /// The output has more such lines.
    pub has_more: bool,
    /// The line with the result of a success.
    pub shown: Option<&'a str>,
}

/// The exit code of a program whose reader closed the pipe.
pub(crate) const CLOSED_PIPE: i32 = 141;

/// Writes the outcome in words: `ok`, `ok in part (exit 2)`, `failed (exit 101)`.
impl fmt::Display for Verdict<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.outcome.as_str())?;
        let complains = self.shown.is_some_and(|line| line != NO_MATCH);
        match (self.outcome, self.exit.filter(|code| *code != 0)) {
            (Outcome::Failed, Some(code)) => write!(f, " (exit {code})"),
            (Outcome::Ok, Some(code)) if complains && code != CLOSED_PIPE => {
                write!(f, " in part (exit {code})")
            }
            _ => Ok(()),
        }
    }
}

/// The host's report, and the output without the host's additions.
#[derive(Debug)]
pub(crate) struct HostReport<'a> {
    pub exit: Option<i32>,
    pub ended_well: Option<bool>,
    pub body: &'a str,
}

impl<'a> HostReport<'a> {
    /// Reads a report. Hosts without an error flag report success for every result, so a failing
    /// exit code that a host wrote around the output of a command overrides it. With `may_quote`
    /// the output is text that may contain such a line.
    pub(crate) fn new(output: &'a str, reported: Reported, may_quote: bool) -> Self {
        let (body, exit, success) = split_report(output);
        let exit = match reported {
            Reported::Exit(code) => Some(code),
            Reported::Ok => exit.filter(|code| *code != 0 && !may_quote || has_tag(output)),
            Reported::Error => exit.filter(|code| *code != 0),
            Reported::Nothing => exit,
        };
        let ended_well = match reported {
            Reported::Ok => Some(exit.is_none_or(|code| code == 0)),
            Reported::Error => Some(false),
            _ => exit.map(|code| code == 0).or(success),
        };
        Self { exit, ended_well, body }
    }

    /// Consumes the exit code that a command such as `make; echo $?` prints as its last line.
    pub(crate) fn take_echo(&mut self) {
        let (before, line) = self.body.trim_end().rsplit_once('\n').unwrap_or(("", self.body));
        let name = line.trim().trim_end_matches(|c: char| c.is_ascii_digit());
        let is_name = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | ' ' | ':' | '=' | '-');
        if name.len() <= 20
            && name.chars().all(is_name)
            && let Ok(code) = line.trim()[name.len()..].parse::<u8>()
        {
            self.exit = Some(code.into());
            self.ended_well = Some(code == 0);
            self.body = before;
        }
    }

    /// Returns a verdict without lines.
    pub(crate) fn verdict(&self, outcome: Outcome) -> Verdict<'a> {
        Verdict { outcome, exit: self.exit, why: Vec::new(), has_more: false, shown: None }
    }
}

/// Returns whether the host marks its additions with tags, which no program writes.
fn has_tag(output: &str) -> bool {
    let end = tail(output, 200);
    output.starts_with("<returncode>")
        || output.starts_with("<system>")
        || end.contains("\n<shellId: ")
        || end.starts_with("<shellId: ")
}

/// Strips the host's additions from both ends of an output; returns the exit code and the success
/// that they report.
fn split_report(output: &str) -> (&str, Option<i32>, Option<bool>) {
    const HEADS: [&str; 4] = ["Chunk ID:", "Wall time:", "Original token count:", "Total output lines:"];
    let (mut rest, mut exit, mut success) = (output, None, None);
    if tail(output, 400).contains("Process Group PGID: ") {
        rest = output.strip_prefix("Output: ").unwrap_or(output);
    }
    loop {
        let line = rest.lines().next().unwrap_or("");
        let code = exit_code(line);
        let is_success = line.starts_with("<system>Command executed successfully");
        let is_output = line == "Output:" || line == "<output>";
        if code.is_none() && !is_success && !is_output && !HEADS.iter().any(|head| line.starts_with(head)) {
            break;
        }
        exit = exit.or(code);
        success = success.or(is_success.then_some(true));
        rest = after_line(rest);
        if is_output {
            break;
        }
    }
    let within = rest.strip_prefix("<output>").and_then(|rest| rest.trim_end().strip_suffix("</output>"));
    rest = within.unwrap_or(rest);
    let (rest, code) = without_end(rest);
    (rest, exit.or(code), success)
}

fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// Strips the host's last lines from an output.
fn without_end(output: &str) -> (&str, Option<i32>) {
    const ENDS: [&str; 9] = [
        "</output>",
        "Shell cwd was reset to",
        "[Current working directory:",
        "[Python interpreter:",
        "[Command finished",
        "</system>",
        "Process Group PGID: ",
        "Background PIDs: ",
        "Signal: ",
    ];
    let (mut rest, mut exit) = (output.trim_end(), None);
    loop {
        let (before, line) = rest.rsplit_once('\n').unwrap_or(("", rest));
        let code = exit_code(line);
        if line.is_empty() || (code.is_none() && !ENDS.iter().any(|end| line.starts_with(end))) {
            return (rest, exit);
        }
        exit = exit.or(code);
        rest = before.trim_end();
    }
}

/// Parses the exit code in a line of the host.
fn exit_code(line: &str) -> Option<i32> {
    const STARTS: [&str; 13] = [
        "Exit code: ",
        "[exit code ",
        "[Exit code ",
        "Exit Code: ",
        "Exit code ",
        "Process exited with code ",
        "<returncode>",
        "<exit_code>",
        "<system>Command failed with exit code: ",
        "<system>ERROR: Command failed with exit code: ",
        "Command exited with code ",
        "[The command completed with exit code ",
        "[Command finished with exit code ",
    ];
    let tagged = || line.strip_prefix("<shellId: ")?.split_once("exit code ").map(|(_, code)| code);
    let rest = STARTS.iter().find_map(|start| line.strip_prefix(start)).or_else(tagged)?;
    let n_bytes = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'-').count();
    rest[..n_bytes].parse().ok()
}

impl HostReport<'_> {
    /// Returns whether the host says in place of an output that it did not run the call.
    pub(crate) fn is_not_run(&self) -> bool {
        const STARTS: [&str; 3] =
            ["The user doesn't want to", "<tool_use_error>Cancelled", "Claude requested permissions"];
        let body = self.body.trim_start();
        let is_of_host = self.ended_well == Some(false) && self.exit.is_none();
        is_of_host && STARTS.iter().any(|start| body.starts_with(start))
    }
}

/// Returns whether a call was refused, aborted or left running.
pub(crate) fn is_unfinished(body: &str) -> bool {
    const STARTS: [&str; 13] = [
        "The user doesn't want to",
        "[Request interrupted",
        "<tool_use_error>Sibling tool call errored",
        "<tool_use_error>Cancelled",
        "Sibling tool call errored",
        "Command aborted",
        "Operation aborted",
        "Tool execution aborted",
        "Claude requested permissions",
        "Command running in background",
        "Process running with session ID",
        "aborted by user",
        "<command with shellId: ",
    ];
    let body = body.trim_start();
    let is_aborted = || tail(body, 64).trim_end().ends_with("Command aborted");
    STARTS.iter().any(|start| body.starts_with(start)) || is_aborted()
}

/// Returns whether an error reports that a path or name does not exist.
pub(crate) fn is_not_found(body: &str) -> bool {
    const SIGNS: [&str; 14] = [
        "ENOENT",
        "o such file or directory",
        "does not exist",
        "File not found",
        "file not found",
        "o files found",
        "Path not found",
        "annot access",
        "no matches found",
        "unknown revision or path",
        "did not match any file",
        "o such path",
        "EISDIR",
        "s a directory",
    ];
    let start = head(body, 2_000);
    SIGNS.iter().any(|sign| start.contains(sign))
}
