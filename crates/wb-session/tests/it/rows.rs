//! The recorded answers row by row, and how ours compare with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wb_message::Message;
use wb_session::{Entry, EntryId, EntryKind, SessionLog};

use crate::support::{bytes_of, shared};

/// The version of the seed's time.
pub(crate) const SEED: &str = "0.55.4";
/// The newest version; what it does better is what we do.
pub(crate) const NEWEST: &str = "1.5.2";

/// One recorded answer.
pub(crate) struct Row<'a> {
    pub(crate) params: &'a Value,
    pub(crate) output: &'a Value,
    pub(crate) log: &'a SessionLog,
    pub(crate) file: Option<&'a Path>,
}

impl<'a> Row<'a> {
    /// Returns the path to the leaf of the parameters.
    pub(crate) fn path(&self) -> Vec<&'a Entry> {
        self.log.path(self.id("leaf").as_ref()).unwrap()
    }

    pub(crate) fn id(&self, key: &str) -> Option<EntryId> {
        self.params[key].as_str().map(EntryId::from)
    }

    pub(crate) fn count(&self, key: &str) -> u64 {
        self.params[key].as_u64().unwrap()
    }

    pub(crate) fn place(&self, key: &str) -> usize {
        usize::try_from(self.count(key)).unwrap()
    }
}

/// The ways in which ours differs from a recorded answer, none where it is equal; an error where no reason holds.
pub(crate) type Verdict = Result<Vec<&'static str>, String>;

