//! All strategies side by side on one session.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use wb_message::Message;
use wb_replay::{LooseEnds, prompt_texts};

use crate::args::Compare;
use crate::session::Session;
use crate::session::meter;
use crate::session::outcome::Outcome;
use crate::terminal::escape::escaped;
use crate::terminal::number::{grouped, grouped_in};
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, GOOD};
use crate::terminal::table::{Cell, Table};
use crate::terminal::wrap::Page;
use wb_bind::Strategy;

/// The result of one strategy.
#[derive(Debug, Serialize)]
struct StrategyRow {
    strategy: &'static str,
    limit: u64,
    tokens_after: u64,
    messages_after: usize,
    user_text_kept: f64,
    pairs_intact: bool,
    irreducible: bool,
    changed: bool,
    note: String,
    time_ms: f64,
}

/// The answer of `wb compare --json`.
#[derive(Debug, Serialize)]
struct Compared<'a> {
    file: &'a str,
    format: &'a str,
    messages_before: usize,
    tokens_before: u64,
    window: u64,
    anchored: bool,
    strategies: Vec<StrategyRow>,
}

/// The session before any strategy ran.
#[derive(Debug)]
struct Before {
    user_bytes: usize,
    loose_ends: LooseEnds,
}

impl Before {
    fn new(messages: &[Message]) -> Self {
        let user_bytes = messages.iter().map(user_bytes).sum();
        Self { user_bytes, loose_ends: LooseEnds::find(messages) }
    }
}

/// Tries every strategy and prints the results; reads the session once and writes nothing.
pub(crate) fn compare(shell: &Shell, args: &Compare) -> Result<()> {
    let mut session = Session::open(shell, &args.file, args.policy, Strategy::default())?;
    let before = Before::new(&session.opened.messages);
    let n_before = session.opened.messages.len();
    let row = |strategy| shell.timed("compacting", || row(&mut session, strategy, &before));
    let strategies = Strategy::ALL.map(row).into();
    let tokens_before = session.measure.context_tokens;
    let compared = Compared {
        file: &session.file,
        format: session.opened.format,
        messages_before: n_before,
        tokens_before,
        window: session.window,
        anchored: session.measure.anchored,
        strategies,
    };
    if shell.is_json {
        return shell.print_json(&compared);
    }
    shell.print(|page| {
        meter::heading(page, &session, n_before)?;
        render_text(page, &session, &compared)
    })
}

/// Compacts in memory with one strategy, then restores the session.
fn row(session: &mut Session, strategy: Strategy, before: &Before) -> StrategyRow {
    session.strategy = strategy;
    let start = Instant::now();
    let mut outcome = Outcome::new(session, None);
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    let kept: usize = outcome.kept_messages().map(user_bytes).sum();
    let row = StrategyRow {
        strategy: strategy.name(),
        limit: session.limit,
        tokens_after: outcome.tokens_after,
        messages_after: outcome.messages.len(),
        user_text_kept: if before.user_bytes == 0 { 1.0 } else { kept as f64 / before.user_bytes as f64 },
        pairs_intact: LooseEnds::find(&outcome.messages).is_subset_of(&before.loose_ends),
        irreducible: outcome.report.irreducible.is_some(),
        changed: outcome.report.is_changed(),
        note: note(&outcome),
        time_ms,
    };
    outcome.restore(session);
    row
}

/// Returns the number of bytes that the user wrote in a message.
fn user_bytes(message: &Message) -> usize {
    prompt_texts(message).map(str::len).sum()
}

fn note(outcome: &Outcome) -> String {
    if let Some(reason) = &outcome.report.unchanged {
        return reason.to_string();
    }
    outcome.report.step_names().join(", ")
}

fn render_text(page: &mut Page<'_>, session: &Session, compared: &Compared<'_>) -> io::Result<()> {
    let source = if compared.anchored { "counted by the provider" } else { "estimated" };
    let (tokens, window) = (grouped(compared.tokens_before), grouped(session.window));
    let limit = grouped(session.limit);
    page.prose("  ", 4, &format!("{tokens} of {window} tokens, {source}; limit {limit}"))?;
    meter::left_out(page, session)?;
    writeln!(page)?;
    let mut table = Table::new(["strategy", "tokens", "messages", "prompts", "pairs", "time"]);
    for row in &compared.strategies {
        table.push(cells(row), escaped(&grouped_in(&note_of(row))));
    }
    table.write(page)
}

fn cells(row: &StrategyRow) -> Vec<Cell> {
    let fits = if row.tokens_after <= row.limit { GOOD } else { BAD };
    let (whole, pairs) = if row.pairs_intact { (GOOD, "intact") } else { (BAD, "broken") };
    let time = match row.time_ms {
        ms if ms < 1.0 => "<1 ms".to_owned(),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms => format!("{:.1} s", ms / 1e3),
    };
    vec![
        row.strategy.into(),
        Cell::styled(grouped(row.tokens_after), fits),
        grouped(row.messages_after as u64).into(),
        format!("{:.0} %", row.user_text_kept * 100.0).into(),
        Cell::styled(pairs, whole),
        // As wide as any, so that the table is as wide each time.
        format!("{time:>6}").into(),
    ]
}

fn note_of(row: &StrategyRow) -> String {
    let cannot = if row.irreducible { "; its target cannot be reached" } else { "" };
    format!("{}{cannot}", row.note)
}
