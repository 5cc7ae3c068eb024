//! The meter of a window.

use std::io::{self, Write};

use super::style::{BAD, DIM, GOOD, HEAD, WARN};
use crate::escape::escaped;
use crate::json::by_kind;
use crate::number::grouped;
use crate::session::Session;

const WIDTH: u64 = 40;

/// Writes the name of the file and what was read.
pub(crate) fn heading(out: &mut dyn Write, session: &Session, n_messages: usize) -> io::Result<()> {
    let (file, format) = (escaped(&session.file), session.opened.format);
    write!(out, "{HEAD}{file}{HEAD:#}  {DIM}{format} · {n_messages} messages")?;
    if let Some(model) = &session.opened.model {
        write!(out, " · {}", escaped(model))?;
    }
    writeln!(out, "{DIM:#}")
}

/// Writes one line: a bar of the window with the limit marked, and the figures.
pub(crate) fn bar(out: &mut dyn Write, label: &str, session: &Session, tokens: u64) -> io::Result<()> {
    let window = session.window.max(1);
    let scaled =
        |part: u64| u64::try_from(u128::from(part) * u128::from(WIDTH) / u128::from(window)).unwrap_or(WIDTH);
    let (filled, mark) = (scaled(tokens), scaled(session.limit));
    let over = tokens > session.limit;
    let style = if over { BAD } else { GOOD };
    let cells: String = (0..WIDTH).map(|cell| cell_of(cell, filled, mark)).collect();
    let percent = tokens as f64 * 100.0 / window as f64;
    let (tokens, window) = (grouped(tokens), grouped(session.window));
    writeln!(out, "{label}▕{style}{cells}{style:#}▏ {tokens} of {window} tokens ({percent:.0} %)")
}

fn cell_of(cell: u64, filled: u64, mark: u64) -> char {
    match (cell < filled, cell == mark) {
        (_, true) => '┊',
        (true, false) => '█',
        (false, false) => '░',
    }
}

/// Writes where the figure comes from and how far the limit is.
pub(crate) fn facts(out: &mut dyn Write, session: &Session) -> io::Result<()> {
    let measure = &session.measure;
    let source = if measure.anchored { "counted by the provider" } else { "estimated" };
    let limit = session.limit;
    let verdict = if session.is_over() {
        format!("{WARN}over by {}{WARN:#}", grouped(measure.context_tokens - limit))
    } else {
        format!("{} to go", grouped(limit - measure.context_tokens))
    };
    let policy = session.policy.budget();
    let (reserve, ratio) = (grouped(policy.reserve_tokens.unwrap_or(0)), policy.trigger_ratio);
    let formula = format!("(window − {reserve}) × {ratio}");
    writeln!(out, "  {source}; limit ┊ {} = {formula}: {verdict}", grouped(limit))?;
    if session.window_assumed {
        let window = grouped(session.window);
        writeln!(out, "  {DIM}the file tells no window: {window} is assumed, --window sets it{DIM:#}")?;
    }
    if measure.left_out_tokens > 0 {
        let left_out = grouped(measure.left_out_tokens);
        writeln!(
            out,
            "  {DIM}left out: the session's system prompt and tools of about {left_out} tokens, too large for this window{DIM:#}"
        )?;
    }
    notes(out, session)
}

/// Writes what was passed over while reading.
pub(crate) fn notes(out: &mut dyn Write, session: &Session) -> io::Result<()> {
    let mut notes = session.opened.notes.iter().map(ToString::to_string);
    notes.try_for_each(|note| writeln!(out, "  {DIM}note: {}{DIM:#}", escaped(&note)))
}

/// Writes what the tokens stand in, the heaviest kind first.
pub(crate) fn breakdown(out: &mut dyn Write, session: &Session) -> io::Result<()> {
    let mut kinds: Vec<_> = by_kind(session).into_iter().collect();
    kinds.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
    let most = kinds.first().map_or(1, |(_, tokens)| *tokens).max(1);
    for (kind, tokens) in kinds {
        let bar = "▇".repeat(usize::try_from(tokens * 24 / most).unwrap_or(0));
        writeln!(out, "  {:>10}  {bar:<24} {}", grouped(tokens), kind.replace('_', " "))?;
    }
    Ok(())
}
