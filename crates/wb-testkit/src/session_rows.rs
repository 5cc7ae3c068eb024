//! The recorded answers of pi about its sessions, row by row, and how ours compare with them.
//!
//! Rows and inputs lie next to the repository; where they are absent nothing is compared.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use wb_message::{Block, Message, Pairing};
use wb_record::{Line, Lines};
use wb_session::{
    BRANCH_SUMMARY_PREFIX, BranchSummary, COMPACTION_SUMMARY_PREFIX, Compaction, Entry, EntryId, EntryKind,
    FileLists, SESSION_PRESET, SessionLog, estimate_context, last_usage,
};

use crate::shared::{bytes_of, shared};

/// The older of the recorded versions.
pub const OLDER: &str = "0.55.4";
/// The newest version; what it does better is what we do.
pub const NEWEST: &str = "1.5.2";

/// One recorded answer.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// What was asked.
    pub params: &'a Value,
    /// What was answered.
    pub output: &'a Value,
    /// The session that was asked about; an empty one where the row has none.
    pub log: &'a SessionLog,
    /// Its file.
    pub file: Option<&'a Path>,
}

impl<'a> Row<'a> {
    /// Returns the path to the leaf of the parameters.
    ///
    /// # Panics
    /// Panics if the log has no such leaf.
    pub fn path(&self) -> Vec<&'a Entry> {
        self.log.path(self.id("leaf").as_ref()).expect("a leaf of the log")
    }

    /// Returns an id of the parameters.
    pub fn id(&self, key: &str) -> Option<EntryId> {
        self.params[key].as_str().map(EntryId::from)
    }

    /// Returns a number of the parameters.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn count(&self, key: &str) -> u64 {
        self.params[key].as_u64().unwrap_or_else(|| panic!("{key} of {}", self.params))
    }

    /// Returns an index of the parameters.
    ///
    /// # Panics
    /// Panics if there is none.
    pub fn place(&self, key: &str) -> usize {
        usize::try_from(self.count(key)).expect("an index")
    }
}

/// The ways in which ours differs from a recorded answer, none if it is equal; an error if no reason holds.
pub type Verdict = Result<Vec<&'static str>, String>;

