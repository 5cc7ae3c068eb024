//! The recorded answers of pi about its sessions, row by row, and their comparison with ours.
//!
//! A part of the rows, with their sessions, is in the repository; the whole is next to it, and is
//! compared too if it is there.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wb_message::{Block, Message, Pairing};
use wb_record::Lines;
use wb_session::{
    BRANCH_SUMMARY_PREFIX, BranchSummary, COMPACTION_SUMMARY_PREFIX, Compaction, Entry, EntryId, EntryKind,
    FileLists, SESSION_PRESET, SessionLog, estimate_context, last_usage,
};

use crate::shared::{bytes_of, more_shared};

/// The older of the recorded versions.
pub const OLDER: &str = "0.55.4";
/// The newest of the recorded versions, which ours follows.
pub const NEWEST: &str = "1.5.2";

/// One recorded answer.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// The parameters.
    pub params: &'a Value,
    /// The recorded answer.
    pub output: &'a Value,
    /// The session; empty if the row has none.
    pub log: &'a SessionLog,
    /// The session's file.
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

/// The reasons for a difference from a recorded answer, none if it is equal; an error if no reason
/// holds.
pub type Verdict = Result<Vec<&'static str>, String>;

/// Recorded answers with the sessions that they are about.
#[derive(Debug)]
pub struct Recording {
    root: PathBuf,
    /// True for the whole recording, which is next to the repository; false for the part in it.
    pub is_whole: bool,
}

impl Recording {
    /// Returns the part that is in the repository, and the whole if it is there.
    pub fn all() -> Vec<Self> {
        let part = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/vectors");
        let whole = more_shared("vectors").map(|root| Self { root, is_whole: true });
        iter::once(Self { root: part, is_whole: false }).chain(whole).collect()
    }

    /// Reads the answers to an operation, those to each session together.
    ///
    /// # Panics
    /// Panics if there are none.
    pub fn rows(&self, op: &str) -> Vec<Value> {
        let bytes = bytes_of(&self.root.join("session.jsonl"));
        let mut lines = Lines::new(bytes.as_slice());
        let mut rows = Vec::new();
        while let Ok(Some(line)) = lines.next_line() {
            // The operation is near the start of its line.
            let start = String::from_utf8_lossy(&line.bytes[..line.bytes.len().min(300)]);
            if start.contains(&format!("\"op\": \"{op}\"")) {
                rows.push(line.parse().expect("a row of JSON"));
            }
        }
        assert!(!rows.is_empty(), "no answers to {op} in {}", self.root.display());
        rows
    }

    /// Finds the session of a row, `None` for a row without one.
    ///
    /// # Panics
    /// Panics if it is missing.
    pub fn session(&self, row: &Value) -> Option<PathBuf> {
        let file = row["file"].as_str().filter(|file| !file.is_empty())?;
        let places = [self.root.join(file), self.root.join("..").join(file)];
        Some(places.into_iter().find(|path| path.is_file()).unwrap_or_else(|| panic!("there is no {file}")))
    }
}

/// Returns whether a row is of a version.
///
/// # Panics
/// Panics if the row has no versions.
pub fn is_of(row: &Value, version: &str) -> bool {
    row["versions"].as_array().expect("versions").iter().any(|known| known == version)
}

