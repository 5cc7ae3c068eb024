//! What hosts say about the end of a call, in words of their own around the output too.

use wb_message::text::{head, tail};

/// What the host says about the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reported {
    /// The host does not say.
    Nothing,
    /// It ended well.
    Ok,
    /// It failed.
    Error,
    /// It ended with an exit code.
    Exit(i32),
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did what it should.
    Ok,
    /// It did not.
    Failed,
    /// It cannot be told: nothing was tested, it still runs, or it was not run.
    Unknown,
    /// It looked for a path or name that is not there, which is no failure worth telling.
    NotThere,
}

impl Outcome {
    /// The words by which digests tell the outcomes.
    const TOLD: [(Self, &str); 4] = [
        (Self::Ok, "ok"),
        (Self::Failed, "failed"),
        (Self::NotThere, "not there"),
        (Self::Unknown, "end unknown"),
    ];

    /// Returns the words by which digests tell it.
    pub fn told(self) -> &'static str {
        Self::TOLD.iter().find(|(outcome, _)| *outcome == self).map_or("", |(_, told)| told)
    }

    /// Reads the outcome that a text begins with.
    pub fn of_told(text: &str) -> Option<Self> {
        let ends =
            |told: &str| text.strip_prefix(told).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
        Self::TOLD.iter().find(|(_, told)| ends(told)).map(|(outcome, _)| *outcome)
    }
}

/// A judgement and the lines of the output that it rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged<'a> {
    /// How the call ended.
    pub outcome: Outcome,
    /// The exit code, where the host or its words in the output tell it.
    pub exit: Option<i32>,
    /// Up to three lines that say why it failed, in their order; of nothing else.
    pub why: Vec<&'a str>,
    /// The line that tells the result of what did not fail.
    pub shown: Option<&'a str>,
}

/// What the host says, and the output without its words.
#[derive(Debug)]
pub(crate) struct Host<'a> {
    pub exit: Option<i32>,
    pub ended_well: Option<bool>,
    pub body: &'a str,
}

impl<'a> Host<'a> {
    pub(crate) fn of(output: &'a str, reported: Reported) -> Self {
        let (body, exit, says) = without_words(output);
        let exit = match reported {
            Reported::Exit(code) => Some(code),
            Reported::Ok => exit.filter(|_| has_tag(output)),
            Reported::Error => exit.filter(|code| *code != 0),
            Reported::Nothing => exit,
        };
        let ended_well = match reported {
            Reported::Ok => Some(exit.is_none_or(|code| code == 0)),
            Reported::Error => Some(false),
            _ => exit.map(|code| code == 0).or(says),
        };
        Self { exit, ended_well, body }
    }

    /// Takes the exit code that a command such as `make; echo $?` writes as its last line.
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

    /// Returns a judgement without lines.
    pub(crate) fn judged(&self, outcome: Outcome) -> Judged<'a> {
        Judged { outcome, exit: self.exit, why: Vec::new(), shown: None }
    }
}

/// Returns whether the host marks its words with tags, so that they are not those of a program.
fn has_tag(output: &str) -> bool {
    let end = tail(output, 200);
    output.starts_with("<returncode>")
        || output.starts_with("<system>")
        || end.contains("\n<shellId: ")
        || end.starts_with("<shellId: ")
}

/// Takes the host's words off both ends of an output; returns the exit code that they tell, and whether it ended well.
fn without_words(output: &str) -> (&str, Option<i32>, Option<bool>) {
    const HEADS: [&str; 4] = ["Chunk ID:", "Wall time:", "Original token count:", "Total output lines:"];
    let (mut rest, mut exit, mut says) = (output, None, None);
    if tail(output, 400).contains("Process Group PGID: ") {
        rest = output.strip_prefix("Output: ").unwrap_or(output);
    }
    loop {
        let line = rest.lines().next().unwrap_or("");
        let code = exit_code(line);
        let is_well = line.starts_with("<system>Command executed successfully");
        let is_output = line == "Output:" || line == "<output>";
        if code.is_none() && !is_well && !is_output && !HEADS.iter().any(|head| line.starts_with(head)) {
            break;
        }
        exit = exit.or(code);
        says = says.or(is_well.then_some(true));
        rest = after_line(rest);
        if is_output {
            break;
        }
    }
    let within = rest.strip_prefix("<output>").and_then(|rest| rest.trim_end().strip_suffix("</output>"));
    rest = within.unwrap_or(rest);
    let (rest, code) = without_end(rest);
    (rest, exit.or(code), says)
}

fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// Takes the host's last lines off an output.
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

/// Returns the exit code that a line of a host tells.
fn exit_code(line: &str) -> Option<i32> {
    const STARTS: [&str; 11] = [
        "Exit code: ",
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

/// Returns whether a call was refused, given up or left running, so that it has no end to judge.
pub(crate) fn not_run(body: &str) -> bool {
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
    let is_left = || tail(body, 64).trim_end().ends_with("Command aborted");
    STARTS.iter().any(|start| body.starts_with(start)) || is_left()
}

/// Returns whether an error says that a path or name does not exist.
pub(crate) fn not_there(body: &str) -> bool {
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
