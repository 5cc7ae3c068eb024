//! The kind of a shell command: whether it only shows text, and how far its exit code and its
//! output can be trusted.

use super::files::edits_in_place;
use super::git;
use super::lexer::{Joint, Step, Word};
use super::options::{has as has_option, plain};
use crate::effects::base_name;

/// Programs that only show something.
const VIEWERS: &[&str] = &[
    "cat",
    "bat",
    "less",
    "more",
    "head",
    "tail",
    "grep",
    "egrep",
    "fgrep",
    "zgrep",
    "rg",
    "ag",
    "ack",
    "sed",
    "awk",
    "gawk",
    "nl",
    "ls",
    "tree",
    "find",
    "fd",
    "wc",
    "sort",
    "uniq",
    "cut",
    "tr",
    "column",
    "diff",
    "cmp",
    "comm",
    "stat",
    "file",
    "du",
    "df",
    "jq",
    "yq",
    "xxd",
    "od",
    "hexdump",
    "strings",
    "which",
    "type",
    "env",
    "printenv",
    "echo",
    "printf",
    "date",
    "ps",
    "man",
    "curl",
    "journalctl",
    "history",
    "basename",
    "dirname",
    "realpath",
    "readlink",
    "id",
    "whoami",
    "uname",
    "hostname",
    "tac",
    "rev",
    "paste",
    "fold",
    "fmt",
    "eza",
    "exa",
    "pgrep",
    "lsof",
    "md5sum",
    "sha256sum",
    "shasum",
    "base64",
    "seq",
    "git-log",
    "top",
    "free",
    "uptime",
    "tmux",
    "help",
    "zcat",
    "pbpaste",
    "perldoc",
    "pydoc",
];

/// Programs without output, of no interest at the end of a chain.
const QUIET: &[&str] = &[
    "cd", "export", "set", "sleep", "source", ".", "true", ":", "false", "mkdir", "pwd", "touch", "cp", "mv",
    "rm", "rmdir", "chmod", "chown", "ln", "[", "[[", "test", "wait", "kill", "pkill", "ulimit", "unset",
    "alias", "trap", "exit", "read", "pushd", "popd", "local", "tee", "clear", "return", "shopt", "break",
    "continue", "declare", "for", "done", "fi", "esac", "case", "}", "",
];

/// Names that precede an error message, as in `ls: cannot access …`; no common words.
const COMPLAINERS: &[&str] = &[
    "ls",
    "rg",
    "cat",
    "sed",
    "grep",
    "head",
    "tail",
    "find",
    "fatal",
    "gh",
    "git",
    "bash",
    "zsh",
    "sh",
    "(eval)",
    "jq",
    "curl",
    "xargs",
    "awk",
    "gawk",
    "egrep",
    "fgrep",
    "nl",
    "wc",
    "fd",
    "ag",
    "diff",
    "stat",
    "du",
    "tree",
    "lsd",
    "eza",
    "bat",
    "docker",
    "yq",
    "xxd",
    "od",
    "readlink",
    "realpath",
    "cmp",
    "[bat error]",
];

/// The meaning of exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitOneMeans {
    /// No line matched.
    NoMatch,
    /// Two things differ.
    Different,
    /// A condition is false.
    False,
    /// No program has the name.
    NoProgram,
    /// The command failed.
    Failure,
}

/// The part of the output that filters leave visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VisibleOutput {
    /// All of it, or its end, where programs report their result.
    End,
    /// The given number of lines at its start.
    FirstLines(usize),
    /// The given number of bytes at its start.
    FirstBytes(usize),
    /// Lines selected by words that do not report a failure.
    Selection,
}

/// Properties of a command that decide how to read its output and its exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The output is text that the command shows, not a report on what it did.
    pub is_viewer: bool,
    /// The command neither shows nor runs anything: it makes folders, moves or writes files.
    pub is_silent: bool,
    /// The exit code can hide the failure of one of the programs.
    pub masks_exit_code: bool,
    /// The visible part of the output.
    pub(crate) visible_output: VisibleOutput,
    /// The meaning of exit code 1.
    pub(crate) exit_one: ExitOneMeans,
}