/// Compares our answers with all those of a version to an operation, and how often which reason held.
///
/// Nothing is compared where the recorded answers are absent.
///
/// # Panics
/// Panics at a row without a verdict, and if the counts are others.
pub fn replay(
    op: &str,
    version: &str,
    (n_rows, n_equal): (usize, usize),
    reasons: &[(&'static str, usize)],
    mut compare: impl FnMut(Row<'_>) -> Verdict,
) {
    let (Some(vectors), Some(root)) = (shared("vectors/session.jsonl"), shared("vectors")) else { return };
    let bytes = bytes_of(&vectors);
    let mut lines = Lines::new(bytes.as_slice());
    let mut found: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut n_found, mut n_same) = (0, 0);
    let mut open = (String::new(), None, log_at(None));
    while let Ok(Some(line)) = lines.next_line() {
        let Some(row) = row_of(line, op, version) else { continue };
        let file = row["file"].as_str().unwrap_or_default();
        if open.0 != file {
            let path = path_of(&root, file);
            let log = log_at(path.as_deref());
            open = (file.to_owned(), path, log);
        }
        let asked =
            Row { params: &row["params"], output: &row["output"], log: &open.2, file: open.1.as_deref() };
        let verdict = compare(asked);
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

/// Reads a line if it is an answer of the version to the operation.
fn row_of(line: Line<'_>, op: &str, version: &str) -> Option<Value> {
    // The operation stands near the start of its line.
    let start = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(300)]);
    if !start.contains(&format!("\"op\": \"{op}\"")) {
        return None;
    }
    let row: Value = line.parse().expect("a row of JSON");
    let is_of_version = row["versions"].as_array()?.iter().any(|known| known == version);
    is_of_version.then_some(row)
}

/// Finds the file of a row, nothing for a row without one.
fn path_of(root: &Path, file: &str) -> Option<PathBuf> {
    let path = [root.join(file), root.join("..").join(file)].into_iter().find(|path| path.is_file());
    assert!(path.is_some() || file.is_empty(), "there is no {file}");
    path
}

fn log_at(path: Option<&Path>) -> SessionLog {
    let empty = || br#"{"type":"session","version":3,"id":"s"}"#.to_vec();
    SessionLog::read(path.map_or_else(empty, bytes_of).as_slice()).expect("a log")
}

/// A verdict on a single comparison: equal, else this reason if it holds.
pub fn judge(is_equal: bool, reason: &'static str, holds: bool, what: impl std::fmt::Debug) -> Verdict {
    match (is_equal, holds) {
        (true, _) => Ok(Vec::new()),
        (false, true) => Ok(vec![reason]),
        (false, false) => Err(format!("{what:?}")),
    }
}

/// Reads an entry as its file has it.
pub fn entry_in_file(file: Option<&Path>, id: &EntryId) -> Option<Value> {
    let bytes = bytes_of(file?);
    let mut lines = Lines::new(bytes.as_slice());
    while let Ok(Some(line)) = lines.next_line() {
        let entry = line.parse::<Value>().ok().filter(|entry| entry["id"].as_str() == Some(id.as_str()));
        if entry.is_some() {
            return entry;
        }
    }
    None
}

/// Reads the total that a file tells in the usage of an entry.
pub fn total_in_file(file: Option<&Path>, id: &EntryId) -> Option<u64> {
    entry_in_file(file, id)?["message"]["usage"]["totalTokens"].as_u64()
}

/// Stands where a start or an end was cut in the middle of a surrogate pair.
const HALF: char = '\u{FFFD}';

/// Returns whether a text is the recorded one; of a long one length, start and end are recorded.
pub fn is_text(recorded: &Value, ours: &str) -> bool {
    match &recorded["$text"] {
        Value::Null => recorded.as_str() == Some(ours),
        long => {
            let is = |key: &str, test: &dyn Fn(&str) -> bool| long[key].as_str().is_some_and(test);
            long["utf16_len"].as_u64() == Some(ours.encode_utf16().count() as u64)
                && is("head", &|head| ours.starts_with(head.trim_end_matches(HALF)))
                && is("tail", &|tail| ours.ends_with(tail.trim_start_matches(HALF)))
        }
    }
}

/// Puts the marks of the recorded texts in the place of our lead-ins before digests.
pub fn masked(text: &str) -> String {
    let lead = |prefix| format!("{prefix}\n\n<summary>\n");
    text.replace(&lead(COMPACTION_SUMMARY_PREFIX), "{{COMPACTION_SUMMARY_PREFIX}}")
        .replace(&lead(BRANCH_SUMMARY_PREFIX), "{{BRANCH_SUMMARY_PREFIX}}")
}

/// Shortens a long result as the newest version does, and tells whether it is one, or one of many bytes.
pub fn clip_as_recorded(message: &mut Message) -> bool {
    let Message::ToolResult { content, .. } = message else { return false };
    let body: String = content.iter().filter_map(Block::as_text).collect();
    let n_units = body.encode_utf16().count();
    if n_units > 2000 {
        let mut n_taken = 0;
        let head: String = body
            .chars()
            .take_while(|it| {
                n_taken += it.len_utf16();
                n_taken <= 2000
            })
            .collect();
        *content = vec![Block::text(format!("{head}\n\n[... {} more characters truncated]", n_units - 2000))];
    }
    body.len() > 2000
}

/// Returns whether a message is the recorded one.
///
/// # Panics
/// Panics if the recorded one names an entry that holds no message.
pub fn is_message(log: &SessionLog, recorded: &Value, ours: &Message) -> bool {
    if let Some(id) = recorded["entry"].as_str() {
        return match log.entry(&id.into()).map(|entry| &entry.kind) {
            Some(EntryKind::Message(logged)) => logged.message == *ours,
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

/// Returns whether messages are the recorded ones; of many only the count is recorded.
pub fn are_messages(log: &SessionLog, recorded: &Value, ours: &[Message]) -> bool {
    if let Some(count) = recorded["$count"].as_u64() {
        return count == ours.len() as u64;
    }
    let recorded = recorded.as_array().map_or(&[][..], Vec::as_slice);
    recorded.len() == ours.len()
        && recorded.iter().zip(ours).all(|(theirs, ours)| is_message(log, theirs, ours))
}

/// A command that the user kept from the model is no message here; there it is one, though no model is sent it.
pub const EXCLUDED: &str = "a command kept from the model counts as no message";
/// JavaScript puts keys that are numbers first, writes some numbers with more characters and escapes half a surrogate
/// pair, which reading mends.
pub const JSON: &str = "arguments are written as they stand in the log";
/// The sum of the parts counts, not a total below it.
pub const TOTAL: &str = "a total below its parts is not believed";
/// The first entry that is kept gives a message; theirs may be a label.
pub const MOVED: &str = "the cut is the entry with the message, not one without before it";
/// Theirs splits it at an entry that gives no message.
pub const WHOLE_TURN: &str = "a turn that is kept whole is not split by an entry without a message before it";
/// A pair stays on one side of the cut.
pub const PAIR: &str = "a pair of a call and its result is not cut apart";
/// Theirs are those of compactions alone.
pub const SUMMARY_FILES: &str = "files in the details of branch summaries are carried on";
/// Theirs are those of the messages that are summarized, and of the details of branch summaries.
pub const ALL_FILES: &str = "files of messages that did not fit and of compactions' details are kept";

/// Returns whether a path has a command that was kept from the model.
pub fn has_excluded(path: &[&Entry]) -> bool {
    path.iter().any(|entry| excluded_message(entry).is_some())
}

/// Returns a command that was kept from the model.
pub fn excluded_message(entry: &Entry) -> Option<Message> {
    match &entry.kind {
        EntryKind::Message(logged) if logged.is_excluded => Some(logged.message.clone()),
        _ => None,
    }
}

/// Returns a path whose commands all are for the model.
pub fn with_all_commands(path: &[&Entry]) -> Vec<Entry> {
    let mut path: Vec<Entry> = path.iter().map(|entry| (*entry).clone()).collect();
    for entry in &mut path {
        if let EntryKind::Message(logged) = &mut entry.kind {
            logged.is_excluded = false;
        }
    }
    path
}

/// Returns whether the arguments of a message's calls hold a number that is no integer, a key that is a number, or the
/// mark of half a pair.
pub fn has_special_json(message: &Message) -> bool {
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

/// Returns what an entry that is not excluded gives to pairing.
pub fn message_of(entry: &Entry) -> Message {
    match &entry.kind {
        EntryKind::Message(logged) => logged.message.clone(),
        _ => Message::custom("other", "something between"),
    }
}

/// Returns whether an entry is one of those that a model sees.
pub fn gives_message(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Message(_) | EntryKind::CustomMessage(_) => true,
        EntryKind::BranchSummary(it) => !it.summary.is_empty(),
        _ => false,
    }
}

/// Returns whether a cut of the entries before `at` cuts a pair apart, as the pairing of messages says.
pub fn splits_pair(entries: &[&Entry], at: usize) -> bool {
    let messages: Vec<_> = entries.iter().map(|entry| message_of(entry)).collect();
    !Pairing::new(&messages).is_legal(at)
}

/// Returns why the first entries that are kept differ, if they do.
///
/// # Panics
/// Panics if either is not on the path.
pub fn boundary_reason(path: &[&Entry], theirs: &str, ours: &EntryId) -> Verdict {
    let place = |path: &[&Entry], id: &str| {
        path.iter().position(|entry| entry.id.as_str() == id).unwrap_or_else(|| panic!("{id} on the path"))
    };
    let (theirs_at, ours_at) = (place(path, theirs), place(path, ours.as_str()));
    if theirs_at < ours_at && !path[theirs_at..ours_at].iter().any(|entry| gives_message(entry)) {
        return Ok(vec![MOVED]);
    }
    if theirs_at == ours_at {
        return Ok(Vec::new());
    }
    let entries: Vec<_> = path.iter().copied().filter(|entry| !is_compaction(entry)).collect();
    let splits = splits_pair(&entries, place(&entries, theirs));
    let is_ours_legal = !splits_pair(&entries, place(&entries, ours.as_str()));
    judge(false, PAIR, splits && is_ours_legal, ours)
}

fn is_compaction(entry: &Entry) -> bool {
    matches!(entry.kind, EntryKind::Compaction(_))
}

/// Returns why the tokens before a compaction at the end of a path differ, if they do.
pub fn tokens_reason(row: &Row<'_>, path: &[&Entry], theirs: &Value, ours: u64) -> Verdict {
    let estimate = estimate_context(path, &SESSION_PRESET);
    let is_total = || {
        let (at, _) = last_usage(path)?;
        let total = total_in_file(row.file, &path[at].id)?;
        Some(total < estimate.usage_tokens && theirs.as_u64() == Some(total + estimate.trailing_tokens))
    };
    judge(theirs.as_u64() == Some(ours), TOTAL, is_total() == Some(true), ours)
}

/// Returns why the lists of files of a compaction that keeps what follows `head` differ, if they do: ours must be
/// those that are recorded and those of the branch summaries that are summarized.
pub fn files_reason(theirs: &Value, head: &[&Entry], ours: &FileLists) -> Verdict {
    let (mut read, mut modified) = (BTreeSet::new(), BTreeSet::new());
    note_lists(theirs, &mut read, &mut modified);
    let is_equal = |read: &BTreeSet<String>, modified: &BTreeSet<String>| {
        read.iter().eq(sorted(&ours.read_files)) && modified.iter().eq(sorted(&ours.modified_files))
    };
    if is_equal(&read, &modified) {
        return Ok(Vec::new());
    }
    for entry in &head[summarized_from(head)..] {
        if let EntryKind::BranchSummary(it) = &entry.kind
            && let Some(details) = it.details.as_ref().filter(|_| !it.from_hook)
        {
            note_lists(details, &mut read, &mut modified);
        }
    }
    judge(false, SUMMARY_FILES, is_equal(&(&read - &modified), &modified), ours)
}

/// Adds the files that details list.
fn note_lists(details: &Value, read: &mut BTreeSet<String>, modified: &mut BTreeSet<String>) {
    let listed = |key: &str| details[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    read.extend(listed("readFiles").map(str::to_owned));
    modified.extend(listed("modifiedFiles").map(str::to_owned));
}

fn sorted(paths: &[String]) -> BTreeSet<&String> {
    paths.iter().collect()
}

/// Returns the place from which on entries were not summarized yet: what the last compaction kept, else what follows
/// it.
fn summarized_from(head: &[&Entry]) -> usize {
    let Some(at) = head.iter().rposition(|entry| is_compaction(entry)) else { return 0 };
    let kept = match &head[at].kind {
        EntryKind::Compaction(it) => it.first_kept_entry_id.as_ref(),
        _ => None,
    };
    head[..at].iter().position(|entry| Some(&entry.id) == kept).unwrap_or(at)
}

/// Returns the messages of what is selected at a leaf, commands that were kept from the model among them.
///
/// # Panics
/// Panics if the log has no such leaf.
pub fn selected_messages(log: &SessionLog, leaf: Option<&EntryId>) -> Vec<Message> {
    let selected = log.selected(leaf).expect("a leaf of the log");
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

/// Returns why the lists of files of a branch's summary differ, if they do: ours must be those of the whole branch, and
/// the recorded ones among them.
pub fn branch_files_reason(theirs: &Value, entries: &[&Entry], ours: &FileLists) -> Verdict {
    if *ours != whole_branch_files(entries) {
        return Err(format!("{ours:?}"));
    }
    let listed = |key: &str| theirs[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    let all = || ours.read_files.iter().chain(&ours.modified_files);
    let is_more = listed("readFiles").chain(listed("modifiedFiles")).all(|path| all().any(|own| own == path));
    let is_same =
        listed("readFiles").eq(&ours.read_files) && listed("modifiedFiles").eq(&ours.modified_files);
    judge(is_same, ALL_FILES, is_more, ours)
}

/// Returns the files of a whole branch, found another way.
pub fn whole_branch_files(entries: &[&Entry]) -> FileLists {
    let (mut read, mut modified) = (BTreeSet::new(), BTreeSet::new());
    for entry in entries {
        match &entry.kind {
            EntryKind::Message(logged) => {
                for (_, name, input) in logged.message.calls() {
                    let Some(path) = input["path"].as_str().filter(|path| !path.is_empty()) else { continue };
                    match name {
                        "read" => drop(read.insert(path.to_owned())),
                        "write" | "edit" => drop(modified.insert(path.to_owned())),
                        _ => {}
                    }
                }
            }
            EntryKind::Compaction(Compaction { details: Some(details), from_hook: false, .. })
            | EntryKind::BranchSummary(BranchSummary { details: Some(details), from_hook: false, .. }) => {
                note_lists(details, &mut read, &mut modified);
            }
            _ => {}
        }
    }
    FileLists {
        read_files: as_javascript_sorts(&read - &modified),
        modified_files: as_javascript_sorts(modified),
    }
}

fn as_javascript_sorts(paths: BTreeSet<String>) -> Vec<String> {
    let mut paths: Vec<_> = paths.into_iter().collect();
    paths.sort_by_key(|path| path.encode_utf16().collect::<Vec<_>>());
    paths
}
