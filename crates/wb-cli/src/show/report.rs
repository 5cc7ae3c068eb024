//! The report of a compaction.

use std::io::{self, Write};

use wb_conductor::{DIGEST, DigestSource, RESTORE, StepReport};

use super::meter;
use super::outline;
use super::style::{DIM, HEAD, WARN};
use crate::escape::escaped;
use crate::number::grouped;
use crate::outcome::Outcome;
use crate::session::Session;
use crate::strategy::Strategy;

/// Writes the meters before and after and a line per stage.
pub(crate) fn summary(out: &mut dyn Write, session: &Session, outcome: &Outcome) -> io::Result<()> {
    meter::heading(out, session, outcome.report.messages_before)?;
    meter::bar(out, "  before ", session, outcome.tokens_before)?;
    meter::bar(out, "  after  ", session, outcome.tokens_after)?;
    meter::facts(out, session)?;
    writeln!(out)?;
    for step in &outcome.report.steps {
        writeln!(out, "  {:<13}{}", escaped(&step.name), described(step, outcome))?;
    }
    if let Some(bodies) = bodies(outcome) {
        writeln!(out, "  {DIM}bodies that stay: {bodies}{DIM:#}")?;
    }
    if let Some(unchanged) = &outcome.report.unchanged {
        writeln!(out, "  unchanged: {unchanged}")?;
    }
    if let Some(irreducible) = &outcome.report.irreducible {
        writeln!(out, "  {WARN}{irreducible}{WARN:#}")?;
    }
    if let Some(refused) = &outcome.report.refused {
        writeln!(out, "  {WARN}{refused}{WARN:#}")?;
    }
    Ok(())
}

/// Returns what a step did, with the figures that the report has of it.
fn described(step: &StepReport, outcome: &Outcome) -> String {
    let report = &outcome.report;
    let does = wb_conductor::does(&step.name).unwrap_or("did its part");
    let counted = |n: usize, what: &str| format!("{does}: {} {what}", grouped(n as u64));
    match step.name.as_str() {
        DIGEST => {
            let by = match &report.digest {
                Some(DigestSource::Local(reason)) => {
                    format!("taken locally: {}", escaped(&reason.to_string()))
                }
                _ => "by the model".to_owned(),
            };
            let digest = grouped(report.digest_tokens);
            format!("folded {} messages into a digest of {digest} tokens, {by}", report.folded)
        }
        RESTORE => counted(report.restored.len(), if report.restored.len() == 1 { "file" } else { "files" }),
        _ => does.to_owned(),
    }
}

/// Returns how many bodies were changed, where any were.
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

/// Writes what a person wants to read instead of JSON lines: report, outline, digest, and how to save it.
pub(crate) fn whole(out: &mut dyn Write, session: &Session, outcome: &Outcome) -> io::Result<()> {
    summary(out, session, outcome)?;
    if !outcome.report.is_changed() {
        return hint_unchanged(out, session);
    }
    writeln!(out, "\n{HEAD}Outline{HEAD:#}")?;
    outline::legend(out, outcome.digest().is_some())?;
    outline::write(out, &outcome.outline, false)?;
    digest(out, outcome)?;
    let window =
        if session.policy.window.is_some() { format!(" --window {}", session.window) } else { String::new() };
    let force = if session.policy.force { " --force" } else { "" };
    let strategy = match session.strategy {
        Strategy::WindowBudget => String::new(),
        other => format!(" --strategy {}", other.name()),
    };
    let file = escaped(&session.file);
    writeln!(out, "\n{DIM}save it:{DIM:#} wb compact {file}{strategy}{window}{force} -o compacted.jsonl")
}

/// Writes the digest under a heading.
pub(crate) fn digest(out: &mut dyn Write, outcome: &Outcome) -> io::Result<()> {
    let Some(digest) = outcome.digest() else { return Ok(()) };
    writeln!(out, "\n{HEAD}Digest{HEAD:#}")?;
    digest.lines().try_for_each(|line| writeln!(out, "{}", format!("  {}", escaped(line)).trim_end()))
}

fn hint_unchanged(out: &mut dyn Write, session: &Session) -> io::Result<()> {
    if session.policy.force || session.is_over() {
        return Ok(());
    }
    let force = if session.strategy.digests() { "--force folds it anyway, " } else { "" };
    writeln!(out, "  {DIM}hint: {force}--window tries a smaller window{DIM:#}")
}
