//! Finds work that a summary plans again although the user withdrew it.
//!
//! A finding requires that the work was requested in other words before, was withdrawn by name and
//! was not mentioned since.

use wb_message::markers::CLIP_MARK;

use super::tasks::planned;
use super::text::SummaryLine;
use super::{Finding, FindingKind};
use crate::facts::Facts;
use crate::facts::ledger::utterances::{Assent, words};
use crate::facts::turns::Turn;
use wb_language::sentences::sentences;
use wb_language::tasks::TaskState;

/// Words that may precede a withdrawal.
const FILLERS: [&str; 31] = [
    "no", "nope", "nah", "ok", "okay", "please", "actually", "and", "so", "then", "let's", "lets", "just",
    "well", "wait", "stop", "hmm", "you", "can", "we", "i", "think", "also", "oh", "sorry", "yes", "yeah",
    "alright", "hey", "should", "could",
];
/// Words that withdraw what is named after them.
const CALLS: [&[&str]; 15] = [
    &["forget", "about"],
    &["forget"],
    &["drop"],
    &["cancel"],
    &["scrap"],
    &["never", "mind"],
    &["nevermind"],
    &["do", "not"],
    &["don't"],
    &["dont"],
    &["not", "do"],
    &["no", "longer"],
    &["leave", "out"],
    &["scratch"],
    &["abandon"],
];
/// Verbs with which a plan begins, whatever was asked for.
const DOES: [&str; 10] =
    ["add", "implement", "create", "build", "write", "make", "do", "finish", "complete", "continue"];
/// Words after `no …` that withdraw what is between.
const AFTER_NO: [&[&str]; 3] = [&["after", "all"], &["any", "more"], &["anymore"]];
/// Words that postpone something or make it conditional, which is no withdrawal.
const PUTS_OFF: [&str; 17] = [
    "yet", "now", "until", "till", "unless", "before", "if", "when", "while", "without", "first", "later",
    "once", "only", "too", "because", "than",
];
/// Words by which something is not to be done; two of them in one clause may say that it is.
const DENIES: [&str; 34] = [
    "no",
    "not",
    "never",
    "nevermind",
    "don't",
    "dont",
    "without",
    "avoid",
    "stop",
    "stopped",
    "forget",
    "drop",
    "dropped",
    "dropping",
    "cancel",
    "cancelled",
    "canceled",
    "scrap",
    "scrapped",
    "skip",
    "skipped",
    "remove",
    "removed",
    "removing",
    "delete",
    "deleted",
    "revert",
    "reverted",
    "undo",
    "abandon",
    "abandoned",
    "withdrawn",
    "declined",
    "deferred",
];
/// A request or a task of fewer or more words is none that is known again.
const STEMS: std::ops::RangeInclusive<usize> = 2..=10;

/// Something that the user withdrew.
struct Withdrawal {
    /// The names in it.
    named: Vec<u32>,
    /// The request that used those words.
    wanted: Vec<Vec<u32>>,
    /// The words that took it back, and the number of their message.
    text: String,
    at: u32,
}

/// Finds what is planned again.
pub(super) fn check(lines: &[SummaryLine<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    let withdrawn = withdrawals(facts);
    if withdrawn.is_empty() {
        return;
    }
    for line in lines {
        let Some(plan) = planned(line).filter(|plan| n_denials(&small_words(plan)) == 0) else { continue };
        let own: Vec<u32> = words(plan).collect();
        let object: Vec<u32> = words(without_verb(plan)).collect();
        let is_it = |wanted: &Vec<u32>| {
            let n = n_in(wanted, &own);
            // Most of what was asked for, or nothing else.
            n * 5 >= wanted.len() * 4 && n * 2 >= own.len() || has_all(wanted, &object)
        };
        let found = withdrawn.iter().rev().find(|it| has_all(&own, &it.named) && it.wanted.iter().any(is_it));
        if let Some(Withdrawal { text, at, .. }) = found {
            let why = format!("the user took it back: {text}");
            out.push(Finding::new(FindingKind::Withdrawn, line, line.text, why, Some(*at)));
        }
    }
}

/// Returns what the user withdrew and did not mention since.
fn withdrawals(facts: &Facts) -> Vec<Withdrawal> {
    let turns: Vec<&Turn> = facts.turns().iter().collect();
    let mut out = Vec::new();
    // An entry from an earlier digest has no message.
    for (nth, turn) in turns.iter().enumerate().skip(1).filter(|(_, turn)| turn.restored.is_empty()) {
        let all = clauses(&turn.asked);
        for (at, clause) in all.iter().enumerate() {
            let Some(named) = withdrawn_names(clause).filter(|named| !named.is_empty()) else { continue };
            if !is_spoken_of(&named, &all[at + 1..], &turns[nth..]) {
                let wanted = wanted(facts, &turns[..nth], turn.start, &named);
                out.push(Withdrawal { named, wanted, text: clause.text.to_owned(), at: turn.start });
            }
        }
    }
    out.retain(|it| !it.wanted.is_empty());
    out
}

/// Returns the request, or the item of the task list, that contains these words.
fn wanted(facts: &Facts, before: &[&Turn], at: u32, named: &[u32]) -> Vec<Vec<u32>> {
    // An agent that keeps a task on its list since has understood the user in another way.
    let is_old = facts.ledger().tasks_at.is_some_and(|tasks_at| tasks_at < at);
    let is_gone = |state| matches!(state, TaskState::Dropped | TaskState::Cancelled);
    let listed = facts.tasks().all().iter().filter(|it| is_gone(it.state) || (it.state.is_open() && is_old));
    let asked = before.iter().flat_map(|turn| clauses(&turn.asked)).filter(|it| !it.denies());
    let asked = asked.map(|clause| words(clause.text).collect::<Vec<u32>>());
    let all = asked.chain(listed.map(|task| words(task.text.inspect()).collect()));
    all.filter(|stems| STEMS.contains(&stems.len()) && has_all(stems, named)).collect()
}

/// Reports whether it came up again, or may have: in later clauses, or in turns from its request
/// on.
fn is_spoken_of(named: &[u32], rest: &[Clause<'_>], turns: &[&Turn]) -> bool {
    let speaks = |clause: &Clause<'_>| !clause.denies() && has(clause.text, named);
    if rest.iter().any(speaks) || turns[0].asked.contains(CLIP_MARK) {
        return true;
    }
    let agreed = |before: &Turn, turn: &Turn| {
        // A yes to a question may refer to the text before it.
        let offers = |clause: &Clause<'_>| speaks(clause) || clause.asks && has(before.said.inspect(), named);
        Assent::parse(&turn.asked) == Assent::Yes && clauses(before.said.inspect()).iter().any(offers)
    };
    turns.windows(2).any(|pair| {
        let [before, turn] = pair else { return false };
        turn.asked.contains(CLIP_MARK) || clauses(&turn.asked).iter().any(speaks) || agreed(before, turn)
    }) || turns.iter().any(|turn| turn.answers.iter().any(|answer| has(answer, named)))
}

/// A part of what the user said.
struct Clause<'a> {
    text: &'a str,
    /// True inside a question.
    asks: bool,
    words: Vec<String>,
}

impl Clause<'_> {
    fn denies(&self) -> bool {
        n_denials(&self.words) == 1
    }
}

