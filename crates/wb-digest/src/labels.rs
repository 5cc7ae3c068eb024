//! The words that begin the entries of a digest, by which the next digest recognizes them.

/// Begins the entry for the first request.
pub const FIRST: &str = "- First request:";
/// Begins the entry for the latest request.
pub const LATEST: &str = "- Latest request:";
/// Begins the entry for a request in between.
pub const EARLIER: &str = "- Earlier request:";
/// Begins the entry for several requests of one form, of which it quotes the newest; their number
/// follows.
pub(crate) const EARLIER_TIMES: &str = "- Earlier request, the newest of ";
const OF_ONE_FORM: &str = " of this form: ";
/// Begins the entry for an answer to a question.
pub const ANSWER: &str = "- The user's answer:";
/// Begins the line with the question of an [`ANSWER`].
pub const TO: &str = "\n  to: ";
/// Follows the user's words if they gave another value later.
const UPDATED: &str = " (updated later)";
/// Begins the entry for the agent's last words.
pub const ACTIVE: &str = "- Active: ";
/// Begins the entry for a failure without a later success.
pub const UNRESOLVED: &str = "- Stuck? ";
/// Follows a failed check if files changed after it, so that it may pass now.
pub const CHANGED_SINCE: &str = " (files changed since)";
/// Begins the entry for a turn; its number follows.
pub const TURN: &str = "- Turn ";
/// Begins the line of a turn that names a command.
pub const COMMAND: &str = "$ ";
/// Separates a command from its outcome.
pub const ARROW: &str = " → ";
/// Begins the line of a turn that lists the changed files.
pub const FILES: &str = "files: ";
/// Precedes the functions and types that changes brought into a file.
pub const DEFINES: &str = " (adds ";
/// Begins the lines of a turn with the agent's last words.
pub const REPLY: &str = "agent: ";
/// Begins the line of a turn with a note of the agent between its calls.
pub const PROGRESS: &str = "noted: ";
/// Begins the line of a turn that names a refused call; the tool's name follows.
pub const REFUSED: &str = "the user refused: ";
/// Begins the entry for a reason; its turn follows.
pub(crate) const DECIDED: &str = "- (";
/// Begins the entry for actions in git.
pub const GIT: &str = "- Git, newest first: ";
/// Begins the name of the current branch.
pub const ON_BRANCH: &str = "on branch ";
/// Names a commit.
pub const COMMITTED: &str = "committed";
/// Names an amendment.
pub const AMENDED: &str = "amended the last commit";
/// Names a push.
pub const PUSHED: &str = "pushed";
/// Names a checkout; the branch follows.
pub const CHECKED_OUT: &str = "checked out ";
/// Names an additional working copy; its folder follows.
pub const MADE_WORKTREE: &str = "made worktree ";
/// Begins the entry for files changed after the last commit.
pub const SINCE_COMMIT: &str = "- Since the last commit: ";
/// Begins the entry for an unfinished operation, such as a merge.
pub const STOPPED: &str = "- Git is not finished: ";
/// Begins the entry for the last output of `git status`.
pub const STATUS: &str = "- Git status as last shown: ";
/// Notes that the session has no list of tasks.
pub const NO_TASKS: &str = "- No list of tasks was kept with a tool.";
/// Notes that no task is open.
pub const ALL_DONE: &str = "- All tasks of the agent's list are done";
/// Begins the entry for the plan approved last.
pub const APPROVED: &str = "- The plan that the user approved last: ";
/// Begins the entry for a list of tasks in a file.
pub const TICKED: &str = "- Task list in a file: ";
/// Begins the name of the task ticked off last.
pub const TICKED_LAST: &str = "; ticked off last: ";
/// Notes a request after the list was finished.
pub const ASKED_SINCE: &str = "; the user has asked for more since";
/// Begins the entry that counts omitted constraints.
pub const LEFT_OUT: &str = "- Left out for want of room: ";
/// Refers to constraints in the messages that follow the digest.
pub const USER_MESSAGES_APPLY: &str = "- The user messages next to this digest also apply.";
/// Introduces what is taken from a summary by the agent's host, with the turn that it was written
/// in.
pub const HOST_SUMMARY: &str = "- From an earlier summary, written in turn ";
/// Introduces the quotes of single lines.
pub const EXCERPTS: &str =
    "- Single lines as they were last shown; others are left out, and some may have changed since:";
