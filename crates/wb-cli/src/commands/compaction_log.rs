//! The log of compactions that agents requested: names, sizes and times, without message content.

use std::collections::HashSet;
use std::fs::DirBuilder;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::{Deserialize, Serialize};
use wb_record::{Access, History, append_line};
use wb_session::iso_ms;

use crate::platform::environment::Environment;
use crate::session::find::session_words::SessionWords;
use crate::terminal::escape::escaped;
use crate::terminal::number::{count, grouped};
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;

/// One compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Entry {
    /// When, in milliseconds since the Unix epoch.
    pub(crate) at_ms: i64,
    pub(crate) host: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    /// The session's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<PathBuf>,
    /// The reason for the agent's request.
    pub(crate) trigger: String,
    /// The action that was returned to the agent.
    pub(crate) action: String,
    /// The reason why the agent compacted on its own, without message content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    pub(crate) messages_before: usize,
    pub(crate) messages_after: usize,
    pub(crate) tokens_before: u64,
    pub(crate) tokens_after: u64,
    /// The fingerprint of the digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<u64>,
    /// Indicates that `wb undo` knows the earlier state of the session.
    pub(crate) undoable: bool,
    /// The number of findings in the audit of the digest.
    pub(crate) findings: usize,
    pub(crate) ms: u64,
}

pub(crate) fn path(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state.as_deref()?.join("compactions.jsonl"))
}

/// Adds a compaction; only the user may read the file and its folder.
pub(crate) fn add(environment: &Environment, entry: &Entry) -> io::Result<()> {
    let Some(path) = path(environment) else { return Ok(()) };
    let mut folder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
    folder.recursive(true).create(path.parent().unwrap_or(&path))?;
    append_line(&path, None, &serde_json::to_vec(entry)?).map_err(io::Error::other)
}

/// Reads the log, oldest entry first; invalid lines are skipped.
pub(crate) fn entries(environment: &Environment) -> io::Result<Vec<Entry>> {
    let Some(path) = path(environment) else { return Ok(Vec::new()) };
    match std::fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(text) => {
            let lines = text.split(|byte| *byte == b'\n');
            Ok(lines.filter_map(|line| serde_json::from_slice(line).ok()).collect())
        }
    }
}

/// The answer of `wb log --json` without a file.
#[derive(Serialize)]
struct CompactionsJson<'a> {
    compactions: &'a [Entry],
}

/// Shows the log, the newest compaction last.
pub(crate) fn show(shell: &Shell) -> Result<()> {
    let entries = entries(&shell.environment)?;
    if shell.is_json {
        return shell.print_json(&CompactionsJson { compactions: &entries });
    }
    shell.print(|page| {
        if entries.is_empty() {
            return page.prose(
                "",
                0,
                "no agent has asked for a compaction yet; `wb install` shows which agents use wb",
            );
        }
        let words = SessionWords::read(&shell.environment);
        entries.iter().zip(commands(&entries, &words)).try_for_each(|(entry, command)| {
            writeln!(page, "{}", escaped(&line(entry)))?;
            command.map_or(Ok(()), |command| writeln!(page, "  {DIM}{}{DIM:#}", escaped(&command)))
        })
    })
}

/// Returns the next command for each entry; only the newest entry of a file can be undone.
fn commands(entries: &[Entry], words: &SessionWords) -> Vec<Option<String>> {
    let mut files = HashSet::new();
    let newest = entries.iter().rev().map(|entry| next(entry, words).filter(|_| files.insert(&entry.file)));
    let mut commands: Vec<_> = newest.collect();
    commands.reverse();
    commands
}

/// Returns the command that undoes or redoes a compaction or shows its findings, if its file is
/// known and still exists.
fn next(entry: &Entry, words: &SessionWords) -> Option<String> {
    let path = entry.file.as_deref().filter(|file| file.is_file())?;
    let file = words.word(path);
    match entry {
        Entry { undoable: true, .. } if is_undone(path) => Some(format!("undone; to redo: wb redo {file}")),
        Entry { undoable: true, .. } => Some(format!("to undo: wb undo {file}")),
        Entry { findings: 1.., .. } => Some(format!("what was found: wb audit {file}")),
        _ => None,
    }
}

/// Returns whether every operation on a session was undone.
fn is_undone(session: &Path) -> bool {
    let Ok(history) = History::open_for(session, Access::Read) else { return false };
    history.unsettled().is_none() && history.find(None, false).is_err() && history.find(None, true).is_ok()
}

fn line(entry: &Entry) -> String {
    let Entry { host, trigger, tokens_before, tokens_after, findings, ms, .. } = entry;
    let session = entry.session.as_deref().map(|it| format!(" {it}")).unwrap_or_default();
    let what = match (entry.action.as_str(), &entry.why) {
        ("replace", _) => format!("{} -> {} tokens", grouped(*tokens_before), grouped(*tokens_after)),
        ("pass", Some(why)) => format!("left to the agent: {why}"),
        ("pass", None) => "left to the agent".to_owned(),
        ("told", _) => "added facts to its own summary; nothing to undo".to_owned(),
        ("audited", _) => "its own summary was audited".to_owned(),
        (other, _) => other.to_owned(),
    };
    let found =
        if *findings > 0 { format!(", {}", count(*findings, "finding", "findings")) } else { String::new() };
    format!("{}  {host}{session}  {trigger}: {what}{found} ({ms} ms)", iso_ms(entry.at_ms))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entry_of_a_file_that_is_there_says_what_can_be_done() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display().to_string();
        let of = |file: &str| Entry { file: Some(file.into()), ..Entry::default() };
        let entries = [
            Entry { undoable: true, ..of(&path) },
            Entry { undoable: true, findings: 2, ..of(&path) },
            of(&path),
            Entry { undoable: true, ..of("/nowhere") },
            Entry { undoable: true, ..Entry::default() },
        ];
        let undo = Some(format!("to undo: wb undo {path}"));
        assert_eq!(commands(&entries, &SessionWords::default()), [None, undo, None, None, None]);
        let found = [Entry { findings: 1, ..of(&path) }];
        assert_eq!(
            commands(&found, &SessionWords::default()),
            [Some(format!("what was found: wb audit {path}"))]
        );
    }
}
