//! `wb` alone: the sessions of this folder and the newest elsewhere, with their meters.

use std::io::{self, Write};
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use clap::CommandFactory;
use serde::Serialize;
use wb_session::iso_ms;

use crate::args::{Cli, Policy};
use crate::platform::clock::unix_ms;
use crate::platform::environment::Environment;
use crate::session::Session;
use crate::session::agent_trigger::AgentSettings;
use crate::session::config::Config;
use crate::session::find::agent_folders::{AgentFolder, FoundSession, agent_folders};
use crate::session::find::known_sessions::{KnownSession, KnownSessions};
use crate::session::find::session_cache::CachedMeter;
use crate::session::meter::bar_of;
use crate::terminal::escape::{escaped, shell_word};
use crate::terminal::exit_code::Exit;
use crate::terminal::number::{count, grouped};
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM, HEAD};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::{Page, head, width};
use wb_bind::Strategy;

/// Sessions of this folder that are shown.
const SHOWN_HERE: usize = 10;
/// Sessions that are shown in all, at least.
const SHOWN: usize = 5;
const AGENT_COLUMNS: usize = 11;
const NARROW_AGENT_COLUMNS: usize = 8;
const MOST_ID_COLUMNS: usize = 20;
const NARROW_ID_COLUMNS: usize = 10;
/// The fewest columns of a page that has tokens next to the percentage.
const COLUMNS_WITH_TOKENS: usize = 80;

/// The answer of `wb --json`.
#[derive(Debug, Serialize)]
struct Overview {
    sessions: Vec<ListedSession>,
    n_found: usize,
    n_here: usize,
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
    id: String,
    file: String,
    here: bool,
    title: Option<String>,
    prompt: Option<String>,
    modified: String,
    folder: Option<String>,
    format: Option<String>,
    messages: Option<usize>,
    tokens: Option<u64>,
    window: Option<u64>,
    limit: Option<u64>,
    /// The size at which the agent compacts by itself; the limit if its rule is not known.
    trigger: Option<u64>,
    over_budget: Option<bool>,
    anchored: Option<bool>,
    error: Option<UserError>,
}

/// The sessions to show, with what is needed to weigh them.
struct List<'a> {
    shell: &'a Shell,
    known: KnownSessions,
    settings: u64,
}

/// Shows sessions of the known agents; writes nothing but what it read of them.
pub(crate) fn overview(shell: &Shell, is_all: bool) -> Result<Exit> {
    let folders = agent_folders(&shell.environment);
    let all: Vec<Vec<FoundSession>> =
        shell.timed("looking", || folders.iter().map(AgentFolder::sessions).collect());
    let looked: Vec<Looked> =
        folders.iter().zip(&all).map(|(folder, found)| looked(folder, found.len())).collect();
    let environment = &shell.environment;
    let found = all.into_iter().flatten().collect();
    let known = shell.timed("reading titles", || {
        KnownSessions::from_found(environment, found, environment.working.as_deref())
    });
    let settings = Config::read(environment, environment.working.as_deref())?.text();
    let settings = AgentSettings::read(environment).fingerprint(&settings);
    let mut list = List { shell, known, settings };
    let problems: Vec<UserError> = looked.iter().filter_map(|place| place.error.clone()).collect();
    let exit = if problems.is_empty() { Exit::Done } else { Exit::Failed };
    let shown = list.select(is_all);
    if shell.is_json {
        let sessions = shown.iter().map(|session| list.listed(session)).collect();
        let (n_found, n_here) = (list.known.all.len(), list.known.here().count());
        shell.print_json(&Overview { sessions, n_found, n_here, places: looked })?;
    } else if shown.is_empty() {
        shell.print(|page| nothing(page, environment, &looked))?;
    } else {
        list.print(&shown)?;
    }
    list.known.close();
    if !shell.is_json {
        for problem in &problems {
            shell.fail(problem);
        }
    }
    Ok(exit)
}

fn looked(place: &AgentFolder, n_found: usize) -> Looked {
    Looked { agent: place.agent, folder: place.folder.display().to_string(), n_found, error: place.problem() }
}