/// Compares our answers with all those of a version to an operation, and how often which reason held.
///
/// Nothing is compared where the recorded answers are absent.
pub(crate) fn replay(
    op: &str,
    version: &str,
    (n_rows, n_equal): (usize, usize),
    reasons: &[(&'static str, usize)],
    mut compare: impl FnMut(Row<'_>) -> Verdict,
) {
    let (Some(vectors), Some(root)) = (shared("vectors/session.jsonl"), shared("vectors")) else { return };
    let bytes = bytes_of(&vectors);
    let mark = format!("\"op\": \"{op}\"");
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut n_found, mut n_same) = (0, 0);
    let mut open = (String::new(), None, log_at(None));
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(line).unwrap();
        // The operation stands near the start of its line.
        let start = line.char_indices().nth(300).map_or(line, |(end, _)| &line[..end]);
        if !start.contains(&mark) {
            continue;
        }
        let row: Value = serde_json::from_str(line).unwrap();
        if !row["versions"].as_array().unwrap().iter().any(|known| known == version) {
            continue;
        }
        let file = row["file"].as_str().unwrap_or_default();
        if open.0 != file {
            let path = path_of(&root, file);
            let log = log_at(path.as_deref());
            open = (file.to_owned(), path, log);
        }
        let row_of =
            Row { params: &row["params"], output: &row["output"], log: &open.2, file: open.1.as_deref() };
        let verdict = compare(row_of);
        let reasons =
            verdict.unwrap_or_else(|what| panic!("row {} in {file}, {}: {what}", row["n"], row["params"]));
        n_found += 1;
        n_same += usize::from(reasons.is_empty());
        for reason in reasons {
            *found.entry(reason).or_default() += 1;
        }
    }
    assert_eq!((n_found, n_same), (n_rows, n_equal), "{op}, rows and equal ones; {found:?}");
    assert_eq!(found, reasons.iter().copied().collect(), "{op}, reasons of differences");
}

/// A verdict on a single comparison: equal, else this reason if it holds.
pub(crate) fn judge(
    is_equal: bool,
    reason: &'static str,
    holds: bool,
    what: impl std::fmt::Debug,
) -> Verdict {
    match (is_equal, holds) {
        (true, _) => Ok(Vec::new()),
        (false, true) => Ok(vec![reason]),
        (false, false) => Err(format!("{what:?}")),
    }
}

/// Reads the total that a file tells in the usage of an entry.
pub(crate) fn total_in_file(file: Option<&Path>, id: &EntryId) -> Option<u64> {
    let bytes = bytes_of(file?);
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut entries = lines.filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let entry = entries.find(|entry| entry["id"].as_str() == Some(id.as_str()))?;
    entry["message"]["usage"]["totalTokens"].as_u64()
}

fn path_of(root: &Path, file: &str) -> Option<PathBuf> {
    [root.join(file), root.join("..").join(file)].into_iter().find(|path| path.is_file())
}

fn log_at(path: Option<&Path>) -> SessionLog {
    let empty = || br#"{"type":"session","version":3,"id":"s"}"#.to_vec();
    SessionLog::read(path.map_or_else(empty, bytes_of).as_slice()).unwrap()
}

/// Tells whether a text is the recorded one; of a long one length, start and end are recorded.
pub(crate) fn is_text(recorded: &Value, ours: &str) -> bool {
    match &recorded["$text"] {
        Value::Null => recorded.as_str() == Some(ours),
        long => {
            long["utf16_len"].as_u64() == Some(ours.encode_utf16().count() as u64)
                && ours.starts_with(long["head"].as_str().unwrap())
                && ours.ends_with(long["tail"].as_str().unwrap())
        }
    }
}

/// Tells whether a message is the recorded one.
pub(crate) fn is_message(log: &SessionLog, recorded: &Value, ours: &Message) -> bool {
    if let Some(id) = recorded["entry"].as_str() {
        return match &log.entry(&id.into()).unwrap().kind {
            EntryKind::Message(logged) => logged.message == *ours,
            other => panic!("{id}: {other:?}"),
        };
    }
    match ours {
        Message::CompactionSummary { summary, tokens_before } => {
            recorded["role"] == "compactionSummary"
                && is_text(&recorded["summary"], summary)
                && recorded["tokensBefore"].as_u64() == Some(*tokens_before)
        }
        Message::BranchSummary { summary, from_id } => {
            recorded["role"] == "branchSummary"
                && is_text(&recorded["summary"], summary)
                && recorded["fromId"].as_str() == Some(from_id)
        }
        Message::Custom { custom_type, .. } => {
            recorded["role"] == "custom" && recorded["customType"].as_str() == Some(custom_type)
        }
        _ => false,
    }
}

/// A command that the user kept from the model is no message here; there it is one, though no model is sent it.
pub(crate) const EXCLUDED: &str = "a command kept from the model counts as no message";
/// JavaScript puts keys that are numbers first, writes some numbers with more characters and escapes half a surrogate
/// pair, which reading mends.
pub(crate) const JSON: &str = "arguments are written as they stand in the log";
/// The sum of the parts counts, not a total below it.
pub(crate) const TOTAL: &str = "a total below its parts is not believed";

/// Tells whether a path has a command that was kept from the model.
pub(crate) fn has_excluded(path: &[&Entry]) -> bool {
    path.iter().any(|entry| matches!(&entry.kind, EntryKind::Message(logged) if logged.is_excluded))
}

/// Returns a path whose commands all are for the model.
pub(crate) fn with_all_commands(path: &[&Entry]) -> Vec<Entry> {
    let mut path: Vec<Entry> = path.iter().map(|entry| (*entry).clone()).collect();
    for entry in &mut path {
        if let EntryKind::Message(logged) = &mut entry.kind {
            logged.is_excluded = false;
        }
    }
    path
}

/// Tells whether the arguments of a message's calls hold a number that is no integer, a key that is a number, or the
/// mark of half a pair.
pub(crate) fn has_special_json(message: &Message) -> bool {
    fn is_special(value: &Value) -> bool {
        match value {
            Value::Number(number) => number.as_i64().is_none(),
            Value::String(text) => text.contains('\u{FFFD}'),
            Value::Array(items) => items.iter().any(is_special),
            Value::Object(map) => {
                map.iter().any(|(key, value)| key.parse::<u32>().is_ok() || is_special(value))
            }
            _ => false,
        }
    }
    message.calls().any(|(_, _, input)| is_special(input))
}

/// Tells whether messages are the recorded ones; of many only the count is recorded.
pub(crate) fn are_messages(log: &SessionLog, recorded: &Value, ours: &[Message]) -> bool {
    if let Some(count) = recorded["$count"].as_u64() {
        return count == ours.len() as u64;
    }
    let recorded = recorded.as_array().unwrap();
    recorded.len() == ours.len()
        && recorded.iter().zip(ours).all(|(theirs, ours)| is_message(log, theirs, ours))
}

/// Returns the messages of what is selected at a leaf, commands that were kept from the model among them.
pub(crate) fn selected_messages(log: &SessionLog, leaf: Option<&EntryId>) -> Vec<Message> {
    let selected = log.selected(leaf).unwrap();
    let messages = selected.into_iter().filter_map(|entry| match &entry.kind {
        EntryKind::Message(logged) => Some(logged.message.clone()),
        EntryKind::Compaction(it) => {
            Some(Message::CompactionSummary { summary: it.summary.clone(), tokens_before: it.tokens_before })
        }
        EntryKind::BranchSummary(it) if !it.summary.is_empty() => {
            Some(Message::BranchSummary { summary: it.summary.clone(), from_id: it.from_id.clone() })
        }
        EntryKind::CustomMessage(it) => Some(Message::custom(it.custom_type.clone(), it.content.clone())),
        _ => None,
    });
    messages.collect()
}