/// The purpose of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Shows something.
    Views,
    /// Has no output of interest at the end of a chain.
    Quiet,
    /// Does anything else.
    Acts,
}

/// Returns the purpose of a step.
pub(crate) fn role(step: &Step) -> Role {
    let words = program(&step.words);
    let name = name(words);
    let (writes, reads) = (writes(step), is_reader(name, words));
    match () {
        () if reads && !writes => Role::Views,
        () if reads || QUIET.contains(&name) => Role::Quiet,
        () if name == "git" && git::call(&words[1..]).is_some_and(|(_, sub, _)| sub == "add") => Role::Quiet,
        () => Role::Acts,
    }
}

/// Returns the kind of a command.
pub(crate) fn kind(command: &str, steps: &[Step], roles: &[Role]) -> Kind {
    let has = |roles: &[Role], role: Role| roles.contains(&role);
    let masks_exit_code = masks_exit_code(command, steps, roles);
    let in_chain = |joint: Joint| matches!(joint, Joint::And | Joint::Or | Joint::Next);
    let last = steps.iter().rposition(|step| in_chain(step.before)).unwrap_or(0);
    let end = roles.get(last..).unwrap_or_default();
    let views = |roles: &[Role]| !has(roles, Role::Acts) && has(roles, Role::Views);
    let is_viewer = views(roles) || (!masks_exit_code && views(end));
    let last = steps.iter().rfind(|step| name(&step.words) != "echo");
    let exit_one = last.map_or(ExitOneMeans::Failure, exit_one);
    let is_silent = !is_viewer && !has(roles, Role::Acts);
    let mut filters = steps.iter().filter(|step| step.before == Joint::Pipe).map(filter_output);
    let visible_output = filters.rfind(|it| *it != VisibleOutput::End).unwrap_or(VisibleOutput::End);
    Kind { is_viewer, is_silent, masks_exit_code, visible_output, exit_one }
}

fn masks_exit_code(command: &str, steps: &[Step], roles: &[Role]) -> bool {
    let has_pipefail = command.contains("pipefail");
    let has_errexit = steps
        .first()
        .is_some_and(|step| name(&step.words) == "set" && has_option(&step.words, 'e', "errexit"));
    let last = steps.iter().rposition(|step| name(&step.words) != "fi").unwrap_or(0);
    let is_masked = |at: usize| match steps.get(at + 1).map(|step| step.before) {
        Some(Joint::Pipe) => !has_pipefail,
        Some(Joint::Or) => true,
        Some(Joint::Next) => !has_errexit && last > at,
        Some(Joint::And) => false,
        None => command.trim_end().ends_with('&'),
    };
    roles.iter().enumerate().any(|(at, role)| *role == Role::Acts && is_masked(at))
}

/// Returns the part of its input that a filter leaves visible.
fn filter_output(step: &Step) -> VisibleOutput {
    let words = program(&step.words);
    let mentions = |word: &str| words.iter().any(|arg| arg.text.contains(word));
    match name(words) {
        "head" => head_output(words),
        "wc" => VisibleOutput::Selection,
        "grep" | "egrep" | "rg"
            if !has_option(words, 'v', "--invert-match")
                && !["rror", "ail", "FAIL", "arning", "RROR"].iter().any(|word| mentions(word)) =>
        {
            VisibleOutput::Selection
        }
        _ => VisibleOutput::End,
    }
}

