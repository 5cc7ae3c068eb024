//! Checks the user's constraints, approvals and quotes in a summary against the user's words.

use super::consent::{Consent, consent};
use super::text::{SummaryLine, Topic, sentences, words};
use super::{Finding, FindingKind};
use crate::facts::ledger::utterances::words as stems;
use crate::facts::{Constraint, Facts};
use wb_digest::labels::{ARROW, COMMAND, request_text};
use wb_digest::redact;

/// Lines that one constraint may be spread over.
const MOST_LINES: usize = 12;
/// The share of a quote that must be the user's, and the words that make it long enough to decide.
const LEAST_SHARE: f64 = 0.34;
const LEAST_WORDS: usize = 8;

/// Finds constraints that the summary does not have.
pub(super) fn constraints(lines: &[SummaryLine<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    let of_lines: Vec<Vec<u32>> = lines.iter().map(|line| stems(line.text).collect()).collect();
    let limits: Vec<bool> = lines.iter().map(|line| limits(line.text)).collect();
    let of = |forbids: bool| facts.constraints().filter(move |it| it.forbids == forbids);
    let lasting = of(true).chain(of(false)).filter(|it| is_lasting(it));
    for constraint in lasting.filter(|it| !is_there(it, &of_lines, &limits)) {
        let why = format!("the user said so: {}", constraint.text);
        out.push(Finding {
            kind: FindingKind::MissingConstraint,
            line: 0,
            text: constraint.text.clone(),
            why,
            message: Some(constraint.at),
        });
    }
}

/// Words that limit what may be done.
const LIMITS: [&str; 18] = [
    "must",
    "never",
    "always",
    "only",
    "no",
    "not",
    "without",
    "avoid",
    "ensure",
    "don't",
    "dont",
    "keep",
    "stay",
    "skip",
    "prefers",
    "prefer",
    "untouched",
    "unchanged",
];
/// Words by which a request stays in force.
const LASTING: [&str; 6] = ["must", "always", "never", "only", "ensure", "sure"];
/// Fewer words are about something defined elsewhere.
const LEAST_STEMS: usize = 3;

fn limits(text: &str) -> bool {
    words(text).iter().any(|word| LIMITS.contains(&word.text.as_str()))
}

/// Reports whether a constraint is more than a request to do something now.
fn is_lasting(constraint: &Constraint) -> bool {
    let all = words(&constraint.text);
    let first = all.iter().take(4).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let asks = constraint.text.trim_end().ends_with('?')
        || ["can we", "can you", "could you"].iter().any(|it| first.contains(it));
    let lasts = || all.iter().any(|word| LASTING.contains(&word.text.as_str()));
    !asks && (constraint.forbids || lasts()) && stems(&constraint.text).count() >= LEAST_STEMS
}

/// Reports whether most words of a constraint occur close together, or some of them next to a
/// limiting word.
fn is_there(constraint: &Constraint, lines: &[Vec<u32>], limits: &[bool]) -> bool {
    let mut wanted: Vec<u32> = stems(&redact(&constraint.text).text).collect();
    wanted.sort_unstable();
    wanted.dedup();
    let n_lines = constraint.text.lines().count().clamp(1, MOST_LINES);
    let count =
        |near: &[Vec<u32>]| wanted.iter().filter(|word| near.iter().any(|line| line.contains(word))).count();
    let is_near = |near: &[Vec<u32>]| count(near) * 5 >= wanted.len() * 3;
    let is_reworded = |(line, limits): (&Vec<u32>, &bool)| {
        let n = count(std::slice::from_ref(line));
        *limits && n >= 2 && n * 3 >= wanted.len()
    };
    lines.windows(n_lines.min(lines.len()).max(1)).any(is_near) || lines.iter().zip(limits).any(is_reworded)
}

/// Finds approvals that the user did not give.
pub(super) fn approvals(lines: &[SummaryLine<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    let said = &facts.ledger().said;
    if facts.is_partial() || said.is_cut() {
        return;
    }
    let is_words = |line: &&SummaryLine<'_>| {
        let is_ahead = line.topic == Topic::Ahead || line.after_label().is_some();
        // What a command said is its own "ok".
        let is_run = line.text.starts_with(COMMAND) && line.text.contains(ARROW);
        !line.is_code && !is_ahead && !is_run && line.topic != Topic::Shown
    };
    for line in lines.iter().filter(is_words) {
        for sentence in sentences(line.text) {
            if let Some(Consent { about, acts }) = consent(sentence)
                && said.is_unheard(&about)
                && acts.iter().all(|act| said.is_unsaid(act))
            {
                let why = "the user said nothing that agrees to it".to_owned();
                out.push(Finding::new(FindingKind::UnknownApproval, line, sentence, why, None));
            }
        }
    }
}

/// Finds words that are quoted as the user's and are not.
pub(super) fn quotes(lines: &[SummaryLine<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    if facts.is_partial() || facts.ledger().known.is_full() {
        return;
    }
    for line in lines.iter().filter(|line| !line.is_code) {
        let Some(quote) = quoted(line) else { continue };
        let n_words = quote.split_whitespace().count();
        let share = facts.ledger().known.share_said(quote).filter(|_| n_words >= LEAST_WORDS);
        if share.is_some_and(|share| share < LEAST_SHARE) {
            let why = "the user did not say that".to_owned();
            out.push(Finding::new(FindingKind::NotTheUsers, line, quote, why, None));
        }
    }
}

/// Returns the text that a line quotes as the user's words.
fn quoted<'a>(line: &SummaryLine<'a>) -> Option<&'a str> {
    if let Some(words) = request_text(line.text) {
        return Some(words);
    }
    let body = line.body();
    let is_after_user = || {
        let start = body.find(['"', '“'])?;
        let before = words(&body[..start]);
        let near = &before[before.len().saturating_sub(5)..];
        let has = |all: &[&str]| near.iter().any(|word| all.contains(&word.text.as_str()));
        let speaks = has(&[
            "said",
            "says",
            "asked",
            "wrote",
            "requested",
            "message",
            "told",
            "instruction",
            "request",
        ]);
        let is_label =
            near.last().is_some_and(|word| word.text == "user") && body[..start].trim_end().ends_with(':');
        let is_users = has(&["user", "user's"]) && !has(&["i", "error", "about", "comment"]);
        (is_users && (speaks || is_label)).then_some(start)
    };
    let start = if line.topic == Topic::Quoted && body.starts_with(['"', '“']) {
        Some(0)
    } else {
        is_after_user()
    }?;
    let inner = &body[start + body[start..].chars().next()?.len_utf8()..];
    // A quote may hold quotes; one that a blank or the end follows ends it.
    let ends = |(at, mark): &(usize, &str)| {
        inner[at + mark.len()..].chars().next().is_none_or(|next| !next.is_alphanumeric())
    };
    let is_item = line.topic == Topic::Quoted;
    let mut marks = inner.match_indices(['"', '”']).filter(ends);
    let end = if is_item { marks.next_back() } else { marks.next() };
    Some(&inner[..end.map_or(inner.len(), |(at, _)| at)])
}
