//! Several sessions under examination: a line each, the worst first.

use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{Diagnosis, diagnose};
use crate::args::Doctor;
use crate::session::find::find_session::of_project;
use crate::session::find::session_words::SessionWords;
use crate::session::input_files::{self, InputSource};
use crate::terminal::escape::escaped;
use crate::terminal::exit_code::Exit;
use crate::terminal::file_error::folder_without_sessions;
use crate::terminal::number::count;
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM, GOOD};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::{Page, width};

/// A session that was examined, or could not be read.
struct ExaminedSession {
    name: String,
    outcome: Result<Diagnosis, UserError>,
}

impl ExaminedSession {
    /// Returns its place in the list: what cannot be read is first.
    fn rank(&self) -> usize {
        self.outcome.as_ref().map_or(usize::MAX, |it| it.problems.len())
    }

    fn mark(&self) -> String {
        match &self.outcome {
            Err(_) => format!("{BAD}✗ unreadable{BAD:#}"),
            Ok(it) if it.problems.is_empty() => format!("{GOOD}✓{GOOD:#}"),
            Ok(it) => format!("{BAD}✗ {}{BAD:#}", count(it.problems.len(), "problem", "problems")),
        }
    }

    fn first(&self) -> String {
        match &self.outcome {
            Err(error) => error.message.clone(),
            Ok(it) => it.problems.first().map(|problem| problem.what.clone()).unwrap_or_default(),
        }
    }
}

/// Examines several sessions.
pub(super) fn doctor(shell: &Shell, args: &Doctor) -> Result<Exit> {
    let sources = sources(shell, args)?;
    let names = SessionWords::read(&shell.environment);
    let progress = shell.progress_of_files(sources.len());
    let mut rows = Vec::new();
    for source in &sources {
        progress.set_name(&source.name());
        let outcome = diagnose(shell, args, &source.path);
        // A file in a folder may be anything.
        let is_session =
            source.folder.is_none() || outcome.as_ref().map_or_else(|it| !it.is_foreign, |_| true);
        rows.extend(is_session.then(|| ExaminedSession { name: names.word(&source.path), outcome }));
        progress.step();
    }
    drop(progress);
    rows.sort_by_key(|row| Reverse(row.rank()));
    if shell.is_json {
        for row in &rows {
            match &row.outcome {
                Ok(diagnosis) => shell.print_json(diagnosis)?,
                Err(error) => shell.fail(error),
            }
        }
    } else {
        shell.print(|page| render(page, &rows))?;
    }
    Ok(match () {
        () if rows.iter().any(|row| row.outcome.is_err()) => Exit::Failed,
        () if rows.iter().any(|row| row.rank() > 0) => Exit::Found,
        () => Exit::Done,
    })
}

fn sources(shell: &Shell, args: &Doctor) -> Result<Vec<InputSource>, UserError> {
    let here = || of_project(&shell.environment, Path::new("."), None);
    let files: Vec<PathBuf> = if args.all { here() } else { args.files.clone() };
    let sources = input_files::all(&shell.environment, &files);
    match args.files.iter().find(|file| file.is_dir()) {
        Some(folder) if sources.is_empty() => Err(folder_without_sessions(folder)),
        None if sources.is_empty() => {
            let hint = "name sessions or a folder; `wb --all` lists the sessions of this machine";
            Err(UserError::new("no session of this folder was found", hint))
        }
        _ => Ok(sources),
    }
}

fn render(page: &mut Page<'_>, rows: &[ExaminedSession]) -> io::Result<()> {
    let (marks, names) =
        (widest(rows, ExaminedSession::mark), widest(rows, |row| row.name.clone()).min(page.columns / 2));
    for row in rows {
        let (mark, name) = (row.mark(), escaped(&row.name).into_owned());
        let blanks = |most: usize, text: &str| " ".repeat(most.saturating_sub(width(text)));
        let lead = format!("{mark}{}  {name}{}  ", blanks(marks, &mark), blanks(names, &name));
        let first = row.first();
        let lead = if first.is_empty() { lead.trim_end_matches(' ') } else { &lead };
        page.cut(lead, &escaped(&first), "")?;
    }
    let n_bad = rows.iter().filter(|row| row.rank() > 0).count();
    let sum = format!("{}, {n_bad} with problems", count(rows.len(), "session", "sessions"));
    page.prose("", 2, &format!("{DIM}{sum}{DIM:#}"))?;
    let Some(worst) = rows.first().filter(|row| row.rank() > 0) else { return Ok(()) };
    page.prose("", 2, &format!("{DIM}all about the first:{DIM:#} wb doctor {}", escaped(&worst.name)))
}

fn widest(rows: &[ExaminedSession], text: impl Fn(&ExaminedSession) -> String) -> usize {
    rows.iter().map(|row| width(&text(row))).max().unwrap_or(0)
}
