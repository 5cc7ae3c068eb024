//! All strategies side by side on one session.

use std::io::{self, Write};
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use wb_message::{Message, Origin};
use wb_replay::{LooseEnds, prompt_texts};

use crate::args::Compare;
use crate::number::grouped;
use crate::outcome::Outcome;
use crate::session::Session;
use crate::show::meter;
use crate::show::style::{BAD, DIM, GOOD, HEAD, WARN};
use crate::strategy::Strategy;

/// What one strategy made of the session.
#[derive(Debug, Serialize)]
struct Row {
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
    strategies: Vec<Row>,
}

/// What the session was like before any strategy.
#[derive(Debug)]
struct Before {
    user_bytes: usize,
    loose_ends: LooseEnds,
}

impl Before {
    fn of(messages: &[Message]) -> Self {
        let user_bytes = messages.iter().map(user_bytes).sum();
        Self { user_bytes, loose_ends: LooseEnds::of(messages) }
    }
}

/// Tries every strategy and prints what came out; the session is read once and nothing is written.
pub(crate) fn compare(args: &Compare) -> Result<()> {
    let mut session = Session::open(&args.file, args.policy, Strategy::default())?;
    let before = Before::of(&session.opened.messages);
    let n_before = session.opened.messages.len();
    let strategies = Strategy::ALL.map(|strategy| row(&mut session, strategy, &before)).into();
    let mut out = anstream::stdout().lock();
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
    if args.policy.json {
        return Ok(crate::print_json(&mut out, &compared)?);
    }
    meter::heading(&mut out, &session, n_before)?;
    Ok(table(&mut out, &session, &compared)?)
}

/// Compacts in memory with one strategy and takes it back.
fn row(session: &mut Session, strategy: Strategy, before: &Before) -> Row {
    session.strategy = strategy;
    let forced = session.policy.force;
    session.policy.force = forced && strategy.digests();
    let start = Instant::now();
    let mut outcome = Outcome::of(session);
    let time_ms = start.elapsed().as_secs_f64() * 1e3;
    session.policy.force = forced;
    let kept: usize = kept_messages(&outcome).map(user_bytes).sum();
    let row = Row {
        strategy: strategy.name(),
        limit: session.limit,
        tokens_after: outcome.tokens_after,
        messages_after: outcome.messages.len(),
        user_text_kept: if before.user_bytes == 0 { 1.0 } else { kept as f64 / before.user_bytes as f64 },
        pairs_intact: LooseEnds::of(&outcome.messages).are_among(&before.loose_ends),
        irreducible: outcome.report.irreducible.is_some(),
        changed: outcome.report.is_changed(),
        note: note(&outcome),
        time_ms,
    };
    outcome.take_back(session);
    row
}

fn kept_messages(outcome: &Outcome) -> impl Iterator<Item = &Message> {
    let all = outcome.origins.iter().zip(&outcome.messages);
    all.filter(|(origin, _): &(&Origin, _)| origin.kept().is_some()).map(|(_, message)| message)
}

/// Returns the bytes of the user's own words in a message.
fn user_bytes(message: &Message) -> usize {
    prompt_texts(message).map(str::len).sum()
}

fn note(outcome: &Outcome) -> String {
    if let Some(reason) = &outcome.report.unchanged {
        return reason.to_string();
    }
    outcome.report.step_names().join(", ")
}

fn table(out: &mut dyn Write, session: &Session, compared: &Compared<'_>) -> io::Result<()> {
    let source = if compared.anchored { "counted by the provider" } else { "estimated" };
    let (tokens, window) = (grouped(compared.tokens_before), grouped(session.window));
    writeln!(out, "  {tokens} of {window} tokens, {source}\n")?;
    let titles = ["strategy", "limit", "tokens", "messages", "user text", "pairs", "time"];
    let [name, limit, tokens, messages, user, pairs, time] = titles;
    writeln!(
        out,
        "  {HEAD}{name:<14}{limit:>10}{tokens:>10}{messages:>10}{user:>11}{pairs:>9}{time:>11}{HEAD:#}"
    )?;
    compared.strategies.iter().try_for_each(|row| line(out, row))
}

fn line(out: &mut dyn Write, row: &Row) -> io::Result<()> {
    let fits = if row.tokens_after <= row.limit { GOOD } else { BAD };
    let (whole, pairs) = if row.pairs_intact { (GOOD, "intact") } else { (BAD, "broken") };
    let kept = format!("{:.0} %", row.user_text_kept * 100.0);
    let time = format!("{:.1} ms", row.time_ms);
    write!(out, "  {:<14}{:>10}", row.strategy, grouped(row.limit))?;
    write!(out, "{fits}{:>10}{fits:#}{:>10}{kept:>11}", grouped(row.tokens_after), row.messages_after)?;
    writeln!(out, "{whole}{pairs:>9}{whole:#}{time:>11}  {DIM}{}{DIM:#}", row.note)?;
    if row.irreducible {
        writeln!(out, "  {:<14}{WARN}its target cannot be reached{WARN:#}", "")?;
    }
    Ok(())
}
