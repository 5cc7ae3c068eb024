//! `wb` alone: the newest sessions on this machine, with their meters.

use std::io::{self, Write};
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::CommandFactory;
use serde::Serialize;
use wb_session::iso_ms;

use crate::args::{Cli, Policy};
use crate::platform::clock::unix_ms;
use crate::platform::environment::Environment;
use crate::session::Session;
use crate::session::agent_folders::{AgentFolder, FoundSession, agent_folders, working_folder};
use crate::session::session_line::RowLayout;
use crate::terminal::escape::{escaped, shell_word};
use crate::terminal::exit_code::Exit;
use crate::terminal::number::{count, grouped};
use crate::terminal::shell::Shell;
use crate::terminal::style::{DIM, HEAD};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::{Page, width};
use wb_bind::Strategy;

/// Sessions that are shown.
const SHOWN: usize = 5;
const AGENT_COLUMNS: usize = 11;
const AGE_COLUMNS: usize = 6;

/// The answer of `wb --json`.
#[derive(Debug, Serialize)]
struct Overview {
    sessions: Vec<ListedSession>,
    n_found: usize,
    places: Vec<Looked>,
}

/// A place that was searched.
#[derive(Debug, Serialize)]
struct Looked {
    agent: &'static str,
    folder: String,
    n_found: usize,
    /// The reason why it cannot be listed.
    error: Option<UserError>,
}

/// A session, or why it could not be weighed.
#[derive(Debug, Serialize)]
struct ListedSession {
    agent: &'static str,
    file: String,
    modified: String,
    folder: Option<String>,
    format: Option<&'static str>,
    messages: Option<usize>,
    tokens: Option<u64>,
    window: Option<u64>,
    limit: Option<u64>,
    over_budget: Option<bool>,
    anchored: Option<bool>,
    error: Option<UserError>,
}

/// Shows the newest sessions of the known agents; reads and writes nothing else.
pub(crate) fn overview(shell: &Shell) -> Result<Exit> {
    let folders = agent_folders(&shell.environment);
    let all: Vec<Vec<FoundSession>> =
        shell.timed("looking", || folders.iter().map(AgentFolder::sessions).collect());
    let looked: Vec<Looked> =
        folders.iter().zip(&all).map(|(folder, found)| looked(folder, found.len())).collect();
    let mut found: Vec<FoundSession> = all.into_iter().flatten().collect();
    found.sort_by(|one, two| two.modified.cmp(&one.modified).then_with(|| one.path.cmp(&two.path)));
    let n_found = found.len();
    found.truncate(SHOWN);
    let problems: Vec<UserError> = looked.iter().filter_map(|place| place.error.clone()).collect();
    let exit = if problems.is_empty() { Exit::Done } else { Exit::Failed };
    if shell.is_json {
        let sessions = found.iter().map(|found| listed(shell, found)).collect();
        shell.print_json(&Overview { sessions, n_found, places: looked })?;
        return Ok(exit);
    }
    if found.is_empty() {
        shell.print(|page| nothing(page, &shell.environment, &looked))?;
    } else {
        list(shell, &found, n_found, &looked)?;
    }
    for problem in &problems {
        shell.fail(problem);
    }
    Ok(exit)
}

fn looked(place: &AgentFolder, n_found: usize) -> Looked {
    Looked { agent: place.agent, folder: place.folder.display().to_string(), n_found, error: place.problem() }
}

fn open(shell: &Shell, found: &FoundSession) -> Result<Session, UserError> {
    Session::open(shell, &found.path, Policy::default(), Strategy::default())
}

fn listed(shell: &Shell, found: &FoundSession) -> ListedSession {
    let opened = open(shell, found);
    let session = opened.as_ref().ok();
    ListedSession {
        agent: found.agent,
        file: found.path.display().to_string(),
        modified: iso_ms(unix_ms(found.modified)),
        folder: working_folder(&found.path).map(|folder| folder.display().to_string()),
        format: session.map(|session| session.opened.format),
        messages: session.map(|session| session.opened.messages.len()),
        tokens: session.map(|session| session.measure.context_tokens),
        window: session.map(|session| session.window),
        limit: session.map(|session| session.limit),
        over_budget: session.map(Session::is_over),
        anchored: session.map(|session| session.measure.anchored),
        error: opened.err(),
    }
}

