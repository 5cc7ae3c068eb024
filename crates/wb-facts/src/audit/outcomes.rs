//! Holds what a summary says of tests, builds, commits and commands against how they ended.

use wb_message::text::one_line;

use super::text::{SummaryLine, Word, is_unreal, sentences, words};
use super::{Finding, FindingKind};
use crate::facts::{Activity, Facts, Run};
use wb_digest::labels::{ARROW, COMMAND, TURN};
use wb_shell::outcome::Outcome;
use wb_shell::subject;

const WELL: [&str; 11] = [
    "pass",
    "passes",
    "passed",
    "passing",
    "green",
    "succeed",
    "succeeds",
    "succeeded",
    "successful",
    "clean",
    "ok",
];
/// Those that describe the present state.
const NOW: [&str; 6] = ["pass", "passes", "passing", "green", "succeeds", "clean"];
/// Words that may be between a subject and its outcome.
const BETWEEN: [&str; 24] = [
    "all",
    "are",
    "is",
    "now",
    "suite",
    "suites",
    "have",
    "has",
    "still",
    "both",
    "cases",
    "also",
    "were",
    "was",
    "and",
    "run",
    "runs",
    "cleanly",
    "fully",
    "successfully",
    "then",
    "lint",
    "build",
    "tests",
];
const SUBJECTS: [(Activity, &[&str]); 3] = [
    (Activity::Tests, &["tests", "suite", "specs"]),
    (Activity::Build, &["build", "builds", "compilation"]),
    (Activity::Lint, &["lint", "linting", "clippy", "linter"]),
];

/// Finds claims of success that no event shows.
pub(super) fn check(lines: &[SummaryLine<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    let mut turn = None;
    for line in lines.iter().filter(|line| line.is_report()) {
        if let Some(begun) = line.text.strip_prefix(TURN) {
            let digits = begun.bytes().take_while(u8::is_ascii_digit).count();
            turn = begun[..digits].parse().ok();
        }
        if let Some(rest) = line.text.strip_prefix(COMMAND) {
            run(line, rest, turn, facts, out);
            continue;
        }
        for sentence in sentences(line.text) {
            let all = words(sentence);
            if is_unreal(&all) {
                continue;
            }
            check_passes(line, sentence, &all, facts, out);
            command(line, sentence, &all, facts, out);
            done(line, sentence, &all, facts, out);
        }
    }
}

/// Holds a line of our own digests, a command and its end, against the runs of that command.
fn run(line: &SummaryLine<'_>, rest: &str, turn: Option<u32>, facts: &Facts, out: &mut Vec<Finding>) {
    let mut arrows = rest.match_indices(ARROW).map(|(at, arrow)| (&rest[..at], &rest[at + arrow.len()..]));
    let Some((command, end)) = arrows.find_map(|(command, end)| Some((command, Outcome::from_prefix(end)?)))
    else {
        return;
    };
    let is_same = |run: &&Run| {
        let own = one_line(run.command.inspect(), usize::MAX);
        command.strip_suffix('…').map_or(own == command, |start| own.starts_with(start))
    };
    let of = |only: Option<u32>| -> Vec<&Run> {
        let turns = facts.turns().iter().filter(|turn| only.is_none_or(|only| turn.number == only));
        turns.flat_map(|turn| &turn.runs).filter(is_same).collect()
    };
    let own = turn.map_or_else(Vec::new, |_| of(turn));
    let runs = if own.is_empty() { of(None) } else { own };
    let agrees = |run: &&Run| Outcome::from_prefix(&run.outcome) == Some(end);
    let Some(last) = runs.last().filter(|_| !runs.iter().any(agrees)) else { return };
    let has_failed = Outcome::from_prefix(&last.outcome) == Some(Outcome::Failed);
    let kind =
        if has_failed && end == Outcome::Ok { FindingKind::FailedSince } else { FindingKind::UnshownEnd };
    let why = format!("the command ended otherwise: {}", last.outcome);
    out.push(Finding::new(kind, line, line.text, why, Some(last.at)));
}

/// Holds `all tests pass` against the last runs of tests.
fn check_passes(line: &SummaryLine<'_>, sentence: &str, all: &[Word], facts: &Facts, out: &mut Vec<Finding>) {
    for (activity, names) in SUBJECTS {
        let found = all.iter().enumerate().find_map(|(at, word)| {
            let well = names.contains(&word.text.as_str()).then(|| well_after(all, at))??;
            (!has_exception(all, at, well)).then_some((at, well))
        });
        let Some((start, end)) = found else { continue };
        let ends = facts.ends(activity);
        let is_now = NOW.contains(&all[end].text.as_str());
        let text = &sentence[all[start.saturating_sub(1)].at.start.min(all[start].at.start)..all[end].at.end];
        if !ends.may_be() && ends.failed.is_none() && !facts.is_partial() {
            let why = format!("no message shows that {} were run", what(activity));
            out.push(Finding::new(FindingKind::UnshownEnd, line, text, why, None));
        } else if let Some(at) = ends.failed_last().filter(|_| is_now || ends.ok.is_none()) {
            let why = format!("the last run of {} failed", what(activity));
            out.push(Finding::new(FindingKind::FailedSince, line, text, why, Some(at)));
        }
    }
}

fn what(activity: Activity) -> &'static str {
    match activity {
        Activity::Tests => "tests",
        Activity::Build => "builds",
        _ => "checks of style",
    }
}

