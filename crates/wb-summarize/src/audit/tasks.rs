//! Holds the states of tasks in a summary against the list that the agent kept.

use super::text::{Line, Topic};
use super::{Finding, FindingKind};
use crate::facts::Facts;
use crate::facts::ledger::said::words;
use crate::words::tasks::{Task, TaskState};

/// Marks before an item, and the state that they tell.
const MARKS: [(&str, bool); 14] = [
    ("[x]", true),
    ("[X]", true),
    ("[completed]", true),
    ("[done]", true),
    ("✅", true),
    ("☑", true),
    ("✔", true),
    ("✓", true),
    ("[ ]", false),
    ("[pending]", false),
    ("[in_progress]", false),
    ("[~]", false),
    ("☐", false),
    ("⬜", false),
];
/// Marks behind an item.
const ENDS: [(&str, bool); 9] = [
    ("(completed)", true),
    ("(done)", true),
    ("(complete)", true),
    ("✅", true),
    ("(pending)", false),
    ("(in progress)", false),
    ("(not started)", false),
    ("(todo)", false),
    ("(open)", false),
];

/// Finds tasks whose state is another one.
pub(super) fn check(lines: &[Line<'_>], facts: &Facts, out: &mut Vec<Finding>) {
    if facts.tasks().all().is_empty() {
        return;
    }
    for line in
        lines.iter().filter(|line| !line.is_code && !matches!(line.topic, Topic::Shown | Topic::Quoted))
    {
        let Some((is_done, text)) = claimed(line) else { continue };
        let Some(task) = named(facts.tasks().all(), text) else { continue };
        let why = match (is_done, task.state) {
            (true, TaskState::Open | TaskState::Active) => "the task is still open",
            (_, TaskState::Cancelled) => "the task was called off",
            (false, TaskState::Done) => "the task is done",
            _ => continue,
        };
        let why = format!("{why}: {}", task.text);
        out.push(Finding::new(FindingKind::TaskState, line, line.text, why, facts.ledger().tasks_at));
    }
}

/// Returns whether a line says that something is done or is not, and what.
fn claimed<'a>(line: &Line<'a>) -> Option<(bool, &'a str)> {
    let body = line.body();
    if let Some((mark, is_done)) = MARKS.iter().find(|(mark, _)| body.starts_with(mark)) {
        return Some((*is_done, body[mark.len()..].trim()));
    }
    let lower = body.to_lowercase();
    if let Some((mark, is_done)) = ENDS.iter().find(|(mark, _)| lower.ends_with(mark)) {
        return Some((*is_done, body.get(..body.len() - mark.len())?.trim()));
    }
    match line.topic {
        Topic::Done => Some((true, body)),
        Topic::Ahead => Some((false, body)),
        _ => None,
    }
}

/// Returns the task that a text names, if it is certain which one.
fn named<'a>(tasks: &'a [Task], text: &str) -> Option<&'a Task> {
    let own: Vec<u32> = words(text).collect();
    let fits = |task: &&Task| {
        let wanted: Vec<u32> = words(&task.text).collect();
        let n = wanted.iter().filter(|word| own.contains(word)).count();
        n * 5 >= wanted.len() * 4 && n * 2 >= own.len() && (n >= 2 || task.text.trim() == text)
    };
    let mut found = tasks.iter().filter(fits);
    let first = found.next()?;
    found.all(|other| other.state == first.state).then_some(first)
}
