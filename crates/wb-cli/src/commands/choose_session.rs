//! Replaces the words that name sessions by their files, before a command runs.

use std::path::PathBuf;

use crate::args::pin::session_and_numbers;
use crate::args::session::SessionCommand;
use crate::args::{Command, NEWEST};
use crate::session::find::find_session::choose;
use crate::session::find::session_words::shorten;
use crate::terminal::escape::escaped;
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::user_error::UserError;

/// The largest number that is one of an operation, not the start of an id.
const MOST_OPERATIONS: u64 = 99_999;

/// Finds the sessions of a command line; one that is about to be changed is printed.
pub(crate) fn choose_sessions(shell: &Shell, command: &mut Command) -> Result<(), UserError> {
    match command {
        Command::Weigh(args) => {
            if args.files.is_empty() {
                args.files.push(NEWEST.into());
                return replace(shell, &mut args.files[0], false);
            }
            // A folder is all session files below it.
            let mut sessions = args.files.iter_mut().filter(|file| !file.is_dir());
            sessions.try_for_each(|file| replace(shell, file, false))
        }
        Command::Plan(args) => replace(shell, &mut args.file, false),
        Command::Compact(args) => {
            replace(shell, &mut args.compaction.file, args.write.in_place || args.write.out.is_some())
        }
        Command::Show(args) => {
            take_operation(&mut args.file, &mut args.operation);
            replace(shell, &mut args.file, false)
        }
        Command::Undo(args) | Command::Redo(args) => {
            take_operation(&mut args.file, &mut args.operation);
            replace(shell, &mut args.file, true)
        }
        Command::Pin(args) => {
            (args.file, args.numbers) = numbered(&args.words)?;
            let is_changed = args.text.is_some() || !args.numbers.is_empty();
            replace(shell, &mut args.file, is_changed)
        }
        Command::Unpin(args) => {
            (args.file, args.numbers) = numbered(&args.words)?;
            replace(shell, &mut args.file, true)
        }
        Command::Drop(args) => {
            (args.file, args.numbers) = numbered(&args.words)?;
            let is_changed = args.undo || !args.numbers.is_empty();
            replace(shell, &mut args.file, is_changed)
        }
        Command::Log(args) => args.file.as_mut().map_or(Ok(()), |file| replace(shell, file, false)),
        Command::Compare(args) => replace(shell, &mut args.file, false),
        Command::Audit(args) => replace(shell, &mut args.file, false),
        Command::Validate(args) => replace(shell, &mut args.file, false),
        Command::Repair(args) => {
            replace(shell, &mut args.file, args.write.in_place || args.write.out.is_some())
        }
        Command::Convert(args) => replace(shell, &mut args.file, args.out.is_some()),
        Command::Doctor(args) => {
            let mut sessions = args.files.iter_mut().filter(|file| !file.is_dir());
            sessions.try_for_each(|file| replace(shell, file, false))
        }
        Command::Session(command) => {
            let (file, is_changed) = match command {
                SessionCommand::Tree(args) => (&mut args.file, false),
                SessionCommand::Show(args) | SessionCommand::Context(args) => (&mut args.file, false),
                SessionCommand::Branch(args) => (&mut args.change.file, !args.change.dry_run),
            };
            replace(shell, file, is_changed)
        }
        _ => Ok(()),
    }
}

fn numbered(words: &[String]) -> Result<(PathBuf, Vec<u64>), UserError> {
    session_and_numbers(words).map_err(|word| {
        let hint = "name the session first, then numbers; put a title in quotes";
        UserError::new(format!("`{word}` is not a number"), hint)
    })
}

/// Takes `wb undo 3` as the third operation on the newest session.
fn take_operation(file: &mut PathBuf, operation: &mut Option<u64>) {
    let number = file.to_str().and_then(|word| word.parse().ok());
    if let Some(number) = number.filter(|number| *number <= MOST_OPERATIONS && !file.exists())
        && operation.is_none()
    {
        (*file, *operation) = (NEWEST.into(), Some(number));
    }
}

fn replace(shell: &Shell, file: &mut PathBuf, is_changed: bool) -> Result<(), UserError> {
    let chosen = choose(&shell.environment, file)?;
    shorten(&shell.environment, &chosen);
    if let Some(known) = chosen.known.filter(|_| is_changed && !shell.is_json) {
        let line = escaped(&known.line(std::time::SystemTime::now())).into_owned();
        let path = shell.environment.tilde(&chosen.path);
        shell.say(|page| {
            page.cut(&format!("{DIM}session:{DIM:#} "), &line, "")?;
            page.prose("  ", 2, &format!("{DIM}{}{DIM:#}", escaped(&path)))
        });
    }
    *file = chosen.path;
    Ok(())
}
