//! `wb compact`: compacts a session and writes it in its own format.

use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use wb_formats::{Note, SentAs, View};
use wb_message::Message;
use wb_record::{Access, ChangeSet, Document, MemoryParts, OperationKind, Parts, Stamp, items};

use crate::args::Compact;
use crate::commands::recall::session_index;
use crate::platform::clock;
use crate::session::Session;
use crate::session::copy::{copy_with, refuse_database, write_part};
use crate::session::history::{history_error, history_to_write};
use crate::session::json::Compacted;
use crate::session::model::Model;
use crate::session::outcome::Outcome;
use crate::session::output_file::{check_target, write_out};
use crate::session::report::{self, Details, NextStep};
use crate::session::validity::{Validity, otherwise, refuse_new};
use crate::terminal::escape::file_word;
use crate::terminal::file_error::not_read;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;
use wb_bind::Strategy;

/// The answer of `wb compact --json`.
#[derive(Debug, Serialize)]
struct CompactJson<'a> {
    #[serde(flatten)]
    compacted: Compacted<'a>,
    /// The respects in which the result falls short of what was asked for.
    warnings: Vec<String>,
    /// The reason that nothing can be written; none if it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_applicable: Option<UserError>,
    /// None if no write was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<Written>,
}

/// The result of a write.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Written {
    /// The number by which it can be undone; none for another file.
    pub(crate) operation: Option<u64>,
    bytes: usize,
}

/// Compacts a session; without a place to write to, only reports.
pub(crate) fn compact(shell: &Shell, args: &Compact) -> Result<()> {
    let (session, outcome, written) = carry_out(shell, args)?;
    report(shell, args, &session, &outcome, written)
}

/// Compacts a session and writes it, without a report.
pub(crate) fn carry_out(shell: &Shell, args: &Compact) -> Result<(Session, Outcome, Option<Written>)> {
    let is_in_place = args.write.in_place && !args.write.dry_run;
    check_targets(args)?;
    let model = model(shell, args)?;
    let access = if is_in_place { Access::Write } else { Access::Read };
    let mut session = Session::open_to_compact(shell, &args.compaction, access)?;
    if is_in_place {
        refuse_truncated(&session, &args.compaction.file)?;
    }
    let why_not = session.why_not_native();
    if let Some(why) = why_not.filter(|_| args.write.in_place) {
        return Err(not_native(&session, why).into());
    }
    // What cannot be written is not paid for.
    if model.is_some() && is_in_place && !args.write.allow_open {
        history_to_write(&args.compaction.file, session.document.as_ref(), false)?;
    }
    if model.is_some() && args.write.out.is_some() && why_not.is_none() {
        refuse_database(&session.file, session.document.as_ref())?;
    }
    let mut outcome = match &model {
        None => shell.timed("compacting", || Outcome::new(&mut session, None)),
        Some(model) => {
            shell.timed("asking", || model.with_progress(shell, || Outcome::new(&mut session, Some(model))))
        }
    };
    let own = SentAs::from_view(&session.opened);
    let after = Validity::new(&outcome.messages, &own);
    let expected = after.clone().by_order(&session.opened, &outcome.messages, &own);
    let ours = why_not.map(|_| outcome.messages.clone());
    outcome.restore(&mut session);
    refuse_invalid(&session, &after)?;
    let stamp =
        Stamp { tokens_before: outcome.tokens_before, tokens_after: outcome.tokens_after, ..clock::stamp() };
    let is_rendered = ours.is_none() && (args.write.out.is_some() || args.write.in_place);
    let rendered = if is_rendered { changes(&session, &outcome, &stamp)? } else { ChangeSet::default() };
    let written = match &args.write.out {
        _ if args.write.dry_run => None,
        Some(out) => Some(
            shell.timed("writing", || write_elsewhere(&session, (&rendered, ours), &expected, out, args))?,
        ),
        None if is_in_place && !rendered.is_empty() => Some(
            shell.timed("writing", || write_in_place(&mut session, &rendered, &expected, &stamp, args))?,
        ),
        _ => None,
    };
    Ok((session, outcome, written))
}