/// Returns the word that says that it ended well, close behind a word.
fn well_after(all: &[Word], at: usize) -> Option<usize> {
    let mut rest = all.iter().enumerate().skip(at + 1);
    let (end, word) = rest.find(|(_, word)| {
        !BETWEEN.contains(&word.text.as_str()) && !word.text.bytes().all(|byte| byte.is_ascii_digit())
    })?;
    (end <= at + 5 && !word.is_code && WELL.contains(&word.text.as_str())).then_some(end)
}

/// Words behind a claim that withdraw a part of it.
const EXCEPTIONS: [&str; 13] = [
    "fail",
    "fails",
    "failed",
    "failing",
    "failure",
    "failures",
    "error",
    "errors",
    "except",
    "excepting",
    "but",
    "though",
    "although",
];

/// Reports whether a sentence also says that something failed: `3 tests passed, 1 failed`.
fn has_exception(all: &[Word], start: usize, end: usize) -> bool {
    let is_number = |word: &Word| word.text.bytes().all(|byte| byte.is_ascii_digit());
    let is_zero = |word: &Word| matches!(word.text.as_str(), "0" | "zero");
    let is_exception = |(at, word): (usize, &Word)| {
        let before = &all[at.saturating_sub(2)..at];
        let is_counted = before.iter().any(is_number) && !before.last().is_some_and(is_zero);
        let is_behind = at > end && !before.last().is_some_and(is_zero);
        EXCEPTIONS.contains(&word.text.as_str()) && (is_behind || (at < start && is_counted))
    };
    all.iter().enumerate().any(is_exception)
}

/// Holds `` `make x` passes `` against the last end of that command.
fn command(line: &SummaryLine<'_>, sentence: &str, all: &[Word], facts: &Facts, out: &mut Vec<Finding>) {
    for (at, word) in all.iter().enumerate().filter(|(_, word)| word.is_code && word.text.contains(' ')) {
        let Some(end) = well_after(all, at).filter(|end| !has_exception(all, at, *end)) else { continue };
        let subject = subject(&word.text);
        let failure = facts.failures().newest().find(|failure| failure.subjects.contains(&subject));
        if let Some(failure) = failure {
            let text = &sentence[word.at.start..all[end].at.end];
            let why = format!("the command failed last: {}", failure.what.inspect());
            out.push(Finding::new(FindingKind::FailedSince, line, text, why, Some(failure.at)));
        }
    }
}

/// Words that may precede `committed` or `pushed` in a claim that it was done.
const DOERS: [&str; 16] = [
    "was",
    "were",
    "been",
    "is",
    "are",
    "all",
    "i",
    "and",
    "changes",
    "fixes",
    "fix",
    "work",
    "successfully",
    "everything",
    "then",
    "also",
];
/// Words after which such a word only describes something.
const DESCRIBED: [&str; 10] =
    ["checkpoint", "checkpoints", "file", "files", "code", "work", "version", "content", "data", "state"];

/// Holds `committed and pushed` against what was done with git.
fn done(line: &SummaryLine<'_>, sentence: &str, all: &[Word], facts: &Facts, out: &mut Vec<Finding>) {
    if facts.is_partial()
        || all.iter().any(|word| matches!(word.text.as_str(), "user" | "user's" | "they" | "he" | "she"))
    {
        return;
    }
    for (at, word) in all.iter().enumerate().filter(|(_, word)| !word.is_code) {
        let activity = match word.text.as_str() {
            "committed" => Activity::Commit,
            "pushed" => Activity::Push,
            "created" | "opened" if is_request(&all[at + 1..]) => Activity::PullRequest,
            _ => continue,
        };
        let before = at.checked_sub(1).map(|at| all[at].text.as_str());
        let after = all.get(at + 1).map_or("", |word| word.text.as_str());
        let is_claim = before.is_none_or(|before| DOERS.contains(&before)) && !DESCRIBED.contains(&after);
        if is_claim && !facts.ends(activity).may_be() {
            let text = &sentence[word.at.start..all.get(at + 1).map_or(word.at.end, |next| next.at.end)];
            let why = match activity {
                Activity::Commit => "no message shows a commit",
                Activity::Push => "no message shows that commits were pushed",
                _ => "no message shows that a pull request was opened",
            };
            out.push(Finding::new(
                FindingKind::UnshownEnd,
                line,
                text,
                why.to_owned(),
                facts.ends(activity).failed,
            ));
        }
    }
}

/// Reports whether the next words are those of a pull request.
fn is_request(rest: &[Word]) -> bool {
    let mut rest = rest
        .iter()
        .map(|word| word.text.as_str())
        .skip_while(|word| matches!(*word, "a" | "the" | "draft" | "new"));
    match rest.next() {
        Some("pr" | "prs") => true,
        Some("pull") => rest.next().is_some_and(|word| word.starts_with("request")),
        _ => false,
    }
}
