//! `wb session context`: the model's view at an entry.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use wb_budget::estimate_tokens;
use wb_message::{Message, outline};
use wb_session::{EntryId, Node};

use super::find;
use super::session_log::OpenLog;
use super::weight::Weight;
use crate::args::session::SessionEntry;
use crate::commands::recall::session_index;
use crate::session::outcome::{Fate, Line};
use crate::terminal::escape::escaped;
use crate::terminal::number::{grouped, messages};
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::wrap::Page;

/// The answer of `wb session context --json`.
#[derive(Debug, Serialize)]
struct ContextJson<'a> {
    file: &'a str,
    entry: Option<&'a EntryId>,
    model: Option<&'a str>,
    thinking_level: Option<&'a str>,
    tokens: u64,
    anchored: bool,
    estimated_tokens: u64,
    notes: Vec<String>,
    /// The entry of each message.
    entries: &'a [EntryId],
    messages: &'a [Message],
}

/// Prints the context at an entry.
pub(crate) fn context(shell: &Shell, args: &SessionEntry) -> Result<()> {
    let log = OpenLog::open(shell, &args.file)?;
    let entry = find::entry(&log, args.entry.as_deref())?;
    let context = log.session.context(entry.as_ref()).map_err(|error| log.failure(&error))?;
    let path = log.session.tree().path(entry.as_ref()).map_err(|error| log.failure(&error))?;
    let notes = log.notes().into_iter().chain(path.first().and_then(lost_root)).collect();
    let weight = Weight::new(&context);
    let report = ContextJson {
        file: &log.file,
        entry: entry.as_ref(),
        model: context.model.as_deref(),
        thinking_level: context.thinking_level.as_deref(),
        tokens: weight.tokens,
        anchored: weight.is_anchored,
        estimated_tokens: estimate_tokens(&context.messages),
        notes,
        entries: &context.entries,
        messages: &context.messages,
    };
    if shell.is_json {
        return shell.print_json(&report);
    }
    let index = if log.is_stream() { None } else { session_index::index(shell, &args.file).ok() };
    let numbers = index.map(|index| index.numbers_of(report.messages)).unwrap_or_default();
    shell.print(|page| render_text(shell, page, &log, (&report, &numbers), weight))
}

/// Returns a note on where the path begins, if its parent is missing.
fn lost_root(root: &Node) -> Option<String> {
    let parent = root.parent_id.as_ref()?;
    Some(format!("the path begins at {}, whose parent {parent} is not in the log", root.id))
}

fn render_text(
    shell: &Shell,
    page: &mut Page<'_>,
    log: &OpenLog,
    (report, numbers): (&ContextJson<'_>, &[Option<usize>]),
    weight: Weight,
) -> io::Result<()> {
    let at =
        report.entry.map_or_else(|| "before the first entry".to_owned(), |id| format!("context at {id}"));
    log.heading(page, &at)?;
    let own = &report.notes[log.session.notes().len()..];
    log.write_notes(shell, page, own)?;
    let (messages, tokens) = (messages(weight.n_messages), grouped(weight.tokens));
    page.prose("  ", 4, &format!("{messages}, {tokens} tokens, {}", weight.source()))?;
    let (model, level) =
        (report.model.unwrap_or("not recorded"), report.thinking_level.unwrap_or("not recorded"));
    writeln!(page, "  {DIM}model{DIM:#} {}  {DIM}thinking{DIM:#} {}\n", escaped(model), escaped(level))?;
    let line = |(at, message)| Line { fate: Fate::Kept, at: Some(at), text: outline::line(message) };
    let lines: Vec<Line> = report.messages.iter().enumerate().map(line).collect();
    crate::session::outline::write(page, &lines, numbers)
}
