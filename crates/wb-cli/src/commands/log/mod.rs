//! `wb log`: the operations on a session, and the fate of its records.

mod record_names;
mod operation_digest;
mod operation;
mod explain;

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use wb_record::{Access, Document, FormatError, History, Operation, OperationKind};
use wb_session::iso_ms;

use crate::args;
use crate::commands::compaction_log;
use crate::session::find::database::split;
use crate::session::history::{history_error, open_with_history};
use crate::terminal::escape::escaped;
use crate::terminal::file_error::not_read;
use crate::terminal::number::grouped;
use crate::terminal::shell::Shell;
use crate::terminal::style::HEAD;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// A session with its history.
struct SessionHistory {
    file: String,
    document: Box<dyn Document>,
    history: History,
}

impl SessionHistory {
    /// Opens a session and its history.
    fn open(file: &Path) -> Result<Self, UserError> {
        let (document, mut history) = open_with_history(file, Access::Read)?;
        let file = file.display().to_string();
        history.detect_finished(document.as_ref()).map_err(|error| history_error(&file, &error))?;
        Ok(Self { file, document, history })
    }

    /// Explains why the session, which was opened, cannot be read to its end.
    fn unreadable(&self, error: &FormatError) -> UserError {
        not_read(Path::new(&self.file), error)
    }
}

/// One operation of `wb log --json`.
#[derive(Debug, Serialize)]
pub(crate) struct OperationRow {
    pub(crate) operation: u64,
    what: &'static str,
    of: Option<u64>,
    pub(crate) at: String,
    pub(crate) undone: bool,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    conversation: String,
}

#[derive(Debug, Serialize)]
struct OperationsJson {
    file: String,
    operations: Vec<OperationRow>,
    /// An interrupted operation; nobody has checked yet whether the session contains it.
    unsettled: Option<u64>,
    /// Indicates that the last line of the list was cut off, so its content is unknown.
    cut_off: bool,
}

/// Returns the operations on a session.
#[cfg(feature = "view")]
pub(crate) fn operations(file: &Path) -> Result<Vec<OperationRow>, UserError> {
    let SessionHistory { history, .. } = SessionHistory::open(file)?;
    Ok(history.operations().map(|it| OperationRow::new(it, &history)).collect())
}

/// Shows the operations of a session, one of them, or what became of a record.
pub(crate) fn log(shell: &Shell, args: &args::Log) -> Result<()> {
    let Some(file) = &args.file else { return compaction_log::show(shell) };
    let log = SessionHistory::open(file)?;
    match (args.operation, &args.explain) {
        (Some(id), _) => operation::show(shell, &log, id),
        (None, Some(record)) => explain::explain(shell, &log, record),
        (None, None) => list(shell, log),
    }
}

/// Shows one operation of a session, the last compaction if none is named.
pub(crate) fn show(shell: &Shell, args: &args::Show) -> Result<()> {
    let log = SessionHistory::open(&args.file)?;
    let session = split(&args.file).1;
    let is_it = |it: &&Operation| {
        it.what == OperationKind::Compact && session.is_none_or(|name| it.conversation == name)
    };
    let last = || log.history.operations().rev().find(is_it).map(|it| it.id);
    match args.operation.or_else(last) {
        Some(id) => operation::show(shell, &log, id),
        None => operation::show_summary(shell, &log),
    }
}

fn list(shell: &Shell, SessionHistory { file, history, .. }: SessionHistory) -> Result<()> {
    let session = split(Path::new(&file)).1;
    let is_here = |it: &&Operation| session.is_none_or(|name| it.conversation == name);
    let operations: Vec<OperationRow> =
        history.operations().filter(is_here).map(|it| OperationRow::new(it, &history)).collect();
    let (unsettled, cut_off) = (history.unsettled(), history.is_truncated());
    if shell.is_json {
        return shell.print_json(&OperationsJson { file, operations, unsettled, cut_off });
    }
    shell.print(|page| {
        match operations.as_slice() {
            [] if unsettled.is_some() || cut_off => {}
            [] => writeln!(page, "no operations recorded for {}", escaped(&file))?,
            operations => table(page, operations)?,
        }
        if cut_off {
            let note = "the last line of the list is truncated; the next operation removes it";
            page.prose("", 2, note)?;
        }
        unsettled.map_or(Ok(()), |id| {
            let command = "`wb undo` or `wb compact --in-place`";
            let note =
                format!(
                    "operation {id} was interrupted or left to the agent; the next {command} determines its outcome"
                );
            page.prose("", 2, &note)
        })
    })
}

fn table(page: &mut Page<'_>, operations: &[OperationRow]) -> io::Result<()> {
    let (when, what, before, after) = ("when (UTC)", "what", "before", "after");
    writeln!(page, "{HEAD}{:>3}  {when:<16}  {what:<7}  {before:>9}  {after:>9}{HEAD:#}", "#")?;
    operations.iter().try_for_each(|row| {
        let state = if row.undone { "  undone" } else { "" };
        let (id, at, what) = (row.operation, row.minute(), row.what());
        let (before, after) = if row.is_weighed() { row.tokens() } else { Default::default() };
        let line = format!("{id:>3}  {at:<16}  {what:<7}  {before:>9}  {after:>9}{state}");
        writeln!(page, "{}", line.trim_end())
    })
}

impl OperationRow {
    fn new(operation: &Operation, history: &History) -> Self {
        let (what, of) = match operation.what {
            OperationKind::Undo { of } => ("undo", Some(of)),
            OperationKind::Redo { of } => ("redo", Some(of)),
            OperationKind::Compact => ("compact", None),
            OperationKind::Repair => ("repair", None),
        };
        Self {
            operation: operation.id,
            what,
            of,
            at: iso_ms(operation.at_ms),
            undone: of.is_none() && history.is_undone(operation.id),
            tokens_before: operation.tokens_before,
            tokens_after: operation.tokens_after,
            conversation: operation.conversation.clone(),
        }
    }

    /// Returns when it was, to the minute.
    fn minute(&self) -> String {
        self.at.chars().take("2026-01-02T03:04".len()).collect::<String>().replace('T', " ")
    }

    /// Returns whether its tokens were counted; a repair counts none.
    pub(crate) fn is_weighed(&self) -> bool {
        self.tokens_before > 0 || self.tokens_after > 0
    }

    /// Returns the tokens before and after, as text.
    pub(crate) fn tokens(&self) -> (String, String) {
        (grouped(self.tokens_before), grouped(self.tokens_after))
    }

    /// Returns the action, and the operation it refers to.
    pub(crate) fn what(&self) -> String {
        self.of.map_or_else(|| self.what.to_owned(), |of| format!("{} {of}", self.what))
    }
}
