//! The report of a condense.

use std::io::{self, Write};

use wb_conductor::{DigestSource, Stage};

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
    for stage in &outcome.report.stages {
        writeln!(out, "  {:<13}{}", stage.to_string(), told(*stage, outcome))?;
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

fn told(stage: Stage, outcome: &Outcome) -> String {
    let report = &outcome.report;
    match stage {
        // Those that were folded after that are counted there.
        Stage::Microcompact if report.cleared.is_empty() => "cleared stale tool results".to_owned(),
        Stage::Microcompact => format!("cleared {} stale tool results", report.cleared.len()),
        Stage::Preview => format!("shortened {} giant bodies to head and tail", report.previewed.len()),
        Stage::Rehydrate => format!("gave back {} files that were read last", report.restored.len()),
        Stage::Condense => {
            let by = match &report.digest {
                Some(DigestSource::Local(reason)) => {
                    format!("taken locally: {}", escaped(&reason.to_string()))
                }
                _ => "by the model".to_owned(),
            };
            let digest = grouped(report.digest_tokens);
            format!("folded {} messages into a digest of {digest} tokens, {by}", report.folded)
        }
        Stage::Artifact => "previewed oversized tool results".to_owned(),
        Stage::ToolOutput => "cut tool outputs to their head and tail lines".to_owned(),
        Stage::Collapse => "turned old replies and their results into a line each".to_owned(),
        Stage::DropMiddle => "dropped messages between the first and the recent ones".to_owned(),
        Stage::Truncate => "dropped the oldest messages".to_owned(),
        Stage::Repair => "answered lost calls and dropped stray results".to_owned(),
        _ => String::new(),
    }
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
    writeln!(out, "\n{DIM}save it:{DIM:#} wb condense {file}{strategy}{window}{force} -o condensed.jsonl")
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
