//! `wb undo` and `wb redo`: undo an operation on a session, and redo it.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use wb_record::{Access, UndoMethod};

use crate::args::Undo;
use crate::platform::clock::stamp;
use crate::session::find::database::split;
use crate::session::history::{history_error, open_with_history};
use crate::session::in_use::refuse_in_use;
use crate::terminal::escape::{escaped, file_word};
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::user_error::UserError;

/// The answer of `wb undo --json` and `wb redo --json`.
#[derive(Debug, Serialize)]
pub(crate) struct UndoJson {
    file: String,
    pub(crate) operation: u64,
    undone: bool,
    /// Indicates that the file is restored byte for byte; otherwise others wrote to it since, which
    /// stays.
    exact: bool,
    written: bool,
}

/// Undoes an operation.
pub(crate) fn undo(shell: &Shell, args: &Undo) -> Result<()> {
    change(shell, args, true)
}

/// Does an operation again.
pub(crate) fn redo(shell: &Shell, args: &Undo) -> Result<()> {
    change(shell, args, false)
}

fn change(shell: &Shell, args: &Undo, undone: bool) -> Result<()> {
    let (changed, how) = carry_out(args, undone)?;
    report(shell, &changed, how)
}

/// Undoes an operation, or redoes it, without a report.
pub(crate) fn carry_out(args: &Undo, undone: bool) -> Result<(UndoJson, UndoMethod), UserError> {
    let file = args.file.display().to_string();
    let failed = |error| history_error(&file, &error);
    let access = if args.dry_run { Access::Read } else { Access::Write };
    let (mut document, mut history) = open_with_history(&args.file, access)?;
    history.detect_finished(document.as_ref()).map_err(failed)?;
    let session = split(&args.file).1;
    if history.unsettled().is_none() {
        // If there is nothing to do, skip the wait for an agent.
        history.find_in(session, args.operation, !undone).map_err(failed)?;
    }
    if !args.dry_run {
        if !args.allow_open {
            refuse_in_use(&args.file, document.as_ref(), &history, "")?;
        }
        history.settle(document.as_mut()).map_err(failed)?;
    }
    let operation = history.find_in(session, args.operation, !undone).map_err(failed)?;
    let stamp = stamp();
    let how = match (args.dry_run, undone) {
        (true, _) => history.undo_method(document.as_ref(), operation, &stamp),
        (_, true) => history.undo(document.as_mut(), Some(operation), &stamp).map(|(_, how)| how),
        _ => history.redo(document.as_mut(), Some(operation), &stamp).map(|(_, how)| how),
    };
    let how = how.map_err(failed)?;
    let exact = how == UndoMethod::Exactly;
    Ok((UndoJson { file, operation, undone, exact, written: !args.dry_run }, how))
}

fn report(shell: &Shell, changed: &UndoJson, how: UndoMethod) -> Result<()> {
    if shell.is_json {
        return shell.print_json(changed);
    }
    let what = match (changed.undone, changed.written) {
        (true, true) => "undone",
        (true, false) => "would be undone (dry run, nothing written)",
        (false, true) => "redone",
        (false, false) => "would be redone (dry run, nothing written)",
    };
    let how = match (how, changed.undone, changed.written) {
        (UndoMethod::Exactly, _, true) => "file restored byte for byte",
        (UndoMethod::Exactly, _, false) => "the file would be restored byte for byte",
        (UndoMethod::InPlace, true, true) => "restored in place; later messages kept",
        (UndoMethod::InPlace, false, true) => "redone in place; later messages kept",
        (UndoMethod::InPlace, _, false) => "the change would be in place; later messages stay",
        (UndoMethod::ByAppending, _, true) => {
            "the session has moved on, so the old messages were appended again, followed by the newer ones"
        }
        (UndoMethod::ByAppending, _, false) => {
            "the session has moved on, so the old messages would be appended again, followed by the newer ones"
        }
    };
    let other = if changed.undone { "redo" } else { "undo" };
    shell.print(|page| {
        writeln!(page, "operation {} {what}: {how}", changed.operation)?;
        if !changed.written {
            return Ok(());
        }
        writeln!(page, "{DIM}to {other}:{DIM:#} wb {other} {}", escaped(&file_word(Path::new(&changed.file))))
    })
}