/// Finds the model, if one is named and has something to write.
fn model(shell: &Shell, args: &Compact) -> Result<Option<Model>, UserError> {
    if args.model.model.is_some() && !args.compaction.strategy.digests() {
        let what = format!(
            "the strategy {} writes no digest, so there is nothing to ask",
            args.compaction.strategy.name()
        );
        return Err(UserError::new(what, "leave out --model, or take another --strategy"));
    }
    Model::new(shell, &args.model)
}

/// Refuses targets that cannot be written before anything is read.
fn check_targets(args: &Compact) -> Result<(), UserError> {
    if let Some(out) = args.write.out.as_deref().filter(|out| *out != Path::new("-")) {
        check_target(out, std::iter::once(args.compaction.file.as_path()), args.write.overwrite, "-o")?;
    }
    if args.write.in_place && args.compaction.file == Path::new("-") {
        let hint = "name the session's file, or write the result with -o";
        return Err(UserError::new("standard input cannot be written in place", hint));
    }
    Ok(())
}

/// Refuses to append to a truncated last line, which would become an unreadable line for good.
fn refuse_truncated(session: &Session, file: &Path) -> Result<(), UserError> {
    let notes = &session.opened.notes;
    let Some(line) = notes.iter().find_map(|note| match note {
        Note::TruncatedLastLine { line } => Some(*line),
        _ => None,
    }) else {
        return Ok(());
    };
    let hint = format!("remove it with `wb repair {} --in-place`", file_word(file));
    Err(UserError::of_file(&session.file, format!("line {line}, the last one, is truncated"), hint))
}

/// Explains why a compaction cannot be written into the session.
fn not_native(session: &Session, why: &str) -> UserError {
    let (format, strategy) = (session.opened.format, session.strategy.name());
    let what = format!("a session of {format} cannot hold what the strategy {strategy} makes of it: {why}");
    let is_of_strategy = Strategy::default().why_not_held(&session.document.abilities()).is_none();
    let other = if is_of_strategy { "leave out --strategy, or " } else { "" };
    UserError::of_file(
        &session.file,
        what,
        format!("{other}write the result in the format native with -o OUT"),
    )
}

/// Returns the changes that turn the session into the planned one.
fn changes(session: &Session, outcome: &Outcome, stamp: &Stamp) -> Result<ChangeSet, UserError> {
    let items = items(&outcome.patch, session.opened.messages.len());
    let rendered = session.document.render(&session.conversation, &session.opened, &items, stamp);
    rendered.map_err(|error| UserError::of_file(&session.file, error.to_string(), error.hint()))
}

/// Returns why a planned compaction cannot be written into its session, or elsewhere.
fn why_not_written(session: &Session, outcome: &Outcome, is_in_place: bool) -> Option<UserError> {
    if !outcome.report.is_changed() || session.why_not_native().is_some() {
        return None;
    }
    let rendered = changes(session, outcome, &clock::stamp()).err();
    let truncated = || refuse_truncated(session, Path::new(&session.file)).err().filter(|_| is_in_place);
    rendered.or_else(truncated)
}

/// Refuses violations that the session did not have before.
fn refuse_invalid(session: &Session, after: &Validity) -> Result<(), UserError> {
    let before = || Ok(Validity::new(&session.opened.messages, &SentAs::from_view(&session.opened)));
    refuse_new(after, &session.file, before, ", or try another --strategy")
}

/// Returns the validity of a written session.
fn read(now: &View, sent: &SentAs<'_>) -> Validity {
    Validity::new(&now.messages, sent).by_order(now, &now.messages, sent)
}

/// Refuses a copy that reads otherwise than planned.
fn check_copy(session: &Session, copy: &dyn Document, expected: &Validity) -> Result<(), UserError> {
    let now = copy.view(&session.conversation).map_err(|error| not_read(Path::new(&session.file), &error))?;
    if read(&now, &SentAs::from_view(&session.opened)) == *expected {
        Ok(())
    } else {
        Err(otherwise(&session.file, "nothing was written"))
    }
}

