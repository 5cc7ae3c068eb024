//! `wb doctor`: the reasons why a session would not resume.

mod checks;
mod problem;
mod examination;
mod line_starts;
mod last_failure;
mod remedies;
mod session_list;

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use wb_formats::SentAs;

use self::checks::{CHECKS, too_large, untrue_summary};
use self::examination::Examination;
use self::problem::Problem;
use self::remedies::is_repairable;
use crate::args::{Doctor, Policy};
use crate::session::Session;
use crate::session::find::agent_folders::newest_session;
use crate::session::find::find_session::of_project;
use crate::session::json::words_of;
use crate::session::meter;
use crate::session::validity::answered_by_agent;
use crate::terminal::escape::{escaped, with_file};
use crate::terminal::exit_code::Exit;
use crate::terminal::number::count;
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM, GOOD};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;
use wb_bind::Strategy;

/// The answer of `wb doctor --json`.
#[derive(Debug, Serialize)]
struct Diagnosis {
    file: String,
    format: &'static str,
    #[serde(rename = "complaints")]
    problems: Vec<Problem>,
    /// Other notes on what the reader skipped or changed.
    notes: Vec<String>,
}

/// Examines sessions and reports what would keep them from continuing.
pub(crate) fn doctor(shell: &Shell, args: &Doctor) -> Result<Exit> {
    if args.all || args.files.len() > 1 || args.files.iter().any(|file| file.is_dir()) {
        return session_list::doctor(shell, args);
    }
    let path = args.files.first().cloned().map_or_else(|| newest(shell), Ok)?;
    let diagnosis = diagnose(shell, args, &path)?;
    if shell.is_json {
        shell.print_json(&diagnosis)?;
    } else {
        shell.print(|page| render_text(page, &diagnosis))?;
    }
    Ok(if diagnosis.problems.is_empty() { Exit::Done } else { Exit::Found })
}

/// Examines a session.
fn diagnose(shell: &Shell, args: &Doctor, path: &Path) -> Result<Diagnosis, UserError> {
    let policy = Policy { window: args.window, ..Policy::default() };
    let mut session = Session::open(shell, path, policy, Strategy::default())?;
    let (problems, more) = shell.timed("looking", || examine(&mut session, path));
    let rest = session.opened.notes.iter().filter(|note| !is_repairable(note)).copied();
    let notes = words_of(&rest.collect::<Vec<_>>()).into_iter().chain(more).collect();
    Ok(Diagnosis { file: session.file.clone(), format: session.opened.format, problems, notes })
}

/// Returns the newest session of this folder, or else of this machine.
fn newest(shell: &Shell) -> Result<PathBuf, UserError> {
    if let Some(here) = of_project(&shell.environment, Path::new("."), None).into_iter().next() {
        return Ok(here);
    }
    let hint = "name a session file; `wb` lists the folders it searches";
    newest_session(&shell.environment)
        .ok_or_else(|| UserError::new("no sessions of known agents found on this machine", hint))
}

/// Returns the problems of every check, and notes.
fn examine(session: &mut Session, path: &Path) -> (Vec<Problem>, Vec<String>) {
    let examination = Examination::new(session, path);
    let report = |check: &checks::Check| {
        let rule = check.rule;
        let found = (check.find)(&examination).into_iter();
        found.map(move |it| Problem { rule, advice: it.advice.map(|advice| with_file(&advice, path)), ..it })
    };
    let problems = CHECKS.iter().flat_map(report).collect();
    let opened = &examination.session.opened;
    let notes = [
        answered_by_agent(opened, &SentAs::from_view(opened)),
        too_large::assumed_window(examination.session),
        examination.last_failure.as_ref().filter(|it| !it.is_refusal()).map(ToString::to_string),
        untrue_summary::harmless_findings(&examination),
    ];
    (problems, notes.into_iter().flatten().collect())
}

/// The most problems of one kind that are printed each.
const MOST_OF_A_KIND: usize = 3;

/// Returns the problems to print, each with the number of those of its kind that are left out.
fn of_one_kind(problems: &[Problem]) -> impl Iterator<Item = (&Problem, usize)> {
    let is_same = |one: &Problem, next: &Problem| {
        one.rule == next.rule && one.command == next.command && one.advice == next.advice
    };
    problems.chunk_by(is_same).flat_map(|alike| {
        let n_shown = alike.len().min(MOST_OF_A_KIND);
        let n_more = move |nth: usize| if nth + 1 == n_shown { alike.len() - n_shown } else { 0 };
        alike[..n_shown].iter().enumerate().map(move |(nth, problem)| (problem, n_more(nth)))
    })
}

fn render_text(page: &mut Page<'_>, diagnosis: &Diagnosis) -> io::Result<()> {
    page.heading(&escaped(&diagnosis.file), diagnosis.format)?;
    if diagnosis.problems.is_empty() {
        page.prose("", 2, &format!("{GOOD}no problems found{GOOD:#}"))?;
    }
    for (problem, n_more) in of_one_kind(&diagnosis.problems) {
        let Problem { what, line, command, advice, .. } = problem;
        let line = line.map_or_else(String::new, |line| format!(" (line {line})"));
        page.prose("", 2, &format!("{BAD}✗{BAD:#} {}{line}", escaped(what)))?;
        if let Some(advice) = advice {
            page.prose("  ", 4, &format!("{DIM}{}{DIM:#}", escaped(advice)))?;
        }
        if let Some(command) = command {
            page.prose("  ", 4, &format!("{DIM}{}{DIM:#}", escaped(command)))?;
        }
        if n_more > 0 {
            let more = format!("{} of this kind; `--json` lists all", count(n_more, "more", "more"));
            page.prose("  ", 4, &format!("{DIM}{more}{DIM:#}"))?;
        }
    }
    meter::notes(page, &diagnosis.notes)
}
