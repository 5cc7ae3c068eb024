//! The report of a compaction.

use std::io::{self, Write};
use std::path::Path;

use wb_budget::{TokenCounter as _, TokenHeuristic};
use wb_conductor::{DIGEST, DROP, DigestSource, RESTORE, StepReport};
use wb_digest::{Section, Sections, labels};
use wb_message::text::one_line;
use wb_passes::{ImagePolicy, pass_entry};
use wb_summarize::NoDigest;

use super::meter;
use super::outline;
use crate::args::Policy;
use crate::session::Session;
use crate::session::outcome::Outcome;
use crate::terminal::escape::{escaped, file_word};
use crate::terminal::number::{count, grouped, grouped_in, messages};
use crate::terminal::style::{DIM, HEAD, WARN};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::{Page, width};
use wb_bind::Strategy;

/// Writes what happened in words, then the meters before and after.
pub(crate) fn summary(
    page: &mut Page<'_>,
    session: &Session,
    outcome: &Outcome,
    is_full: bool,
) -> io::Result<()> {
    let report = &outcome.report;
    meter::heading(page, session, report.messages_before)?;
    if !is_full && is_within_budget(session, outcome) {
        return within_budget(page, session);
    }
    writeln!(page)?;
    happened(page, session, outcome, is_full)?;
    if report.is_changed() {
        highlights(page, outcome)?;
    }
    writeln!(page)?;
    let weights = [("  before ", outcome.tokens_before), ("  after  ", outcome.tokens_after)];
    meter::bars(page, session, &weights)?;
    let after = report.is_changed().then_some(outcome.tokens_after);
    if is_full {
        meter::facts(page, session, after)?;
    } else {
        meter::short_facts(page, session, after)?;
    }
    if session.target.is_some() && report.is_changed() {
        let (before, after) = (grouped(report.tokens_before), grouped(report.tokens_after));
        writeln!(page, "  {DIM}messages alone: {before} → {after} tokens{DIM:#}")?;
    }
    Ok(())
}

/// Returns whether nothing is done because nothing is due.
fn is_within_budget(session: &Session, outcome: &Outcome) -> bool {
    let is_asked = session.policy.force || session.target.is_some() || outcome.model.is_some();
    outcome.report.unchanged.is_some() && !session.is_over() && !is_asked
}

fn within_budget(page: &mut Page<'_>, session: &Session) -> io::Result<()> {
    let tokens = session.measure.context_tokens;
    meter::bars(page, session, &[("  ", tokens)])?;
    meter::left_out(page, session)?;
    let left = grouped(session.limit - tokens);
    let limit = grouped(session.limit);
    page.prose(
        "  ",
        4,
        &format!("within budget: {left} left below the limit of {limit}; --force compacts it"),
    )
}

/// Writes a line per step, and what went otherwise.
fn happened(page: &mut Page<'_>, session: &Session, outcome: &Outcome, is_full: bool) -> io::Result<()> {
    let report = &outcome.report;
    steps(page, outcome)?;
    for (step, why) in session.left_out().iter().filter(|_| is_full && report.is_changed()) {
        page.prose("  ", 4, &format!("{DIM}skipped {step}: {why}{DIM:#}"))?;
    }
    if !session.drops.is_empty() && outcome.n_dropped() == 0 && report.is_changed() {
        let why = if outcome.has_dropped() {
            "the dropped messages stay: they go with a digest that covers them, the last prompt never"
        } else {
            "none of the dropped messages is in the context"
        };
        page.prose("  ", 4, &format!("{DIM}drop: {why}{DIM:#}"))?;
    }
    if !session.pins.is_empty() && outcome.report.digest.is_some() {
        let tokens = pin_tokens(session);
        let n = count(session.pins.len(), "text", "texts");
        page.prose(
            "  pins         ",
            15,
            &format!("{n} verbatim in the digest, {} tokens", grouped(tokens)),
        )?;
    }
    if is_tail_forced(session) && report.is_changed() {
        let note = "note: with --force what follows the last prompt stays; --keep-recent-tokens counts only if that \
                    does not fit";
        page.prose("  ", 4, &format!("{DIM}{note}{DIM:#}"))?;
    }
    if let Some(bodies) = bodies(outcome) {
        writeln!(page, "  {DIM}kept messages: {bodies}{DIM:#}")?;
    }
    if let Some(spent) = &outcome.model {
        page.prose("  ", 4, &format!("{DIM}model: {}{DIM:#}", escaped(&spent.to_string())))?;
    }
    if let Some(why) = report.fallback_reason() {
        let what = format!("{why}; `wb` built the digest");
        page.prose("  ", 4, &format!("{WARN}{}{WARN:#}", escaped(&what)))?;
    }
    if let Some(unchanged) = &report.unchanged {
        page.prose("  ", 4, &format!("unchanged: {}", escaped(&grouped_in(&unchanged.to_string()))))?;
    }
    for warning in warnings(session, outcome) {
        page.prose("  ", 4, &format!("{WARN}{}{WARN:#}", escaped(&grouped_in(&warning))))?;
    }
    Ok(())
}