/// Begins an entry with lines of a tool, a file or a speaker.
pub const SEEN: &str = "- Seen last in ";
/// Begins an entry that names a call.
pub const CALLED: &str = "- Called: ";
/// Begins the list of changed files.
pub const MODIFIED: &str = "- Files changed last: ";
/// Begins the list of read files.
pub const READ: &str = "- read: ";
/// Begins the list of names.
pub const NAMES: &str = "- names: ";
/// Begins the entry that names the tool for looking up folded messages.
pub const RECALL_TOOL: &str = "- Look up exact folded messages with the tool ";
/// Ends that entry.
pub const RECALL_SUBJECTS: &str = ": by words or a name, file, command, turn, or message number.";
/// Labels of the entries that are lists, each with the separator of its items.
pub(crate) const LISTS: [(&str, &str); 3] = [(MODIFIED, ", "), (READ, ", "), (NAMES, BETWEEN_NAMES)];
/// Separates the names of a list.
pub const BETWEEN_NAMES: &str = " · ";

/// The number of messages that earlier digests replaced, as far as known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Elided {
    /// The count of earlier digests, if any has one.
    before: Option<usize>,
    /// An earlier digest has no count.
    #[serde(rename = "beside")]
    has_uncounted: bool,
}

const ELIDED: &str = " elided into this digest";
/// Follows the count if an earlier digest has none.
const UNCOUNTED: &str = ", beside those of an earlier one.";

impl Elided {
    /// Adds the counts in the carryover of an earlier digest.
    pub fn add_earlier<'e>(&mut self, carryover: impl Iterator<Item = &'e str>) {
        let (mut is_counted, mut sum) = (false, self.before.unwrap_or(0));
        for (entry, total) in carryover.filter_map(|entry| Some((entry, elided_total(entry)?))) {
            is_counted = true;
            sum = sum.saturating_add(total);
            self.has_uncounted |= entry.ends_with(UNCOUNTED);
        }
        self.has_uncounted |= !is_counted;
        if is_counted {
            self.before = Some(sum);
        }
    }

    /// Returns the number of messages behind earlier digests, as far as known.
    pub fn n_before(self) -> u32 {
        u32::try_from(self.before.unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// Returns the line that counts the elided messages, now and in all.
    pub fn line(self, n_elided: usize, n_in_all: usize) -> String {
        let plural = if n_elided == 1 { "" } else { "s" };
        let all = match self.before {
            None if self.has_uncounted => String::new(),
            before => format!(" ({} in all)", before.unwrap_or(0).saturating_add(n_elided).max(n_in_all)),
        };
        format!("{n_elided} message{plural}{ELIDED}{all}{}", if self.has_uncounted { UNCOUNTED } else { "." })
    }
}

/// Parses the number of elided messages in an entry.
pub fn elided_total(entry: &str) -> Option<usize> {
    let (n_elided, rest) = entry.split_once(ELIDED)?;
    let total = rest.strip_prefix(" (").unwrap_or(n_elided);
    total.split(' ').next()?.parse().ok()
}

/// Returns the text of an entry for a request or an answer.
pub fn request_text(entry: &str) -> Option<&str> {
    let request =
        || [FIRST, LATEST, EARLIER].iter().find_map(|label| entry.strip_prefix(label)).map(str::trim);
    let repeated = || repeated_request(entry).map(|(text, _)| text);
    parse_answer(entry).map(|(answer, _)| answer).or_else(request).or_else(repeated)
}

/// Returns the mark that follows the user's words.
pub fn updated_mark(is_updated: bool) -> &'static str {
    if is_updated { UPDATED } else { "" }
}

/// Returns words without the mark that the user updated them later, and whether it was there.
pub fn without_updated(words: &str) -> (&str, bool) {
    words.strip_suffix(UPDATED).map_or((words, false), |words| (words, true))
}

/// Returns the start of the entry for a number of requests of one form.
pub fn repeated_label(times: u32) -> String {
    format!("{EARLIER_TIMES}{times}{}", OF_ONE_FORM.trim_end())
}

/// Parses an entry for several requests of one form into the newest one and their number.
pub fn repeated_request(entry: &str) -> Option<(&str, u32)> {
    let (times, text) = entry.strip_prefix(EARLIER_TIMES)?.split_once(OF_ONE_FORM)?;
    Some((text.trim(), times.parse().ok()?))
}

/// Parses an entry for an answer into the answer and its question.
pub fn parse_answer(entry: &str) -> Option<(&str, &str)> {
    let text = entry.strip_prefix(ANSWER)?;
    let (answer, question) = text.split_once(TO).unwrap_or((text, ""));
    Some((answer.trim(), question.trim()))
}
