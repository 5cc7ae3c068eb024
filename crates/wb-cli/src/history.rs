//! `wb undo`, `wb redo` and `wb log`: what was done to a session.

use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use anyhow::Result;
use serde::Serialize;
use wb_record::{Access, Document, History, HistoryError, Operation, Undone, What};
use wb_session::iso_ms;

use crate::args::{Log, Undo};
use crate::clock::stamp;
use crate::escape::{escaped, shell_word};
use crate::in_use::refuse_in_use;
use crate::number::grouped;
use crate::session::document;
use crate::shell::Shell;
use crate::style::{DIM, HEAD};
use crate::user_error::UserError;

/// Why a session was not changed.
pub(crate) fn not_changed(file: &str, error: &HistoryError) -> UserError {
    UserError::of_file(file, error.to_string(), error.hint())
}

/// The answer of `wb undo --json` and `wb redo --json`.
#[derive(Debug, Serialize)]
struct Changed {
    file: String,
    operation: u64,
    undone: bool,
    /// Whether the bytes are those of before; else the old messages were written after what came since.
    exact: bool,
    written: bool,
}

/// One operation of `wb log --json`.
#[derive(Debug, Serialize)]
struct Row {
    operation: u64,
    what: &'static str,
    of: Option<u64>,
    at: String,
    undone: bool,
    tokens_before: u64,
    tokens_after: u64,
    conversation: String,
}

#[derive(Debug, Serialize)]
struct Rows {
    file: String,
    operations: Vec<Row>,
}

/// Takes an operation back.
pub(crate) fn undo(shell: &Shell, args: &Undo) -> Result<()> {
    change(shell, args, true)
}

/// Does an operation again.
pub(crate) fn redo(shell: &Shell, args: &Undo) -> Result<()> {
    change(shell, args, false)
}

fn change(shell: &Shell, args: &Undo, undone: bool) -> Result<()> {
    let file = args.file.display().to_string();
    let failed = |error| not_changed(&file, &error);
    let access = if args.dry_run { Access::Read } else { Access::Write };
    let mut document = document(&args.file, access)?;
    let mut history = History::beside(&args.file).map_err(failed)?;
    if !args.dry_run && !args.even_if_open {
        refuse_while_in_use(&args.file, document.as_ref(), &history)?;
    }
    let operation = history.find(args.operation, !undone).map_err(failed)?;
    let stamp = stamp();
    let exact = match (args.dry_run, undone) {
        (true, _) => history.is_exact(document.as_ref(), operation).map_err(failed)?,
        (_, true) => {
            let (_, how) = history.undo(document.as_mut(), Some(operation), &stamp).map_err(failed)?;
            how == Undone::Exactly
        }
        _ => history.redo(document.as_mut(), Some(operation), &stamp).map(|_| true).map_err(failed)?,
    };
    tell(shell, &Changed { file, operation, undone, exact, written: !args.dry_run })
}

/// Refuses a session that another program is at work on; what this one wrote last does not count.
pub(crate) fn refuse_while_in_use(
    path: &Path,
    document: &dyn Document,
    history: &History,
) -> Result<(), UserError> {
    refuse_in_use(path, SystemTime::now(), || history.is_last_write(document).unwrap_or(false))
}

fn tell(shell: &Shell, changed: &Changed) -> Result<()> {
    if shell.is_json {
        return shell.print_json(changed);
    }
    let what = match (changed.undone, changed.written) {
        (true, true) => "is undone",
        (true, false) => "would be undone; this is a dry run",
        (false, true) => "is done again",
        (false, false) => "would be done again; this is a dry run",
    };
    let how = if changed.exact {
        "the bytes are those of before"
    } else {
        "the agent went on since, so the old messages come after what is there"
    };
    let other = if changed.undone { "redo" } else { "undo" };
    shell.print(|page| {
        writeln!(page, "operation {} {what}: {how}", changed.operation)?;
        if !changed.written {
            return Ok(());
        }
        writeln!(page, "{DIM}the way back:{DIM:#} wb {other} {}", escaped(&shell_word(&changed.file)))
    })
}

/// Shows the operations of a session.
pub(crate) fn log(shell: &Shell, args: &Log) -> Result<()> {
    let file = args.file.display().to_string();
    // A session that is not there is told as such, and not as one without operations.
    drop(document(&args.file, Access::Read)?);
    let history = History::beside(&args.file).map_err(|error| not_changed(&file, &error))?;
    let operations: Vec<Row> = history.operations().map(|it| row(it, &history)).collect();
    if shell.is_json {
        return shell.print_json(&Rows { file, operations });
    }
    shell.print(|page| {
        if operations.is_empty() {
            return writeln!(page, "nothing was done to {} by wb", escaped(&file));
        }
        writeln!(
            page,
            "{HEAD}{:>3}  {:<24}  {:<8}  {:>10}  {:>10}{HEAD:#}",
            "#", "when", "what", "before", "after"
        )?;
        for row in &operations {
            let what = row.of.map_or_else(|| row.what.to_owned(), |of| format!("{} {of}", row.what));
            let state = if row.undone { "  undone" } else { "" };
            let (before, after) = (grouped(row.tokens_before), grouped(row.tokens_after));
            writeln!(
                page,
                "{:>3}  {:<24}  {what:<8}  {before:>10}  {after:>10}{state}",
                row.operation, row.at
            )?;
        }
        Ok(())
    })
}

fn row(operation: &Operation, history: &History) -> Row {
    let (what, of) = match operation.what {
        What::Undo { of } => ("undo", Some(of)),
        What::Redo { of } => ("redo", Some(of)),
        What::Compact => ("compact", None),
    };
    Row {
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
