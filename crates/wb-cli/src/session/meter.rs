//! The meter of a window.

use std::io::{self, Write};

use crate::session::Session;
use crate::session::agent_trigger::AgentTrigger;
use crate::session::json::words_of;
use crate::terminal::escape::escaped;
use crate::terminal::number::{count, grouped, grouped_in, messages};
use crate::terminal::style::{BAD, DIM, GOOD, WARN};
use crate::terminal::wrap::{Page, width};

/// The most cells of a bar, if they fit.
const MOST_CELLS: usize = 40;
const LEAST_CELLS: usize = 10;
/// The notes of a short report.
const SHOWN_NOTES: usize = 2;

/// Writes the name of the file and what was read.
pub(crate) fn heading(page: &mut Page<'_>, session: &Session, n_messages: usize) -> io::Result<()> {
    let model = session.opened.model.as_deref().map(str::trim).filter(|model| !model.is_empty());
    let parts =
        [Some(session.opened.format.to_owned()), Some(messages(n_messages)), model.map(str::to_owned)];
    let details: Vec<String> = parts.into_iter().flatten().collect();
    page.heading(&escaped(&session.file), &escaped(&details.join(" · ")))
}

/// Writes a line for each weight: a label, a bar of the window with the limit marked, and the
/// figures.
pub(crate) fn bars(page: &mut Page<'_>, session: &Session, weights: &[(&str, u64)]) -> io::Result<()> {
    let figures: Vec<String> = weights.iter().map(|(_, tokens)| figures(session, *tokens)).collect();
    let taken = weights.iter().zip(&figures).map(|((label, _), figures)| width(label) + width(figures)).max();
    let room = page.columns.saturating_sub(taken.unwrap_or(0) + "▕▏ ".chars().count());
    let n_cells = room.clamp(LEAST_CELLS, MOST_CELLS);
    for ((label, tokens), figures) in weights.iter().zip(figures) {
        writeln!(page, "{label}{} {figures}", bar(session, *tokens, n_cells))?;
    }
    Ok(())
}

fn figures(session: &Session, tokens: u64) -> String {
    let percent = tokens as f64 * 100.0 / session.window.max(1) as f64;
    format!("{} of {} tokens ({percent:.0} %)", grouped(tokens), grouped(session.window))
}

/// Draws a bar of the window, with the used part and the limit.
pub(crate) fn bar(session: &Session, tokens: u64, n_cells: usize) -> String {
    bar_of(session.window, session.limit, tokens, n_cells)
}

/// Draws a bar of a window, with the used part and a limit.
pub(crate) fn bar_of(window: u64, limit: u64, tokens: u64, n_cells: usize) -> String {
    let (window, cells) = (u128::from(window.max(1)), n_cells as u64);
    let scaled = |part: u64| {
        let scaled = u128::from(part) * u128::from(cells) / window;
        u64::try_from(scaled).unwrap_or(cells)
    };
    let (filled, mark) = (scaled(tokens), scaled(limit).min(cells.saturating_sub(1)));
    let style = if tokens > limit { BAD } else { GOOD };
    let cells: String = (0..cells).map(|cell| cell_of(cell, filled, mark)).collect();
    format!("▕{style}{cells}{style:#}▏")
}

fn cell_of(cell: u64, filled: u64, mark: u64) -> char {
    match (cell < filled, cell == mark) {
        (_, true) => '┊',
        (true, false) => '█',
        (false, false) => '░',
    }
}

/// Writes the source of the figure and the distance to the limit, and what is only assumed.
pub(crate) fn short_facts(page: &mut Page<'_>, session: &Session, after: Option<u64>) -> io::Result<()> {
    limit(page, session, after)?;
    trigger(page, session)?;
    if let Some(words) =
        session.window_from.in_words(session.window).filter(|_| session.window_from.is_guess())
    {
        dim(page, &escaped(&words))?;
    }
    left_out(page, session)?;
    let words = words_of(&session.opened.notes);
    let n_shown = words.len().min(SHOWN_NOTES);
    notes(page, &words[..n_shown])?;
    match words.len() - n_shown {
        0 => Ok(()),
        n => dim(page, &format!("{}: -v", count(n, "more note", "more notes"))),
    }
}