/// Compares our answers with all answers of a version to an operation, and counts the reasons for
/// differences; the counts are those of the whole recording.
///
/// # Panics
/// Panics at an unexplained difference, and if the counts differ.
pub fn replay(
    op: &str,
    version: &str,
    (n_rows, n_equal): (usize, usize),
    reasons: &[(&'static str, usize)],
    mut compare: impl FnMut(Row<'_>) -> Verdict,
) {
    for recording in Recording::all() {
        let mut found: BTreeMap<&str, usize> = BTreeMap::new();
        let (mut n_found, mut n_same) = (0, 0);
        let mut open = (None, log_at(None));
        for row in recording.rows(op).iter().filter(|row| is_of(row, version)) {
            let file = recording.session(row);
            if open.0 != file {
                open = (file.clone(), log_at(file.as_deref()));
            }
            let (params, output) = (&row["params"], &row["output"]);
            let verdict = compare(Row { params, output, log: &open.1, file: file.as_deref() });
            let reasons =
                verdict.unwrap_or_else(|what| panic!("row {} in {file:?}, {params}: {what}", row["n"]));
            n_found += 1;
            n_same += usize::from(reasons.is_empty());
            for reason in reasons {
                *found.entry(reason).or_default() += 1;
            }
        }
        if recording.is_whole {
            assert_eq!((n_found, n_same), (n_rows, n_equal), "{op}, rows and equal ones; {found:?}");
            assert_eq!(found, reasons.iter().copied().collect(), "{op}, reasons of differences");
        } else {
            assert!(n_found > 0, "no answer to {op} of {version} is in the repository");
        }
    }
}

fn log_at(path: Option<&Path>) -> SessionLog {
    let empty = || br#"{"type":"session","version":3,"id":"s"}"#.to_vec();
    SessionLog::read(path.map_or_else(empty, bytes_of).as_slice()).expect("a log")
}

/// Returns the verdict on a single comparison: equal, else the reason if it holds.
pub fn judge(is_equal: bool, reason: &'static str, holds: bool, what: impl std::fmt::Debug) -> Verdict {
    match (is_equal, holds) {
        (true, _) => Ok(Vec::new()),
        (false, true) => Ok(vec![reason]),
        (false, false) => Err(format!("{what:?}")),
    }
}

/// Reads the raw entry of a file.
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

/// Reads the total in the usage of an entry in a file.
pub fn total_in_file(file: Option<&Path>, id: &EntryId) -> Option<u64> {
    entry_in_file(file, id)?["message"]["usage"]["totalTokens"].as_u64()
}

/// The replacement of half a surrogate pair at the end of a cut text.
const HALF: char = '\u{FFFD}';

/// Returns whether a text equals the recorded one; of a long text, length, start and end are
/// recorded.
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

/// Replaces our lead-ins before digests by the placeholders of the recorded texts.
pub fn mask_lead_ins(text: &str) -> String {
    let lead = |prefix| format!("{prefix}\n\n<summary>\n");
    text.replace(&lead(COMPACTION_SUMMARY_PREFIX), "{{COMPACTION_SUMMARY_PREFIX}}")
        .replace(&lead(BRANCH_SUMMARY_PREFIX), "{{BRANCH_SUMMARY_PREFIX}}")
}

/// Shortens a long result like the newest version, and returns whether it exceeds the limit in
/// bytes.
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

/// Returns whether a message equals the recorded one.
///
/// # Panics
/// Panics if the recorded one names an entry without a message.
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

/// Returns whether messages equal the recorded ones; of many messages, only the count is recorded.
pub fn are_messages(log: &SessionLog, recorded: &Value, ours: &[Message]) -> bool {
    if let Some(count) = recorded["$count"].as_u64() {
        return count == ours.len() as u64;
    }
    let recorded = recorded.as_array().map_or(&[][..], Vec::as_slice);
    recorded.len() == ours.len()
        && recorded.iter().zip(ours).all(|(theirs, ours)| is_message(log, theirs, ours))
}

/// A command hidden from the model is no message in ours; in theirs it is a message that is never
/// sent.
pub const EXCLUDED: &str = "a command kept from the model counts as no message";
/// JavaScript puts numeric keys first, writes some numbers with more characters and escapes half a
/// surrogate pair, which our reader repairs.
pub const JSON: &str = "arguments are written as in the log";
/// Ours is the sum of the parts instead of a smaller total.
pub const TOTAL: &str = "a total below its parts is not accepted";
/// Ours is the first kept entry with a message; theirs may be a label.
pub const MOVED: &str = "the cut is at the entry with the message, not at an earlier one without";
/// Theirs splits the turn at an entry without a message.
pub const WHOLE_TURN: &str = "a turn that is kept whole is not split by an entry without a message";
/// Ours keeps a pair on one side of the cut.
pub const PAIR: &str = "a call is not separated from its result";
/// Theirs are those of compactions alone.
pub const SUMMARY_FILES: &str = "files in the details of branch summaries are carried on";
/// Theirs are those of the summarized messages and of the details of branch summaries.
pub const ALL_FILES: &str = "files of messages that did not fit and of compactions' details are kept";

/// Returns whether a path has a command hidden from the model.
pub fn has_excluded(path: &[&Entry]) -> bool {
    path.iter().any(|entry| excluded_message(entry).is_some())
}

/// Returns a command hidden from the model.
pub fn excluded_message(entry: &Entry) -> Option<Message> {
    match &entry.kind {
        EntryKind::Message(logged) if logged.is_excluded => Some(logged.message.clone()),
        _ => None,
    }
}

/// Returns a path with all commands visible to the model.
pub fn with_all_commands(path: &[&Entry]) -> Vec<Entry> {
    let mut path: Vec<Entry> = path.iter().map(|entry| (*entry).clone()).collect();
    for entry in &mut path {
        if let EntryKind::Message(logged) = &mut entry.kind {
            logged.is_excluded = false;
        }
    }
    path
}

/// Returns whether the arguments of a message's calls contain a non-integer number, a numeric key,
/// or the mark of half a pair.
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

/// Returns the message of an entry for pairing.
pub fn message_of(entry: &Entry) -> Message {
    match &entry.kind {
        EntryKind::Message(logged) => logged.message.clone(),
        _ => Message::custom("other", "another entry"),
    }
}

/// Returns whether an entry is visible to a model.
pub fn gives_message(entry: &Entry) -> bool {
    match &entry.kind {
        EntryKind::Message(_) | EntryKind::CustomMessage(_) => true,
        EntryKind::BranchSummary(it) => !it.summary.is_empty(),
        _ => false,
    }
}

/// Returns whether a cut before entry `at` separates a pair.
pub fn splits_pair(entries: &[&Entry], at: usize) -> bool {
    let messages: Vec<_> = entries.iter().map(|entry| message_of(entry)).collect();
    !Pairing::new(&messages).is_legal(at)
}

/// Explains a difference between the first kept entries.
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

/// Explains a difference in the tokens before a compaction at the end of a path.
pub fn tokens_reason(row: &Row<'_>, path: &[&Entry], theirs: &Value, ours: u64) -> Verdict {
    let estimate = estimate_context(path, &SESSION_PRESET);
    let is_total = || {
        let (at, _) = last_usage(path)?;
        let total = total_in_file(row.file, &path[at].id)?;
        Some(total < estimate.usage_tokens && theirs.as_u64() == Some(total + estimate.trailing_tokens))
    };
    judge(theirs.as_u64() == Some(ours), TOTAL, is_total() == Some(true), ours)
}

/// Explains a difference between the file lists of a compaction of `head`: ours must be the
/// recorded files and those of the summarized branch summaries.
pub fn files_reason(theirs: &Value, head: &[&Entry], ours: &FileLists) -> Verdict {
    let (mut read, mut modified) = (BTreeSet::new(), BTreeSet::new());
    add_lists(theirs, &mut read, &mut modified);
    let is_equal = |read: &BTreeSet<String>, modified: &BTreeSet<String>| {
        read.iter().eq(sort(&ours.read_files)) && modified.iter().eq(sort(&ours.modified_files))
    };
    if is_equal(&read, &modified) {
        return Ok(Vec::new());
    }
    for entry in &head[summarized_from(head)..] {
        if let EntryKind::BranchSummary(it) = &entry.kind
            && let Some(details) = it.details.as_ref().filter(|_| !it.from_hook)
        {
            add_lists(details, &mut read, &mut modified);
        }
    }
    judge(false, SUMMARY_FILES, is_equal(&(&read - &modified), &modified), ours)
}

/// Adds the files listed in details.
fn add_lists(details: &Value, read: &mut BTreeSet<String>, modified: &mut BTreeSet<String>) {
    let listed = |key: &str| details[key].as_array().into_iter().flatten().filter_map(Value::as_str);
    read.extend(listed("readFiles").map(str::to_owned));
    modified.extend(listed("modifiedFiles").map(str::to_owned));
}

fn sort(paths: &[String]) -> BTreeSet<&String> {
    paths.iter().collect()
}

/// Returns the first entry that is not summarized yet: the first one kept by the last compaction,
/// else the one after it.
fn summarized_from(head: &[&Entry]) -> usize {
    let Some(at) = head.iter().rposition(|entry| is_compaction(entry)) else { return 0 };
    let kept = match &head[at].kind {
        EntryKind::Compaction(it) => it.first_kept_entry_id.as_ref(),
        _ => None,
    };
    head[..at].iter().position(|entry| Some(&entry.id) == kept).unwrap_or(at)
}

/// Returns the messages selected at a leaf, including commands hidden from the model.
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

/// Explains a difference between the file lists of a branch summary: ours must be those of the
/// whole branch, the recorded ones included.
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

/// Returns the files of a whole branch, by another algorithm.
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
                add_lists(details, &mut read, &mut modified);
            }
            _ => {}
        }
    }
    FileLists { read_files: sort_by_utf16(&read - &modified), modified_files: sort_by_utf16(modified) }
}

/// Sorts like JavaScript.
fn sort_by_utf16(paths: BTreeSet<String>) -> Vec<String> {
    let mut paths: Vec<_> = paths.into_iter().collect();
    paths.sort_by_key(|path| path.encode_utf16().collect::<Vec<_>>());
    paths
}
