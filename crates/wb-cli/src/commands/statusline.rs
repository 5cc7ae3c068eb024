//! `wb statusline`: one line for the status line of Claude Code.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use wb_record::{Access, History, OperationKind};

use crate::args::Policy;
use crate::platform::clock::unix_ms;
use crate::session::Session;
use crate::session::agent_trigger::AgentSettings;
use crate::session::meter::bar_of;
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM};
use wb_bind::Strategy;

/// The cells of the bar.
const CELLS: usize = 10;

/// The state of a session, as Claude Code describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HostState {
    session_id: Option<String>,
    transcript_path: Option<PathBuf>,
    context_window: Option<HostWindow>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HostWindow {
    context_window_size: Option<u64>,
    current_usage: Option<HostUsage>,
}

/// The provider's count of the last request.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of Claude Code")]
struct HostUsage {
    input_tokens: u64,
    output_tokens: u64,
    cache_creation_input_tokens: u64,
    cache_read_input_tokens: u64,
}

/// The answer of `wb statusline --json`.
#[derive(Debug, Serialize)]
struct Status {
    tokens: u64,
    window: u64,
    trigger: u64,
    compaction: Option<LastCompaction>,
}

/// The last compaction of a session that is not undone.
#[derive(Debug, Serialize)]
struct LastCompaction {
    minutes_ago: u64,
    tokens_before: u64,
    tokens_after: u64,
}

/// Reads the state of a session from standard input, and prints one line in every case.
pub(crate) fn statusline(shell: &Shell) -> Result<()> {
    let mut text = Vec::new();
    // An empty line would look like a fault of the agent.
    let _ = io::stdin().lock().read_to_end(&mut text);
    let state: HostState = serde_json::from_slice(&text).unwrap_or_default();
    let status = status(shell, &state);
    if shell.is_json {
        return shell.print_json(&status);
    }
    shell.print(|page| match &status {
        None => writeln!(page, "{DIM}wb: nothing to weigh yet{DIM:#}"),
        Some(status) => writeln!(page, "{}", line(status, state.session_id.as_deref())),
    })
}

fn status(shell: &Shell, state: &HostState) -> Option<Status> {
    let path = state.transcript_path.as_deref();
    let (tokens, window) = counted(state).or_else(|| weighed(shell, path?))?;
    let trigger = AgentSettings::read(&shell.environment).claude_code(window).tokens;
    Some(Status { tokens, window, trigger, compaction: path.and_then(last_compaction) })
}

/// Returns the tokens and the window that Claude Code itself counts.
fn counted(state: &HostState) -> Option<(u64, u64)> {
    let HostWindow { context_window_size, current_usage } = state.context_window.as_ref()?;
    let usage = current_usage.as_ref()?;
    let prompt = usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens;
    Some((prompt + usage.output_tokens, (*context_window_size)?)).filter(|(tokens, _)| *tokens > 0)
}

fn weighed(shell: &Shell, path: &Path) -> Option<(u64, u64)> {
    let session = Session::open(shell, path, Policy::default(), Strategy::default()).ok()?;
    Some((session.measure.context_tokens, session.window))
}

fn last_compaction(path: &Path) -> Option<LastCompaction> {
    let history = History::open_for(path, Access::Read).ok()?;
    let mut compactions = history.operations().rev().filter(|it| it.what == OperationKind::Compact);
    let last = compactions.find(|it| !history.is_undone(it.id))?;
    let ms = unix_ms(SystemTime::now()).saturating_sub(last.at_ms);
    Some(LastCompaction {
        minutes_ago: u64::try_from(ms / 60_000).unwrap_or(0),
        tokens_before: last.tokens_before,
        tokens_after: last.tokens_after,
    })
}

fn line(status: &Status, id: Option<&str>) -> String {
    let Status { tokens, window, trigger, compaction } = status;
    let bar = bar_of(*window, *trigger, *tokens, CELLS);
    let (style, mark) = if tokens > trigger { (BAD, "!") } else { (anstyle::Style::new(), "") };
    let meter = format!("wb {bar} {style}{} of {}{mark}{style:#}", short(*tokens), short(*trigger));
    let Some(LastCompaction { minutes_ago, tokens_before, tokens_after }) = compaction else { return meter };
    let (before, after) = (short(*tokens_before), short(*tokens_after));
    let id: String = id.unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).take(8).collect();
    let undo = if id.is_empty() { "wb undo".to_owned() } else { format!("wb undo {id}") };
    format!("{meter} {DIM}· compacted {minutes_ago} min ago, {before} → {after}: {undo}{DIM:#}")
}

/// Returns tokens in three digits at most.
fn short(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{}k", tokens / 1_000),
        _ => format!("{:.1}M", tokens as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_short() {
        let shown = [0, 999, 1_000, 71_439, 999_999, 1_250_000].map(short);
        assert_eq!(shown, ["0", "999", "1k", "71k", "999k", "1.2M"]);
    }
}
