//! Holds the states of tasks in a summary against the list that the agent kept.

use super::text::{SummaryLine, Topic};
use super::{Finding, FindingKind};
use crate::facts::Facts;
use crate::facts::ledger::utterances::words;
use wb_language::tasks::{Task, TaskState};

use TaskState::{Active, Cancelled, Done, Dropped, Open};

/// The text in the brackets before an item, in addition to the words of our digests, and its state.
const BOXES: [(&str, TaskState); 7] =
    [("x", Done), ("X", Done), ("done", Done), (" ", Open), ("", Open), ("open", Open), ("~", Active)];
/// Signs before an item.
const SIGNS: [(&str, TaskState); 6] =
    [("✅", Done), ("☑", Done), ("✔", Done), ("✓", Done), ("☐", Open), ("⬜", Open)];
/// Marks behind an item.
const ENDS: [(&str, TaskState); 10] = [
    ("(completed)", Done),
    ("(done)", Done),
    ("(complete)", Done),
    ("✅", Done),
    ("(pending)", Open),
    ("(in progress)", Active),
    ("(not started)", Open),
    ("(todo)", Open),
    ("(open)", Open),
    ("(cancelled)", Cancelled),
];

/// Finds tasks whose state is another one.
pub(super) fn check(lines: &[SummaryLine<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    if facts.tasks().all().is_empty() {
        return;
    }
    for line in
        lines.iter().filter(|line| !line.is_code && !matches!(line.topic, Topic::Shown | Topic::Quoted))
    {
        let Some((claimed_state, text)) = claimed(line) else { continue };
        let Some(task) = named(facts.tasks().all(), text) else { continue };
        let Some(why) = otherwise(claimed_state, task.state) else { continue };
        let why = format!("{why}: {}", task.text.inspect());
        out.push(Finding::new(FindingKind::TaskState, line, line.text, why, facts.ledger().tasks_at));
    }
}

/// Returns the true state of a task if it contradicts the claim. Begun and not begun are the same
/// here, and so are dropped and open.
fn otherwise(claimed: TaskState, state: TaskState) -> Option<&'static str> {
    match (claimed, state) {
        (Done | Cancelled | Dropped, Open | Active) => Some("the task is still open"),
        (Open | Active | Cancelled | Dropped, Done) => Some("the task is done"),
        (Open | Active | Done, Cancelled) => Some("the task was called off"),
        (Done, Dropped) => Some("the task vanished from the list before it was marked as done"),
        (Done, Done)
        | (Open | Active, Open | Active | Dropped)
        | (Cancelled | Dropped, Cancelled | Dropped) => None,
    }
}

/// Returns what a line says is still to be done.
pub(super) fn planned<'a>(line: &SummaryLine<'a>) -> Option<&'a str> {
    if line.is_code || matches!(line.topic, Topic::Shown | Topic::Quoted) {
        return None;
    }
    match claimed(line) {
        Some((Open | Active, text)) => Some(line.after_label().unwrap_or(text)),
        Some(_) => None,
        None => line.after_label(),
    }
}

/// Returns the state that a line claims, and the text of the task.
fn claimed<'a>(line: &SummaryLine<'a>) -> Option<(TaskState, &'a str)> {
    let body = line.body();
    if let Some((state, text)) = boxed(body) {
        return Some((state, text.trim()));
    }
    if let Some((sign, state)) = SIGNS.iter().find(|(sign, _)| body.starts_with(sign)) {
        return Some((*state, body[sign.len()..].trim()));
    }
    let lower = body.to_lowercase();
    if let Some((mark, state)) = ENDS.iter().find(|(mark, _)| lower.ends_with(mark)) {
        return Some((*state, body.get(..body.len() - mark.len())?.trim()));
    }
    match line.topic {
        Topic::Done => Some((Done, body)),
        Topic::Ahead => Some((Open, body)),
        _ => None,
    }
}

/// Reads the state in brackets that an item begins with.
fn boxed(body: &str) -> Option<(TaskState, &str)> {
    let (word, text) = body.strip_prefix('[')?.split_once(']')?;
    let known = || BOXES.iter().find(|(mark, _)| *mark == word).map(|(_, state)| *state);
    Some((TaskState::from_word(word).or_else(known)?, text))
}

/// Returns the task that a text names, if it is certain which one.
fn named<'a>(tasks: &'a [Task], text: &str) -> Option<&'a Task> {
    let own: Vec<u32> = words(text).collect();
    let fits = |task: &&Task| {
        let wanted: Vec<u32> = words(task.text.inspect()).collect();
        let n = wanted.iter().filter(|word| own.contains(word)).count();
        n * 5 >= wanted.len() * 4 && n * 2 >= own.len() && (n >= 2 || task.text.inspect().trim() == text)
    };
    let mut found = tasks.iter().filter(fits);
    let first = found.next()?;
    found.all(|other| other.state == first.state).then_some(first)
}
