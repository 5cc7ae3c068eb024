//! `wb weigh`: how full the window of a session is, or of every session in a folder.

use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;

use crate::args::Weigh;
use crate::session::Session;
use crate::session::find::session_words::SessionWords;
use crate::session::input_files::{self, InputSource};
use crate::session::json::{Weighed, words_of};
use crate::session::message_count::MessageCount;
use crate::session::meter;
use crate::session::outcome::Outcome;
use crate::session::session_line;
use crate::terminal::escape::escaped;
use crate::terminal::exit_code::Exit;
use crate::terminal::file_error::folder_without_sessions;
use crate::terminal::number::{count, grouped, grouped_in, messages};
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;
use wb_bind::Strategy;

/// Files that are weighed one after another.
struct Weighing<'a> {
    shell: &'a Shell,
    args: &'a Weigh,
    names: SessionWords,
    /// The sessions of a list, which a folder is shown as, each with its name; none for single
    /// sessions.
    rows: Option<Vec<(String, Session)>>,
    n_weighed: usize,
    n_over: usize,
    /// Files of folders that are no sessions.
    n_skipped: usize,
    has_failed: bool,
}

/// Weighs every file; a bad one does not keep the others from being weighed.
pub(crate) fn weigh(shell: &Shell, args: &Weigh) -> Result<Exit> {
    let sources = input_files::all(&shell.environment, &args.files);
    let is_list = !shell.is_json && args.files.iter().any(|path| input_files::is_list(path));
    let rows = is_list.then(Vec::new);
    let names = if is_list { SessionWords::read(&shell.environment) } else { SessionWords::default() };
    let mut all =
        Weighing { shell, args, names, rows, n_weighed: 0, n_over: 0, n_skipped: 0, has_failed: false };
    all.name_empty_folders(&sources);
    let progress = shell.progress_of_files(sources.len());
    for source in &sources {
        progress.set_name(&source.name());
        let session = Session::open(shell, &source.path, args.policy, Strategy::default());
        progress.aside(|| all.show(source, session))?;
        progress.step();
    }
    drop(progress);
    all.end()
}

impl Weighing<'_> {
    fn name_empty_folders(&mut self, sources: &[InputSource]) {
        let is_empty = |folder: &Path| !sources.iter().any(|source| source.path.starts_with(folder));
        for folder in self.args.files.iter().filter(|path| path.is_dir() && is_empty(path)) {
            self.has_failed = true;
            self.shell.fail(&folder_without_sessions(folder));
        }
    }

    fn show(&mut self, source: &InputSource, session: Result<Session, UserError>) -> Result<()> {
        let mut session = match session {
            Ok(session) => session,
            Err(error) => {
                self.leave_out(source, &error);
                return Ok(());
            }
        };
        self.n_weighed += 1;
        self.n_over += usize::from(session.is_over());
        match &mut self.rows {
            Some(rows) => {
                // A list needs the figures alone.
                (session.opened.messages, session.opened.usage) = Default::default();
                rows.push((self.names.word(&source.path), session));
                Ok(())
            }
            None => whole(self.shell, &mut session, (self.n_weighed == 1, is_exact(self.args))),
        }
    }

    /// Reports why a file was not weighed: a named file is an error, one in a folder may be
    /// anything.
    fn leave_out(&mut self, source: &InputSource, error: &UserError) {
        let is_named = source.folder.is_none();
        self.has_failed |= is_named;
        self.n_skipped += usize::from(!is_named);
        if is_named || self.shell.is_json {
            return self.shell.fail(error);
        }
        if self.shell.is_verbose() {
            let text = escaped(&error.to_string()).into_owned();
            self.shell.say(|page| page.cut("skipped: ", &text, ""));
        }
    }

    fn end(mut self) -> Result<Exit> {
        if let Some(mut rows) = self.rows.take().filter(|_| self.n_weighed + self.n_skipped > 0) {
            rows.sort_by_key(|(_, session)| Reverse(session.measure.context_tokens));
            self.shell.print(|page| self.list(page, &rows))?;
        }
        Ok(match () {
            () if self.has_failed => Exit::Failed,
            () if self.args.check && self.n_over > 0 => Exit::Found,
            () => Exit::Done,
        })
    }

    /// Writes the list, the heaviest session first.
    fn list(&self, page: &mut Page<'_>, rows: &[(String, Session)]) -> io::Result<()> {
        if !rows.is_empty() {
            session_line::titles(page)?;
        }
        for (name, session) in rows {
            session_line::session(page, session, name)?;
            if self.shell.is_verbose() {
                meter::notes(page, &words_of(&session.opened.notes))?;
            }
        }
        self.sum(page)?;
        let Some((name, _)) = rows.first() else { return Ok(()) };
        page.prose("", 2, &format!("{DIM}what fills the heaviest:{DIM:#} wb weigh {}", escaped(name)))
    }

    fn sum(&self, page: &mut Page<'_>) -> io::Result<()> {
        let mut parts = vec![count(self.n_weighed, "session", "sessions")];
        let mark = if self.n_over > 0 { " (!)" } else { "" };
        parts.push(format!("{} over budget{mark}", grouped(self.n_over as u64)));
        if self.n_skipped > 0 {
            parts.push(format!("{} skipped", count(self.n_skipped, "file", "files")));
        }
        page.prose("  ", 2, &format!("{DIM}{}{DIM:#}", parts.join(", ")))
    }
}

/// Shows one session in full.
fn whole(shell: &Shell, session: &mut Session, (is_first, is_exact): (bool, bool)) -> Result<()> {
    let outcome = shell.timed("compacting", || preview(session));
    let count = MessageCount::new(session, is_exact);
    if shell.is_json {
        return shell.print_json(&Weighed::new(session, outcome.report.cut, count));
    }
    shell.print(|page| {
        if !is_first {
            writeln!(page)?;
        }
        meter::heading(page, session, session.opened.messages.len())?;
        meter::bars(page, session, &[("  ", session.measure.context_tokens)])?;
        meter::facts(page, session, None)?;
        if is_exact {
            let words = count.in_words(session.opened.model.as_deref());
            page.prose("  ", 4, &escaped(&words))?;
        }
        meter::breakdown(page, session)?;
        page.prose("  ", 4, &verdict(&outcome))
    })
}

#[cfg(feature = "exact")]
fn is_exact(args: &Weigh) -> bool {
    args.exact
}

#[cfg(not(feature = "exact"))]
fn is_exact(_: &Weigh) -> bool {
    false
}

/// Cuts in memory, then restores the session.
fn preview(session: &mut Session) -> Outcome {
    let mut outcome = Outcome::of_cut(session);
    outcome.restore(session);
    outcome
}

/// Returns in words what `wb compact` would do.
fn verdict(outcome: &Outcome) -> String {
    let report = &outcome.report;
    let (n_folded, n_cleared) = (report.folded, report.cleared.len());
    match &report.unchanged {
        Some(unchanged) => {
            format!("would not compact: {}", escaped(&grouped_in(&unchanged.to_string())))
        }
        None if report.cut == 0 => {
            format!("would clear {}", count(n_cleared, "stale tool result", "stale tool results"))
        }
        None => {
            let n_stay = report.messages_before - n_folded;
            let becomes = if n_folded == 1 { "becomes" } else { "become" };
            let stay = if n_stay == 1 { "stays" } else { "stay" };
            format!(
                "would compact: {} {becomes} a digest, {} {stay}",
                messages(n_folded),
                grouped(n_stay as u64)
            )
        }
    }
}