/// Writes the changed session to another file, or our messages if its format cannot be written.
fn write_elsewhere(
    session: &Session,
    (set, ours): (&ChangeSet, Option<Vec<Message>>),
    expected: &Validity,
    out: &Path,
    args: &Compact,
) -> Result<Written> {
    let Some(messages) = ours else {
        let copy = copy_with(&session.file, session.document.as_ref(), set)?;
        check_copy(session, copy.as_ref(), expected)?;
        return written(copy.parts(), out, args);
    };
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&messages, &mut bytes)?;
    written(&MemoryParts::from_bytes(bytes), out, args)
}

fn written(parts: &dyn Parts, out: &Path, args: &Compact) -> Result<Written> {
    let mut n_bytes = 0;
    write_out(out, &args.compaction.file, args.write.overwrite, |file| {
        write_part(parts, file).map(|n| n_bytes = n)
    })?;
    Ok(Written { operation: None, bytes: usize::try_from(n_bytes).unwrap_or(usize::MAX) })
}

/// Writes the changes into the session, and undoes them if the result differs from the plan.
fn write_in_place(
    session: &mut Session,
    set: &ChangeSet,
    expected: &Validity,
    stamp: &Stamp,
    args: &Compact,
) -> Result<Written> {
    let failed = |error| history_error(&session.file, &error);
    let mut history =
        history_to_write(&args.compaction.file, session.document.as_ref(), args.write.allow_open)?;
    let (document, own) = (session.document.as_mut(), SentAs::from_view(&session.opened));
    let done =
        history.change(OperationKind::Compact, document, &session.conversation, &session.opened, set, stamp);
    let (id, now) = done.map_err(failed)?;
    if read(&now, &own) != *expected {
        history.undo(document, Some(id), stamp).map_err(failed)?;
        return Err(otherwise(&session.file, "the session is as it was").into());
    }
    let n_bytes = set.changes.iter().map(|(_, change)| change.n_new()).sum();
    Ok(Written { operation: Some(id), bytes: n_bytes })
}

/// Returns the number in the whole session of each message of the context.
fn numbers(shell: &Shell, session: &Session) -> Result<Vec<Option<usize>>, UserError> {
    let (document, context) = (session.document.as_ref(), &session.opened.messages);
    let numbers = shell.timed("numbering", || session_index::numbers(document, context));
    numbers.map_err(|error| not_read(Path::new(&session.file), &error))
}

fn report(
    shell: &Shell,
    args: &Compact,
    session: &Session,
    outcome: &Outcome,
    written: Option<Written>,
) -> Result<()> {
    let out = args.write.out.as_deref();
    let why_not = || if written.is_some() { None } else { why_not_written(session, outcome, out.is_none()) };
    if shell.is_json && out != Some(Path::new("-")) {
        let (warnings, not_applicable) = (report::warnings(session, outcome), why_not());
        let compacted = Compacted::new(session, outcome);
        return shell.print_json(&CompactJson { compacted, warnings, not_applicable, written });
    }
    let more = shell.is_verbose();
    let has_outline = args.compaction.outline || more && written.is_none();
    let details = Details {
        outline: has_outline.then(|| numbers(shell, session)).transpose()?,
        // What was paid for is shown.
        digest: args.compaction.digest || more || written.is_none() && outcome.model.is_some(),
    };
    let is_long = has_outline || details.digest && outcome.digest().is_some();
    if written.is_none() {
        if is_long {
            shell.print_long(|page| report::details(page, outcome, &details))?;
        }
        let next = NextStep { out, options: &args.model.options(), why_not: why_not() };
        return shell.print(|page| report::preview(page, session, outcome, more, &next));
    }
    shell.say(|page| {
        if is_long {
            report::details(page, outcome, &details)?;
        }
        report::summary(page, session, outcome, more)?;
        report::written(page, &session.file, out, None)?;
        match session.why_not_native() {
            Some(why) if out.is_some_and(|out| out != Path::new("-")) => {
                page.prose("  ", 2, &format!("in the format native, not as {}: {why}", session.opened.format))
            }
            _ => Ok(()),
        }
    });
    Ok(())
}
