//! The report of a compaction.

use std::io::{self, Write};
use std::path::Path;

use wb_conductor::{DIGEST, DigestSource, RESTORE, StepReport};
use wb_passes::{ImagePolicy, pass_entry};
use wb_summarize::NoDigest;

use super::meter;
use super::outline;
use crate::session::Session;
use crate::session::outcome::{Outcome, missed};
use crate::terminal::escape::{escaped, file_word};
use crate::terminal::number::{count, grouped, grouped_in, messages};
use crate::terminal::style::{DIM, HEAD, WARN};
use crate::terminal::wrap::{Page, width};
use wb_bind::Strategy;

/// Writes the meters before and after and a line per stage.
pub(crate) fn summary(page: &mut Page<'_>, session: &Session, outcome: &Outcome) -> io::Result<()> {
    let report = &outcome.report;
    meter::heading(page, session, report.messages_before)?;
    let weights = [("  before ", outcome.tokens_before), ("  after  ", outcome.tokens_after)];
    meter::bars(page, session, &weights)?;
    meter::facts(page, session)?;
    if session.target.is_some() && report.is_changed() {
        let (before, after) = (grouped(report.tokens_before), grouped(report.tokens_after));
        writeln!(page, "  {DIM}messages: {before} → {after} tokens, without system prompt and tools{DIM:#}")?;
    }
    writeln!(page)?;
    steps(page, outcome)?;
    for (step, why) in session.left_out().iter().filter(|_| report.is_changed()) {
        page.prose("  ", 4, &format!("{DIM}skipped {step}: {why}{DIM:#}"))?;
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
    let irreducible = || report.irreducible.map(|it| it.to_string());
    let missed = outcome.missed_target.map(missed).or_else(irreducible);
    for warning in [missed, report.refused.clone()].into_iter().flatten() {
        page.prose("  ", 4, &format!("{WARN}{}{WARN:#}", escaped(&grouped_in(&warning))))?;
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
                n => format!("; redacted {}", count(n, "secret", "secrets")),
            };
            format!("folded {folded} into a digest of {digest} tokens, {by}{redacted}")
        }
        RESTORE => match report.restored.len() {
            1 => "restored the most recently read file".to_owned(),
            n => format!("restored the {n} most recently read files"),
        },
        pass => pass_entry(pass).map_or("did its part", |entry| entry.does).to_owned(),
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

/// Writes the text output: report, outline, digest, and the command that saves it, with `out` and
/// further options.
pub(crate) fn whole(
    page: &mut Page<'_>,
    session: &Session,
    outcome: &Outcome,
    (out, options): (Option<&Path>, &str),
) -> io::Result<()> {
    summary(page, session, outcome)?;
    if !outcome.report.is_changed() {
        return hint_unchanged(page, session);
    }
    writeln!(page, "\n{HEAD}Outline{HEAD:#}")?;
    outline::legend(page, outcome.digest().is_some())?;
    outline::write(page, &outcome.outline, false)?;
    digest(page, outcome)?;
    writeln!(page, "\n{DIM}to apply:{DIM:#} {}", command(session, out, options))
}

/// Prints where the result was written, or how to undo a change in place.
pub(crate) fn written(page: &mut Page<'_>, file: &str, out: Option<&Path>) -> io::Result<()> {
    let (lead, text) = match out {
        Some(out) if out == Path::new("-") => return Ok(()),
        Some(out) => ("written to:", out.display().to_string()),
        None => ("to undo:", format!("wb undo {}", file_word(Path::new(file)))),
    };
    writeln!(page, "\n{DIM}{lead}{DIM:#} {}", escaped(&text))
}

/// Returns the command that writes the result shown.
fn command(session: &Session, out: Option<&Path>, more: &str) -> String {
    let file = file_word(Path::new(&session.file));
    let strategy = match session.strategy {
        Strategy::WindowBudget => String::new(),
        other => format!(" --strategy {}", other.name()),
    };
    let images = match session.images {
        ImagePolicy::Keep => String::new(),
        other => format!(" --images {}", other.name()),
    };
    let place = match out {
        Some(out) => format!("-o {}", escaped(&file_word(out))),
        None if session.file != "-" && session.why_not_native().is_none() => "--in-place".to_owned(),
        None => "-o compacted.jsonl".to_owned(),
    };
    let target = session.target.map_or_else(String::new, |target| format!(" --target {target}"));
    let options = session.policy.options();
    format!("wb compact {}{strategy}{images}{target}{options}{} {place}", escaped(&file), escaped(more))
}

/// Writes the digest, if there is one.
pub(crate) fn digest(page: &mut Page<'_>, outcome: &Outcome) -> io::Result<()> {
    outcome.digest().map_or(Ok(()), |digest| digest_text(page, digest))
}

/// Writes the content of a digest under a heading.
pub(crate) fn digest_text(page: &mut Page<'_>, digest: &str) -> io::Result<()> {
    writeln!(page, "\n{HEAD}Digest{HEAD:#}")?;
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