fn list(shell: &Shell, found: &[FoundSession], n_found: usize, looked: &[Looked]) -> Result<()> {
    let environment = &shell.environment;
    let names: Vec<String> = found.iter().map(|found| name(environment, &found.path)).collect();
    let longest = names.iter().map(|name| width(name)).max().unwrap_or(0);
    let layout = RowLayout::new(environment.columns, &[AGENT_COLUMNS, AGE_COLUMNS], longest);
    shell.print(|page| {
        heading(page, environment, found.len(), n_found, looked)?;
        layout.titles(page, &["agent", "age", "folder"])
    })?;
    let now = SystemTime::now();
    let progress = shell.progress_of_files(found.len());
    let mut newest = None;
    for (found, name) in found.iter().zip(names) {
        progress.set_name(&name);
        let session = open(shell, found);
        newest = newest.or(session.is_ok().then_some(found.path.as_path()));
        let age = age(now.duration_since(found.modified).unwrap_or_default());
        let leads = [found.agent.to_owned(), age, name];
        progress.aside(|| {
            shell.print(|page| {
                match &session {
                    Ok(session) => layout.session(page, &leads, session)?,
                    Err(error) => layout.other(page, &leads, &why(error))?,
                }
                let path = environment.tilde(&found.path);
                if shell.is_verbose() { writeln!(page, "    {DIM}{}{DIM:#}", escaped(&path)) } else { Ok(()) }
            })
        })?;
        progress.step();
    }
    drop(progress);
    shell.print(|page| next(page, environment, newest))
}

fn heading(
    page: &mut Page<'_>,
    environment: &Environment,
    n_shown: usize,
    n_found: usize,
    looked: &[Looked],
) -> io::Result<()> {
    let in_use: Vec<String> = looked
        .iter()
        .filter(|it| it.n_found > 0)
        .map(|it| environment.tilde(Path::new(&it.folder)))
        .collect();
    let all = count(n_found, "session", "sessions");
    let name = if n_shown == n_found { all } else { format!("The newest {n_shown} of {all}") };
    page.heading(&name, &escaped(&format!("in {}", in_use.join(", "))))?;
    writeln!(page)
}

/// Names a session by the folder that it was held in, else by its file.
fn name(environment: &Environment, path: &Path) -> String {
    match working_folder(path) {
        Some(folder) => environment.tilde(&folder),
        None => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    }
}

/// Returns why a session has no meter, in a few words.
fn why(error: &UserError) -> String {
    if error.is_foreign { "not read yet".to_owned() } else { error.message.clone() }
}

/// Suggests the next commands.
fn next(page: &mut Page<'_>, environment: &Environment, newest: Option<&Path>) -> io::Result<()> {
    writeln!(page)?;
    if let Some(newest) = newest {
        let path = environment.tilde(newest);
        let below = path.strip_prefix("~/").map(|below| format!("~/{}", shell_word(below)));
        let word = below.unwrap_or_else(|| shell_word(&path));
        writeln!(page, "{DIM}weigh the newest:{DIM:#} wb weigh {}", escaped(&word))?;
    }
    page.prose("", 0, &format!("{DIM}paths of all:{DIM:#} wb -v  {DIM}all commands:{DIM:#} wb --help"))
}

/// Reports where sessions were searched, and what can be done with one.
fn nothing(page: &mut Page<'_>, environment: &Environment, looked: &[Looked]) -> io::Result<()> {
    writeln!(page, "{HEAD}No sessions of coding agents were found.{HEAD:#}\n")?;
    if looked.is_empty() {
        page.prose("  ", 2, "HOME is not set, so there is nowhere to look.")?;
    } else {
        writeln!(page, "  Looked in:")?;
    }
    for it in looked {
        let folder = environment.tilde(Path::new(&it.folder));
        writeln!(page, "    {:<AGENT_COLUMNS$}  {DIM}{}{DIM:#}", it.agent, escaped(&folder))?;
    }
    writeln!(page, "\n  Name a session file or a folder of them: wb weigh FILE\n")?;
    let mut command = Cli::command().term_width(page.columns);
    write!(page, "{}", command.render_help().ansi())
}

/// Returns how long ago something was, in one unit.
fn age(since: Duration) -> String {
    let minutes = since.as_secs() / 60;
    match minutes {
        0 => "now".to_owned(),
        1..60 => format!("{minutes} min"),
        60..1_440 => format!("{} h", minutes / 60),
        _ => format!("{} d", grouped(minutes / 1_440)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_in_its_largest_unit() {
        let of = |seconds| age(Duration::from_secs(seconds));
        assert_eq!((of(0), of(59)), ("now".to_owned(), "now".to_owned()));
        assert_eq!((of(60), of(3_599)), ("1 min".to_owned(), "59 min".to_owned()));
        assert_eq!((of(3_600), of(86_399)), ("1 h".to_owned(), "23 h".to_owned()));
        assert_eq!((of(86_400), of(86_400 * 400)), ("1 d".to_owned(), "400 d".to_owned()));
    }
}