/// Writes the source of the figure and the distance to the limit, also after a compaction.
fn limit(page: &mut Page<'_>, session: &Session, after: Option<u64>) -> io::Result<()> {
    let measure = &session.measure;
    let source = if measure.anchored { "counted by the provider" } else { "estimated" };
    let limit = session.limit;
    let verdict = |tokens: u64| match tokens.checked_sub(limit) {
        Some(over) if over > 0 => format!("{WARN}over by {}{WARN:#}", grouped(over)),
        _ => format!("{} left", grouped(limit - tokens)),
    };
    let now = verdict(measure.context_tokens);
    let verdict = match after.map(verdict) {
        None => now,
        Some(after) if session.is_over() => format!("{now} before, {after} after"),
        Some(after) => format!("{after} after"),
    };
    let policy = session.policy.budget();
    let (reserve, ratio) = (grouped(policy.reserve_tokens.unwrap_or(0)), policy.trigger_ratio);
    let formula = format!("(window − {reserve}) × {ratio}");
    // Where the agent has a limit too, each is named.
    let whose = if session.agent_trigger.is_some() { " of wb" } else { "" };
    page.prose("  ", 4, &format!("{source}; limit{whose} ┊ {} = {formula}: {verdict}", grouped(limit)))?;
    let refusal = measure.refusal();
    refusal.map_or(Ok(()), |why| dim(page, &format!("note: {}", grouped_in(&why))))
}

/// Says which tokens are not counted in a window that is tried out.
pub(crate) fn left_out_words(session: &Session) -> Option<String> {
    let tokens = Some(session.measure.left_out_tokens).filter(|tokens| *tokens > 0)?;
    let what = "the session's system prompt and tools";
    Some(format!("excludes {what} (about {} tokens), too large for this window", grouped(tokens)))
}

/// Writes which tokens are not counted.
pub(crate) fn left_out(page: &mut Page<'_>, session: &Session) -> io::Result<()> {
    left_out_words(session).map_or(Ok(()), |words| dim(page, &words))
}

/// Writes when the agent compacts by itself, if its rule is known.
fn trigger(page: &mut Page<'_>, session: &Session) -> io::Result<()> {
    let Some(AgentTrigger { tokens, rule }) = &session.agent_trigger else { return Ok(()) };
    dim(page, &format!("{rule}: above {}", grouped(*tokens)))
}

/// Writes the source of the figure, the distance to the limit, and what else is known of both.
pub(crate) fn facts(page: &mut Page<'_>, session: &Session, after: Option<u64>) -> io::Result<()> {
    limit(page, session, after)?;
    let measure = &session.measure;
    if let Some(words) = session.window_from.in_words(session.window) {
        dim(page, &escaped(&words))?;
    }
    trigger(page, session)?;
    left_out(page, session)?;
    if !measure.anchored && measure.overhead_tokens > 0 {
        let overhead = grouped(measure.overhead_tokens);
        dim(page, &format!("includes system prompt and tools (about {overhead} tokens)"))?;
    }
    if !measure.is_overhead_known() {
        dim(page, "excludes system prompt and tools (size not recorded)")?;
    }
    notes(page, &words_of(&session.opened.notes))
}

/// Writes a dimmed line.
fn dim(page: &mut Page<'_>, text: &str) -> io::Result<()> {
    page.prose("  ", 4, &format!("{DIM}{text}{DIM:#}"))
}

/// Writes the notes on what the reader skipped.
pub(crate) fn notes(page: &mut Page<'_>, notes: &[String]) -> io::Result<()> {
    notes.iter().try_for_each(|note| dim(page, &format!("note: {}", escaped(&grouped_in(note)))))
}

/// Writes the tokens by kind, largest first.
pub(crate) fn breakdown(page: &mut Page<'_>, session: &Session) -> io::Result<()> {
    let mut kinds: Vec<_> = session.measure.by_kind(&session.opened.messages).into_iter().collect();
    kinds.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let most = kinds.first().map_or(1, |(_, tokens)| *tokens).max(1);
    let names = kinds.iter().map(|(kind, _)| kind.len()).max().unwrap_or(0);
    let n_cells = page.columns.saturating_sub(16 + names).clamp(LEAST_CELLS, 24);
    for (kind, tokens) in kinds {
        let filled = u128::from(tokens) * n_cells as u128 / u128::from(most);
        let bar = "▇".repeat(usize::try_from(filled).unwrap_or(0));
        writeln!(page, "  {:>10}  {bar:<n_cells$} {}", grouped(tokens), kind.replace('_', " "))?;
    }
    Ok(())
}
