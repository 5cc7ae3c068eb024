//! The words by which entries of a digest are known again, so that the next digest can take them over.

/// How the entries for requests begin.
pub(crate) const FIRST: &str = "- First request:";
pub(crate) const LATEST: &str = "- Latest request:";
pub(crate) const EARLIER: &str = "- Earlier request:";
/// Says that not all requests are told.
pub(crate) const NOT_ALL: &str = "- Requests in between are left out for want of room.";
/// How the entry begins for words that merely answer, and the line of it that tells what.
pub(crate) const ANSWER: &str = "- The user's answer:";
pub(crate) const TO: &str = "\n  to: ";
/// How the entry begins that says what the agent said last.
pub const ACTIVE: &str = "- Active: ";
/// How an entry begins that names something that failed and has not been seen to work since.
pub const UNRESOLVED: &str = "- Stuck? ";
/// Stands behind a check that failed where files were changed since, so that it may work by now.
pub(crate) const CHANGED_SINCE: &str = " (files changed since)";
/// How an entry begins that tells a turn; its number follows.
pub(crate) const TURN: &str = "- Turn ";
/// How a line of a turn begins that tells a command, and what stands before its end.
pub(crate) const COMMAND: &str = "$ ";
pub(crate) const ARROW: &str = " → ";
/// How the line of a turn begins that tells which files were changed.
pub(crate) const FILES: &str = "files: ";
/// How the lines of a turn begin that tell what the agent said last.
pub(crate) const REPLY: &str = "agent: ";
/// How a line of a turn begins that tells what the agent said between its calls.
pub(crate) const PROGRESS: &str = "noted: ";
/// How a line of a turn begins that tells what the user refused; the name of the tool follows.
pub(crate) const REFUSED: &str = "the user refused: ";
/// How an entry begins that gives a reason; where it was given follows.
pub(crate) const DECIDED: &str = "- (";
/// How the entry begins that tells what was done with git.
pub(crate) const GIT: &str = "- Git, newest first: ";
pub(crate) const ON_BRANCH: &str = "on branch ";
/// How what was done with git is told, and what the last commit does not hold.
pub(crate) const COMMITTED: &str = "committed";
pub(crate) const AMENDED: &str = "amended the last commit";
pub(crate) const PUSHED: &str = "pushed";
pub(crate) const CHECKED_OUT: &str = "checked out ";
pub(crate) const SINCE_COMMIT: &str = "- Since the last commit: ";
/// How the entries begin that tell what git has stopped in the middle of, and how it showed the working copy last.
pub(crate) const STOPPED: &str = "- Git is not finished: ";
pub(crate) const STATUS: &str = "- Git status as last shown: ";
/// Says that no list of tasks tells what comes next.
pub(crate) const NO_TASKS: &str = "- No list of tasks was kept with a tool.";
pub(crate) const ALL_DONE: &str = "- All tasks of the agent's list are done";
/// How the entry begins that holds the plan which the user approved last.
pub(crate) const APPROVED: &str = "- The plan that the user approved last: ";
/// How the entry begins that names a list of tasks which the agent keeps in a file; the one that it ticked off last follows.
pub(crate) const TICKED: &str = "- A list in a file tells what is done and what is open: ";
pub(crate) const TICKED_LAST: &str = "; ticked off last: ";
pub(crate) const ASKED_SINCE: &str = "; the user has asked for more since";
/// How the entry begins that counts the constraints that found no room.
pub(crate) const LEFT_OUT: &str = "- Left out for want of room: ";
/// Says that constraints are not told which the reader sees anyway.
pub(crate) const BESIDE_DIGEST: &str = "- What the user's messages beside this digest say holds too.";
/// Says, above the entries that hold lines, what the lines are.
pub(crate) const EXCERPTS: &str =
    "- Single lines as they were last shown; others are left out, and some may have changed since:";
/// How an entry begins that holds lines of a tool, a file or a speaker.
pub(crate) const SEEN: &str = "- Seen last in ";
/// How an entry begins that tells a call as a whole, and not what it showed.
pub(crate) const CALLED: &str = "- Called: ";
/// Stands before a line of a source that has others between it and the one above.
pub(crate) const GAP: &str = "…";
/// How entries begin that are lists, and what separates their items.
pub(crate) const MODIFIED: &str = "- Files changed last: ";
pub(crate) const READ: &str = "- read: ";
pub(crate) const NAMES: &str = "- names: ";
pub(crate) const LISTS: [(&str, &str); 3] = [(MODIFIED, ", "), (READ, ", "), (NAMES, BETWEEN_NAMES)];
pub(crate) const BETWEEN_NAMES: &str = " · ";

/// How many messages a digest stands for, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Elided {
    /// What earlier digests tell, if any does.
    pub(crate) before: Option<usize>,
    /// Whether there are messages besides, of which no digest tells the count.
    pub(crate) beside: bool,
}

const ELIDED: &str = " elided into this digest";
/// Ends the count where an earlier digest tells none.
const BESIDE: &str = ", beside those of an earlier one.";

impl Elided {
    /// Takes over the counts of an earlier digest, given the entries of its carryover.
    pub(crate) fn take_over<'e>(&mut self, carryover: impl Iterator<Item = &'e str>) {
        let (mut is_told, mut sum) = (false, self.before.unwrap_or(0));
        for (entry, total) in carryover.filter_map(|entry| Some((entry, elided_total(entry)?))) {
            is_told = true;
            sum = sum.saturating_add(total);
            self.beside |= entry.ends_with(BESIDE);
        }
        self.beside |= !is_told;
        if is_told {
            self.before = Some(sum);
        }
    }

    /// Returns the line that says how many messages are gone, and how many in all as far as they were seen.
    pub(crate) fn line(self, n_elided: usize, n_in_all: usize) -> String {
        let plural = if n_elided == 1 { "" } else { "s" };
        let all = match self.before {
            None if self.beside => String::new(),
            before => format!(" ({} in all)", before.unwrap_or(0).saturating_add(n_elided).max(n_in_all)),
        };
        format!("{n_elided} message{plural}{ELIDED}{all}{}", if self.beside { BESIDE } else { "." })
    }
}

/// Returns how many messages an entry says are gone.
pub(crate) fn elided_total(entry: &str) -> Option<usize> {
    let (n_elided, rest) = entry.split_once(ELIDED)?;
    let total = rest.strip_prefix(" (").unwrap_or(n_elided);
    total.split(' ').next()?.parse().ok()
}

/// Returns the text of an entry for a request or for an answer.
pub(crate) fn request_text(entry: &str) -> Option<&str> {
    let asked = || [FIRST, LATEST, EARLIER].iter().find_map(|label| entry.strip_prefix(label)).map(str::trim);
    answer_of(entry).map(|(answer, _)| answer).or_else(asked)
}

/// Returns what an entry tells of an answer: the words, and what they answer.
pub(crate) fn answer_of(entry: &str) -> Option<(&str, &str)> {
    let told = entry.strip_prefix(ANSWER)?;
    let (answer, to) = told.split_once(TO).unwrap_or((told, ""));
    Some((answer.trim(), to.trim()))
}