/// Returns the output of `head`: `-5`, `-n 5`, `-c5`, `--bytes=5`; the size of `-n -5` is unknown.
fn head_output(words: &[Word]) -> VisibleOutput {
    let number = |text: &str| text.trim_start_matches('=').parse().unwrap_or(0);
    for (at, word) in words.iter().enumerate().skip(1) {
        let next = || words.get(at + 1).map_or("", |word| word.text.as_ref());
        let text = word.text.as_ref();
        let after = |short, long| text.strip_prefix(long).or_else(|| text.strip_prefix(short));
        if let Some(rest) = after("-c", "--bytes") {
            return VisibleOutput::FirstBytes(number(if rest.is_empty() { next() } else { rest }));
        }
        if let Some(rest) = after("-n", "--lines") {
            return VisibleOutput::FirstLines(number(if rest.is_empty() { next() } else { rest }));
        }
        if let Some(Ok(n_lines)) = text.strip_prefix('-').map(str::parse) {
            return VisibleOutput::FirstLines(n_lines);
        }
    }
    VisibleOutput::FirstLines(10)
}

fn exit_one(step: &Step) -> ExitOneMeans {
    let words = program(&step.words);
    let sub = words.get(1..).and_then(git::call).map_or("", |(_, sub, _)| sub);
    match name(words) {
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "ag" | "ack" | "pgrep" => ExitOneMeans::NoMatch,
        "xargs" if inner(words).first().is_some_and(|word| matches!(word.text.as_ref(), "grep" | "rg")) => {
            ExitOneMeans::NoMatch
        }
        "git" if matches!(sub, "grep" | "check-ignore") => ExitOneMeans::NoMatch,
        "diff" | "cmp" => ExitOneMeans::Different,
        "git" if matches!(sub, "diff" | "merge-base") => ExitOneMeans::Different,
        "test" | "[" | "[[" => ExitOneMeans::False,
        "which" | "type" | "command" => ExitOneMeans::NoProgram,
        _ => ExitOneMeans::Failure,
    }
}

/// Returns whether a command only answers yes or no for the next one: a test, or a silenced
/// program.
pub(crate) fn is_question(words: &[Word]) -> bool {
    let is_quiet = |word: &Word| {
        matches!(word.text.as_ref(), "--quiet" | "--silent" | "--exit-code")
            || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('q')
    };
    match name(words) {
        "test" | "[" | "[[" | "which" | "type" | "cmp" => true,
        "command" => words.get(1).is_some_and(|word| matches!(word.text.as_ref(), "-v" | "-V")),
        "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "diff" => words.iter().any(is_quiet),
        "git" => {
            matches!(git::call(&words[1..]), Some((_, "diff" | "grep", rest)) if rest.iter().any(is_quiet))
        }
        program => program.starts_with("(("),
    }
}

/// Returns whether the output is redirected to a file.
fn writes(step: &Step) -> bool {
    step.targets.iter().any(|target| !target.file.text.starts_with("/dev/"))
}

/// Returns whether a program only shows something.
fn is_reader(name: &str, words: &[Word]) -> bool {
    let has = |option: &str| words.iter().any(|word| word.text == option);
    let second = plain(words, &[]).nth(1).map_or("", |word| &word.text);
    match name {
        "sed" => !edits_in_place(name, words),
        "find" => views_found(words),
        "git" => views_git(words),
        "gh" => views_github(words),
        "docker" | "kubectl" => matches!(second, "logs" | "ps" | "images" | "inspect" | "get" | "describe"),
        "npm" | "pnpm" | "yarn" => {
            matches!(second, "ls" | "list" | "view" | "info" | "why" | "outdated" | "config")
        }
        "pip" | "pip3" => matches!(second, "list" | "show" | "freeze"),
        "cargo" => matches!(second, "metadata" | "tree" | "search"),
        "go" => matches!(second, "doc" | "env" | "list" | "version"),
        "command" => has("-v") || has("-V"),
        "xargs" => is_viewing(inner(words)),
        "" => false,
        program => VIEWERS.contains(&program) || has("--help") || has("--version"),
    }
}