/// Splits what the user said into clauses; a mark inside of a name parts nothing.
fn clauses(text: &str) -> Vec<Clause<'_>> {
    let mut out = Vec::new();
    for sentence in sentences(text) {
        let asks = sentence.text.trim_end().ends_with('?');
        let mut rest = sentence.text;
        while !rest.is_empty() {
            let (clause, after) = rest.split_at(clause_end(rest));
            let text = clause.trim();
            out.push(Clause { text, asks, words: small_words(text) });
            rest = after;
        }
    }
    out
}

fn clause_end(text: &str) -> usize {
    let mark = |(at, c): (usize, char)| {
        let end = at + c.len_utf8();
        let is_mark = matches!(c, ',' | ';' | ':' | '.' | '!' | '?' | '—') || c == '\n';
        let is_end = c == '\n' || text[end..].chars().next().is_none_or(char::is_whitespace);
        (is_mark && is_end).then_some(end)
    };
    let joint = [" and ", " but "].iter().filter_map(|joint| text.find(joint)).map(|at| at + 1);
    let joint = joint.filter(|at| *at > 1).min();
    text.char_indices().find_map(mark).into_iter().chain(joint).min().unwrap_or(text.len())
}

fn small_words(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’' | '-' | '_' | '.'));
    let words = words.map(|word| word.trim_matches(['.', '\'', '-']).to_lowercase().replace('’', "'"));
    words.filter(|word| !word.is_empty()).collect()
}

/// Returns the words of what a clause withdraws, if it withdraws anything.
fn withdrawn_names(clause: &Clause<'_>) -> Option<Vec<u32>> {
    if clause.asks {
        return None;
    }
    let mut rest: &[String] = &clause.words;
    loop {
        if let Some(object) = called_off(rest) {
            // Not to forget to do something is another matter.
            let puts_off = object.first().is_some_and(|word| word == "to")
                || object.iter().any(|word| PUTS_OFF.contains(&word.as_str()));
            return (!puts_off).then(|| words(&object.join(" ")).collect());
        }
        let (first, others) = rest.split_first()?;
        FILLERS.contains(&first.as_str()).then_some(())?;
        rest = others;
    }
}

/// Returns what words at the start of a clause withdraw.
fn called_off(rest: &[String]) -> Option<&[String]> {
    let starts = |start: &[&str]| rest.iter().map(String::as_str).take(start.len()).eq(start.iter().copied());
    let ends = |end: &[&str]| {
        rest.len() > end.len()
            && rest[rest.len() - end.len()..].iter().map(String::as_str).eq(end.iter().copied())
    };
    if let Some(call) = CALLS.iter().find(|call| starts(call)) {
        let end = AFTER_NO.iter().find(|end| ends(end)).map_or(0, |end| end.len());
        return rest.get(call.len()..rest.len() - end);
    }
    match rest.first().map(String::as_str)? {
        "no" => AFTER_NO.iter().find(|end| ends(end)).map(|end| &rest[1..rest.len() - end.len()]),
        "leave" if ends(&["out"]) => rest.get(1..rest.len() - 1),
        // To stop what runs is work; to stop doing something takes it back.
        "stop" if rest.get(1).is_some_and(|word| word.ends_with("ing")) => rest.get(2..),
        _ => None,
    }
}

/// Returns a plan without the verb that it begins with.
fn without_verb(plan: &str) -> &str {
    let plan = plan.trim_start();
    let (verb, object) = plan.split_once(' ').unwrap_or((plan, ""));
    if DOES.contains(&verb.to_lowercase().as_str()) { object } else { plan }
}

fn n_denials(words: &[String]) -> usize {
    words.iter().filter(|word| DENIES.contains(&word.as_str())).count()
}

fn has(text: &str, named: &[u32]) -> bool {
    has_all(&words(text).collect::<Vec<u32>>(), named)
}

fn has_all(all: &[u32], some: &[u32]) -> bool {
    n_in(some, all) == some.len()
}

fn n_in(some: &[u32], all: &[u32]) -> usize {
    some.iter().filter(|word| all.contains(word)).count()
}