/// Returns how a result falls short of what was asked for.
pub(crate) fn warnings(session: &Session, outcome: &Outcome) -> Vec<String> {
    let report = &outcome.report;
    let irreducible = || report.irreducible.map(|it| it.to_string());
    let missed = outcome.missed_target.clone().or_else(irreducible);
    [missed, report.refused.clone(), pins_over(session, outcome)].into_iter().flatten().collect()
}

/// Returns whether the size of the recent tail was set, and the last prompt decides instead.
fn is_tail_forced(session: &Session) -> bool {
    let policy = &session.policy;
    let is_set = policy.keep_recent_tokens != Policy::default().keep_recent_tokens;
    policy.force && is_set && session.target.is_none() && session.strategy.digests()
}

/// Explains a result that only its pins lift above the limit.
fn pins_over(session: &Session, outcome: &Outcome) -> Option<String> {
    let over = outcome.tokens_after.checked_sub(session.limit).filter(|over| *over > 0)?;
    let is_due_to_pins = outcome.report.digest.is_some() && over <= pin_tokens(session);
    let file = file_word(Path::new(&session.file));
    is_due_to_pins.then(|| {
        format!("the result is {over} tokens above the limit because of pins; `wb pin {file}` lists them")
    })
}

fn pin_tokens(session: &Session) -> u64 {
    session.pins.iter().map(|pin| TokenHeuristic::DEFAULT.text(&pin.line())).sum()
}

/// Writes the first line of what a digest keeps of the user's words and tasks.
fn highlights(page: &mut Page<'_>, outcome: &Outcome) -> io::Result<()> {
    const SHOWN: [(Section, &str); 3] =
        [(Section::Objective, "request"), (Section::Guardrails, "rules"), (Section::Plan, "tasks")];
    let Some(digest) = outcome.digest() else { return Ok(()) };
    let sections = Sections::parse(digest);
    for (section, name) in SHOWN {
        let said = |entry: &&String| !entry.starts_with(labels::USER_MESSAGES_APPLY);
        let mut entries = sections.entries(section).iter().filter(said);
        let Some(first) = entries.next() else { continue };
        let more = match entries.count() {
            0 => String::new(),
            n => format!("{DIM}, and {n} more{DIM:#}"),
        };
        let text = first.trim_start_matches(labels::FIRST).trim_start_matches(['-', ' ']);
        let text = one_line(text, 400);
        page.cut(&format!("  {DIM}{name:<12}{DIM:#} "), &escaped(&text), &more)?;
    }
    Ok(())
}

fn steps(page: &mut Page<'_>, outcome: &Outcome) -> io::Result<()> {
    let steps = &outcome.report.steps;
    let names = steps.iter().map(|step| width(&escaped(&step.name))).max().unwrap_or(0).max(12);
    for step in steps {
        let lead = format!("  {:<names$} ", escaped(&step.name));
        page.prose(&lead, names + 3, &described(step, outcome))?;
    }
    Ok(())
}

/// Describes a step, with its figures from the report.
fn described(step: &StepReport, outcome: &Outcome) -> String {
    let report = &outcome.report;
    match step.name.as_str() {
        DIGEST => {
            let by = match &report.digest {
                Some(DigestSource::Local(NoDigest::NoModel)) => "built locally (no model)",
                Some(DigestSource::Local(NoDigest::NoRoom)) => "built locally (too small for a model)",
                Some(DigestSource::Local(_)) => "built locally",
                Some(DigestSource::Model { cut_off: true }) => "by the model, cut off at its limit",
                _ => "by the model",
            };
            let digest = grouped(outcome.digest_tokens);
            let folded = messages(report.folded);
            let redacted = match report.redacted {
                0 => String::new(),
                n => format!("; redacts {}", count(n, "secret", "secrets")),
            };
            format!("folds {folded} into a digest of {digest} tokens, {by}{redacted}")
        }
        DROP if report.messages_before > step.messages_after => {
            format!("folds {} that you dropped", messages(outcome.n_dropped()))
        }
        DROP => format!("clears {} that you dropped", count(outcome.n_dropped(), "result", "results")),
        RESTORE => match report.restored.len() {
            1 => "restores the most recently read file".to_owned(),
            n => format!("restores the {n} most recently read files"),
        },
        pass => pass_entry(pass).map_or("does its part", |entry| entry.does).to_owned(),
    }
}

/// Returns how many kept messages were cleared or shortened, if any.
fn bodies(outcome: &Outcome) -> Option<String> {
    let (cleared, shortened) = (outcome.report.cleared.len(), outcome.report.previewed.len());
    let counts = [(cleared, "cleared"), (shortened, "shortened")];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", grouped(n as u64)))
        .collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Writes the outline and the digest, as far as they are wanted.
pub(crate) fn details(page: &mut Page<'_>, outcome: &Outcome, wanted: &Details) -> io::Result<()> {
    if let Some(numbers) = &wanted.outline {
        writeln!(page, "{HEAD}Outline{HEAD:#}")?;
        outline::legend(page, outcome.digest().is_some())?;
        outline::write(page, &outcome.outline, numbers)?;
        writeln!(page)?;
    }
    if let Some(digest) = outcome.digest().filter(|_| wanted.digest) {
        digest_text(page, digest)?;
        writeln!(page)?;
    }
    Ok(())
}

/// The parts of a report that are printed on request.
#[derive(Debug, Default)]
pub(crate) struct Details {
    /// The number in the whole session of each message, for an outline.
    pub(crate) outline: Option<Vec<Option<usize>>>,
    pub(crate) digest: bool,
}

/// The parts of the commands that go on from a preview.
#[derive(Debug, Default)]
pub(crate) struct NextStep<'a> {
    pub(crate) out: Option<&'a Path>,
    pub(crate) options: &'a str,
    /// The reason that nothing can be written.
    pub(crate) why_not: Option<UserError>,
}