/// Returns whether `find`, and the programs that it runs, only show something.
fn views_found(words: &[Word]) -> bool {
    const RUNS: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
    const CHANGES: [&str; 5] = ["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];
    let is = |word: &Word, options: &[&str]| options.contains(&word.text.as_ref());
    let mut runs =
        words.iter().enumerate().filter(|(_, word)| is(word, &RUNS)).map(|(at, _)| &words[at + 1..]);
    !words.iter().any(|word| is(word, &CHANGES)) && runs.all(is_viewing)
}

/// Returns whether a command run by another one is absent or only shows something.
fn is_viewing(words: &[Word]) -> bool {
    match name(words) {
        "" => true,
        "git" => views_git(words),
        "sed" => !edits_in_place("sed", words),
        program => VIEWERS.contains(&program),
    }
}

/// Returns whether a call of `gh` only reads.
fn views_github(words: &[Word]) -> bool {
    const READS: [&str; 7] = ["view", "list", "api", "search", "status", "diff", "checks"];
    const SENDS: [&str; 6] = ["-f", "-F", "-X", "--field", "--raw-field", "--method"];
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.text.as_ref()));
    has(&READS) && (!has(&SENDS) || has(&["GET"]))
}

fn views_git(words: &[Word]) -> bool {
    git::call(&words[1..]).is_none_or(|(_, sub, rest)| git::is_view(sub, rest))
}

/// Returns whether a line is an error message of a viewer or a shell, not the text that it shows.
pub(crate) fn is_complaint(line: &str) -> bool {
    let n_bytes = line.bytes().take(24).take_while(|byte| *byte != b':').count();
    let name = line.get(..n_bytes).unwrap_or_default();
    line.as_bytes().get(n_bytes) == Some(&b':')
        && (COMPLAINERS.contains(&name) || (name.starts_with('/') && name.ends_with("sh")))
}

/// Returns the command that `xargs` runs.
fn inner<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    const VALUED: [&str; 11] =
        ["-I", "-d", "-n", "-P", "-L", "-E", "-s", "-a", "--delimiter", "--max-args", "--max-procs"];
    words.get(1 + options(words, &VALUED)..).unwrap_or_default()
}

/// Returns the file name of the program.
pub fn name<'w>(words: &'w [Word<'_>]) -> &'w str {
    words.first().map_or("", |word| base_name(&word.text))
}

/// Returns whether a program builds tests and runs none.
pub fn only_compiles(words: &[Word<'_>]) -> bool {
    let has = |text: &str| words.iter().any(|word| word.text == text);
    has("--no-run") || name(words) == "go" && has("test") && has("-c")
}

/// Skips keywords, assignments and wrappers such as `sudo`; the first word is then the program.
pub fn program<'w, 'a>(words: &'w [Word<'a>]) -> &'w [Word<'a>] {
    let mut words = words;
    while let Some(first) = words.first() {
        let n_words = match base_name(&first.text) {
            "then" | "do" | "else" | "elif" | "if" | "while" | "until" | "!" | "{" => 1,
            "function" => 2,
            "command" if words.get(1).is_some_and(|word| word.text.starts_with('-')) => break,
            "time" | "nohup" | "exec" | "builtin" | "noglob" | "command" | "setsid" | "caffeinate" => {
                1 + options(words, &[])
            }
            "sudo" | "doas" => 1 + options(words, &["-u", "-g", "-h", "-p"]),
            "env" if words.len() > 1 => 1 + options(words, &["-u", "-C", "-S"]),
            "timeout" | "gtimeout" => 2 + options(words, &["-k", "-s"]),
            "nice" | "ionice" | "stdbuf" => 1 + options(words, &["-n", "-c", "-o", "-e", "-i"]),
            _ if is_assignment(first) => 1,
            _ => break,
        };
        words = words.get(n_words..).unwrap_or_default();
    }
    words
}

/// Counts the options after the first word, and their values.
fn options(words: &[Word], valued: &[&str]) -> usize {
    let mut at = 1;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        at += 1 + usize::from(valued.contains(&word.text.as_ref()));
    }
    at - 1
}

/// Returns whether a word sets a variable.
fn is_assignment(word: &Word) -> bool {
    let name = word.raw.split_once('=').map_or("", |(name, _)| name.trim_end_matches('+'));
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