impl List<'_> {
    /// Returns the sessions to show: the newest of this folder, then the newest elsewhere.
    fn select(&self, is_all: bool) -> Vec<KnownSession> {
        if is_all {
            return self.known.all.clone();
        }
        let n_here = self.known.here().take(SHOWN_HERE).count();
        let here = self.known.all.iter().take(n_here);
        let elsewhere = self.known.all.iter().filter(|session| !session.is_here);
        here.chain(elsewhere.take(SHOWN.saturating_sub(n_here).max(3.min(n_here)))).cloned().collect()
    }

    /// Returns the figures of a session, which is read if it has changed.
    fn meter(&mut self, session: &KnownSession) -> Result<CachedMeter, UserError> {
        if let Some(meter) = self.known.cache.meter(&session.found, self.settings) {
            return Ok(meter);
        }
        let opened = Session::open(self.shell, &session.found.path, Policy::default(), Strategy::default())?;
        let trigger = opened.agent_trigger.as_ref().map_or(opened.limit, |trigger| trigger.tokens);
        let meter = CachedMeter {
            settings: self.settings,
            format: opened.opened.format.to_owned(),
            messages: opened.opened.messages.len(),
            tokens: opened.measure.context_tokens,
            window: opened.window,
            limit: opened.limit,
            trigger,
            anchored: opened.measure.anchored,
        };
        self.known.cache.set_meter(&session.found, meter.clone());
        Ok(meter)
    }

    fn listed(&mut self, session: &KnownSession) -> ListedSession {
        let weighed = self.meter(session);
        let KnownSession { found, head, id, is_here } = session;
        let meter = weighed.as_ref().ok();
        ListedSession {
            agent: found.agent,
            id: id.clone(),
            file: found.path.display().to_string(),
            here: *is_here,
            title: head.title.clone(),
            prompt: head.prompt.clone(),
            modified: iso_ms(unix_ms(found.modified)),
            folder: head.folder.as_ref().map(|folder| folder.display().to_string()),
            format: meter.map(|meter| meter.format.clone()),
            messages: meter.map(|meter| meter.messages),
            tokens: meter.map(|meter| meter.tokens),
            window: meter.map(|meter| meter.window),
            limit: meter.map(|meter| meter.limit),
            trigger: meter.map(|meter| meter.trigger),
            over_budget: meter.map(|meter| meter.tokens > meter.limit),
            anchored: meter.map(|meter| meter.anchored),
            error: weighed.err(),
        }
    }

    fn print(&mut self, shown: &[KnownSession]) -> Result<()> {
        let shell = self.shell;
        let progress = shell.progress_of_files(shown.len());
        let mut meters = Vec::with_capacity(shown.len());
        for session in shown {
            progress.set_name(&session.name());
            meters.push(self.meter(session));
            progress.step();
        }
        drop(progress);
        shell.print(|page| self.render(page, shown, &meters))
    }

    fn render(
        &self,
        page: &mut Page<'_>,
        shown: &[KnownSession],
        meters: &[Result<CachedMeter, UserError>],
    ) -> io::Result<()> {
        let layout = Layout::new(page.columns, shown);
        let (n_found, n_here) = (self.known.all.len(), self.known.here().count());
        let mut part = None;
        for (session, meter) in shown.iter().zip(meters) {
            if part != Some(session.is_here) {
                let n = if session.is_here { n_here } else { n_found - n_here };
                heading(page, session.is_here, n, part.is_none())?;
                part = Some(session.is_here);
            }
            layout.row(page, session, meter)?;
            if self.shell.is_verbose() {
                let path = self.shell.environment.tilde(&session.found.path);
                writeln!(page, "    {DIM}{}{DIM:#}", escaped(&path))?;
            }
        }
        next(page, &shown[0], n_found - shown.len())
    }
}

/// Writes the heading of a part of the list.
fn heading(page: &mut Page<'_>, is_here: bool, n: usize, is_first: bool) -> io::Result<()> {
    if !is_first {
        writeln!(page)?;
    }
    let place = match (is_here, is_first) {
        (true, _) => "in this folder",
        (false, true) => "on this machine, none in this folder",
        (false, false) => "elsewhere, the newest first",
    };
    page.heading(&count(n, "session", "sessions"), place)
}