/// Writes the report of what was not written, and the commands that go on.
pub(crate) fn preview(
    page: &mut Page<'_>,
    session: &Session,
    outcome: &Outcome,
    is_full: bool,
    next: &NextStep<'_>,
) -> io::Result<()> {
    summary(page, session, outcome, is_full)?;
    if !outcome.report.is_changed() {
        return if is_full || !is_within_budget(session, outcome) {
            hint_unchanged(page, session)
        } else {
            Ok(())
        };
    }
    let command = command(session, next.options);
    writeln!(page)?;
    if outcome.digest().is_some() {
        writeln!(page, "{DIM}read the digest:{DIM:#} {command} --digest")?;
    }
    writeln!(page, "{DIM}see each message:{DIM:#} {command} --outline")?;
    if let Some(UserError { message, hint, .. }) = &next.why_not {
        let hint = hint.as_deref().unwrap_or_default();
        let text = format!("{WARN}cannot be applied:{WARN:#} {}; {hint}", escaped(message));
        return page.prose("", 2, &text);
    }
    writeln!(page, "{DIM}to apply:{DIM:#} {command} {}", place(session, next.out))
}

/// Prints where the result was written, or how to undo a change in place and how to see it.
pub(crate) fn written(
    page: &mut Page<'_>,
    file: &str,
    out: Option<&Path>,
    operation: Option<u64>,
) -> io::Result<()> {
    let (lead, text) = match out {
        Some(out) if out == Path::new("-") => return Ok(()),
        Some(out) => ("written to:", out.display().to_string()),
        None => ("to undo:", format!("wb undo {}", file_word(Path::new(file)))),
    };
    writeln!(page, "\n{DIM}{lead}{DIM:#} {}", escaped(&text))?;
    if out.is_some() {
        return Ok(());
    }
    let word = file_word(Path::new(file));
    let file = escaped(&word);
    let shown = operation.map_or_else(String::new, |id| format!(" {id}"));
    writeln!(page, "{DIM}see the change:{DIM:#} wb show {file}{shown}")?;
    writeln!(page, "{DIM}all operations:{DIM:#} wb log {file}")
}

/// Returns where the command writes the result shown.
fn place(session: &Session, out: Option<&Path>) -> String {
    match out {
        Some(out) => format!("-o {}", escaped(&file_word(out))),
        None if session.file != "-" && session.why_not_native().is_none() => "--in-place".to_owned(),
        None => "-o compacted.jsonl".to_owned(),
    }
}

/// Returns the command that leads to the result shown.
fn command(session: &Session, more: &str) -> String {
    let file = file_word(Path::new(&session.file));
    let strategy = match session.strategy {
        Strategy::WindowBudget => String::new(),
        other => format!(" --strategy {}", other.name()),
    };
    let images = match session.images {
        ImagePolicy::Keep => String::new(),
        other => format!(" --images {}", other.name()),
    };
    let target = session.target.map_or_else(String::new, |target| format!(" --target {target}"));
    let options = session.policy.options();
    format!("wb compact {}{strategy}{images}{target}{options}{}", escaped(&file), escaped(more))
}

/// Writes the content of a digest under a heading.
pub(crate) fn digest_text(page: &mut Page<'_>, digest: &str) -> io::Result<()> {
    writeln!(page, "{HEAD}Digest{HEAD:#}")?;
    digest.lines().try_for_each(|line| digest_line(page, &escaped(line)))
}

/// Writes a line of a digest, wrapped below its first word.
fn digest_line(page: &mut Page<'_>, line: &str) -> io::Result<()> {
    let text = line.trim_end().trim_start_matches([' ', '-']);
    let lead = &line[..line.trim_end().len() - text.len()];
    if text.is_empty() && lead.is_empty() {
        return writeln!(page);
    }
    page.prose(&format!("  {lead}"), 2 + width(lead), text)
}

fn hint_unchanged(page: &mut Page<'_>, session: &Session) -> io::Result<()> {
    if session.is_over() || session.target.is_some() {
        return Ok(());
    }
    let hint = match (session.policy.force, session.strategy.digests()) {
        (false, _) => "--force compacts it anyway, --window tries a smaller window",
        (true, true) => return Ok(()),
        (true, false) => {
            "this strategy stops at its target, and the session is below it; --window tries a smaller window"
        }
    };
    page.prose("  ", 8, &format!("{DIM}hint: {hint}{DIM:#}"))
}
