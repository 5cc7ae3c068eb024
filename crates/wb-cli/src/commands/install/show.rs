//! Prints plans and results for the user.

use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use super::change::FileChange;
use super::check::{Checked, InstalledFile};
use super::plan::Plan;
use crate::hosts::Host;
use crate::hosts::place::InstallPlace;
use crate::platform::environment::Environment;
use crate::terminal::escape::escaped;
use crate::terminal::style::{BAD, DIM, GOOD, WARN};
use crate::terminal::wrap::Page;

/// The answer of `wb install --json` and `wb uninstall --json`.
#[derive(Debug, Serialize)]
pub(crate) struct InstallJson<'a> {
    host: &'static str,
    project: bool,
    dry_run: bool,
    changes: Vec<JsonChange<'a>>,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
struct JsonChange<'a> {
    file: String,
    action: &'static str,
    /// The new content of the file; none if it is removed.
    content: Option<&'a str>,
}

impl<'a> InstallJson<'a> {
    pub(crate) fn new(request: InstallRequest<'_>, plan: &'a Plan) -> Self {
        let change = |it: &'a FileChange| JsonChange {
            file: it.path.display().to_string(),
            action: it.verb(),
            content: it.after.as_deref(),
        };
        let changes = plan.changes.iter().map(change).collect();
        Self {
            host: request.host.name,
            project: request.place.is_project,
            dry_run: request.is_dry,
            changes,
            notes: &plan.notes,
        }
    }
}

/// The user's request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InstallRequest<'a> {
    pub(crate) host: &'a Host,
    pub(crate) place: &'a InstallPlace,
    pub(crate) is_install: bool,
    pub(crate) is_dry: bool,
}

/// Shows the changes, made or planned.
pub(crate) fn done(
    page: &mut Page<'_>,
    environment: &Environment,
    request: InstallRequest<'_>,
    plan: &Plan,
) -> io::Result<()> {
    page.heading(request.host.name, &headline(request, plan))?;
    for change in &plan.changes {
        let path = escaped(&environment.tilde(&change.path)).into_owned();
        let of_what = if change.is_copy() { ", a copy of the previous file" } else { "" };
        writeln!(page, "  {} {path}{of_what}", verb(change, request.is_dry))?;
        // A copy adds no information, and settings may contain keys.
        if request.is_dry && change.is_one() && !change.is_copy() {
            lines(page, change)?;
        }
    }
    for note in &plan.notes {
        page.prose("  note: ", 8, &escaped(note))?;
    }
    if request.is_install && !request.is_dry { after(page, request, plan.effect) } else { Ok(()) }
}

fn headline(request: InstallRequest<'_>, plan: &Plan) -> String {
    let scope = if request.place.is_project { "for this project" } else { "for all your projects" };
    let is_done = !plan.changes.iter().any(FileChange::is_one);
    match (request.is_install, is_done, request.is_dry) {
        (true, true, _) => format!("already installed {scope}"),
        (false, true, _) => format!("wb isn't installed {scope}; nothing to remove"),
        (true, _, true) => format!("would be installed {scope}; this is a dry run and writes nothing"),
        (false, _, true) => format!("would be uninstalled {scope}; this is a dry run and writes nothing"),
        (true, ..) => format!("installed {scope}"),
        (false, ..) => format!("uninstalled {scope}"),
    }
}

fn verb(change: &FileChange, is_dry: bool) -> String {
    let verb = change.verb();
    match (verb, is_dry) {
        ("keep", _) => "as it was:".to_owned(),
        (_, true) => format!("would {verb}"),
        (_, false) => format!("{verb}d"),
    }
}

/// Shows the lines of a file that go and come.
fn lines(page: &mut Page<'_>, change: &FileChange) -> io::Result<()> {
    let lines = |text: &Option<String>| -> Vec<String> {
        text.iter().flat_map(|text| text.lines().map(|line| escaped(line).into_owned())).collect()
    };
    let (before, after) = (lines(&change.before), lines(&change.after));
    let same = before.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.len().min(after.len()) - same;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    for line in &before[same..before.len() - tail] {
        writeln!(page, "  {BAD}-{BAD:#} {line}")?;
    }
    for line in &after[same..after.len() - tail] {
        writeln!(page, "  {GOOD}+{GOOD:#} {line}")?;
    }
    Ok(())
}

/// Prints the effect and the remaining steps.
fn after(page: &mut Page<'_>, request: InstallRequest<'_>, effect: &str) -> io::Result<()> {
    let Host { name, next, .. } = request.host;
    writeln!(page)?;
    if !effect.is_empty() {
        page.prose("  ", 2, effect)?;
    }
    page.prose("  ", 2, next[usize::from(request.place.is_project)])?;
    let flag = if request.place.is_project { " --project" } else { "" };
    writeln!(page, "\n{DIM}to check it:{DIM:#} wb install --check {name}")?;
    writeln!(page, "{DIM}its compactions:{DIM:#} wb log")?;
    writeln!(page, "{DIM}to remove it:{DIM:#} wb uninstall {name}{flag}")
}

/// Shows what is installed, agent by agent.
pub(crate) fn checked(page: &mut Page<'_>, environment: &Environment, all: &[Checked]) -> io::Result<()> {
    for checked in all {
        let there = match &checked.program {
            Some(path) => {
                let version = checked.version.as_deref().map(|version| format!(" {version}"));
                format!(
                    "{}{} · tested with {}",
                    environment.tilde(path),
                    version.unwrap_or_default(),
                    checked.host.tried
                )
            }
            None => {
                format!("{} is not on the PATH · tested with {}", checked.host.program, checked.host.tried)
            }
        };
        page.heading(checked.host.name, &escaped(&there))?;
        if checked.found.is_empty() {
            writeln!(page, "  {DIM}not installed:{DIM:#} wb install {}", checked.host.name)?;
        }
        let is_there = checked.program.is_some();
        checked.found.iter().try_for_each(|found| one(page, environment, found, is_there))?;
        checked.notes.iter().try_for_each(|note| page.prose("  note: ", 8, &escaped(note)))?;
    }
    Ok(())
}

fn one(
    page: &mut Page<'_>,
    environment: &Environment,
    found: &InstalledFile,
    is_agent_there: bool,
) -> io::Result<()> {
    let mark = match found {
        // Whether an agent that cannot be found uses it is not known.
        InstalledFile { live: true, .. } if !is_agent_there => format!("{WARN}installed{WARN:#}"),
        InstalledFile { live: true, .. } => format!("{GOOD}active{GOOD:#}"),
        InstalledFile { ours: false, .. } => format!("{WARN}not ours{WARN:#}"),
        _ => format!("{BAD}inactive{BAD:#}"),
    };
    let scope = if found.project { "this project: " } else { "" };
    writeln!(page, "  {mark}  {scope}{}", escaped(&environment.tilde(&found.file)))?;
    if let Some(wb) = &found.wb {
        writeln!(page, "    {DIM}runs{DIM:#} {}", escaped(&environment.tilde(Path::new(wb))))?;
    }
    found.problems.iter().try_for_each(|problem| page.prose("    ", 4, &escaped(problem)))
}