/// The widths of the columns.
struct Layout {
    now: SystemTime,
    id: usize,
    agent: usize,
    age: usize,
    n_cells: usize,
    has_tokens: bool,
    columns: usize,
}

impl Layout {
    fn new(columns: usize, shown: &[KnownSession]) -> Self {
        let has_tokens = columns >= COLUMNS_WITH_TOKENS;
        let now = SystemTime::now();
        let longest = |n: &dyn Fn(&KnownSession) -> usize| shown.iter().map(n).max().unwrap_or(0);
        let (agent, id) = if has_tokens {
            (AGENT_COLUMNS, MOST_ID_COLUMNS)
        } else {
            (NARROW_AGENT_COLUMNS, NARROW_ID_COLUMNS)
        };
        Self {
            now,
            id: longest(&|session| width(&session.id)).min(id),
            agent: longest(&|session| session.found.agent.len()).min(agent),
            age: longest(&|session| session.age(now).len()),
            n_cells: if has_tokens { 12 } else { 8 },
            has_tokens,
            columns,
        }
    }

    fn row(
        &self,
        page: &mut Page<'_>,
        session: &KnownSession,
        meter: &Result<CachedMeter, UserError>,
    ) -> io::Result<()> {
        let KnownSession { found, head: about, id, is_here } = session;
        let (id, agent, age) =
            (head(&escaped(id), self.id), head(found.agent, self.agent), session.age(self.now));
        let lead = format!("  {DIM}{id:<0$}{DIM:#}  {agent:<1$}  {age:>2$}  ", self.id, self.agent, self.age);
        let figures = match meter {
            Ok(meter) => self.figures(meter),
            Err(error) => format!("  {DIM}{}{DIM:#}", head(&escaped(&why(error)), 24)),
        };
        let room = self.columns.saturating_sub(width(&lead) + width(&figures));
        let folder = about.folder.as_deref().and_then(Path::file_name).filter(|_| !is_here);
        let folder = folder.map(|name| format!("{}: ", name.to_string_lossy())).unwrap_or_default();
        let name = match about.name() {
            Some(name) => folder + name,
            None => folder + "(no prompt)",
        };
        let name = head(&escaped(&name), room);
        let blanks = " ".repeat(room.saturating_sub(width(&name)));
        writeln!(page, "{}", format!("{lead}{name}{blanks}{figures}").trim_end())
    }

    fn figures(&self, meter: &CachedMeter) -> String {
        let bar = bar_of(meter.window, meter.trigger, meter.tokens, self.n_cells);
        let percent = meter.tokens as f64 * 100.0 / meter.window.max(1) as f64;
        let is_over = meter.tokens > meter.trigger;
        let (style, mark) = if is_over { (BAD, '!') } else { (anstyle::Style::new(), ' ') };
        let tokens = if self.has_tokens { format!("{:>10}", grouped(meter.tokens)) } else { String::new() };
        format!("  {bar}{style}{tokens} {percent:>3.0} %{mark}{style:#}")
    }
}

/// Returns why a session has no meter, in a few words.
fn why(error: &UserError) -> String {
    if error.is_foreign { "not read yet".to_owned() } else { error.message.clone() }
}

/// Explains the marks and suggests the next commands.
fn next(page: &mut Page<'_>, first: &KnownSession, n_more: usize) -> io::Result<()> {
    writeln!(page)?;
    let legend = "% of the window; ┊ is where the agent compacts by itself, ! is above";
    page.prose("  ", 2, &format!("{DIM}{legend}{DIM:#}"))?;
    let id = escaped(&shell_word(&first.id)).into_owned();
    for (what, command) in [("what fills it", "weigh"), ("compact it", "compact")] {
        page.prose("", 0, &format!("{DIM}{what}:{DIM:#} wb {command} {id}"))?;
    }
    let more = if n_more > 0 { format!("{} more: wb --all", grouped(n_more as u64)) } else { String::new() };
    let more = if more.is_empty() { more } else { format!("{DIM}{more}{DIM:#}  ") };
    page.prose("", 0, &format!("{more}{DIM}with paths:{DIM:#} wb -v  {DIM}all commands:{DIM:#} wb --help"))
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
