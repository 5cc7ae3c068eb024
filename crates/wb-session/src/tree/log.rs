//! The log: entries in the order of the file, and the tree that they form.

use std::collections::HashMap;
use std::fmt;
use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use super::climb;
use crate::entry::decode::{self, Envelope};
use crate::entry::lenient;
use crate::entry::{Entry, EntryKind};
use crate::error::{SessionError, Torn};
use crate::id::EntryId;
use wb_record::lines::{Line, Lines};

/// The version of the layout that this crate knows.
pub const NEWEST_VERSION: u64 = 3;

/// The first line of a session log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The session's name.
    pub id: String,
    /// The version of the layout: 1 if the line has none.
    #[serde(default = "first_version")]
    pub version: u64,
    /// The start of the session, in milliseconds since the Unix epoch; 0 if unknown.
    #[serde(default, deserialize_with = "lenient::timestamp")]
    pub timestamp: i64,
    /// The working directory.
    pub cwd: Option<String>,
    /// The session that this one was forked from.
    pub parent_session: Option<String>,
    /// The provider at the start, in files of version 1.
    pub provider: Option<String>,
    /// The model at the start, in files of version 1.
    pub model_id: Option<String>,
}

fn first_version() -> u64 {
    1
}

impl Header {
    /// Reads the header from the first line that is not blank.
    pub(crate) fn read(line: Line<'_>) -> Result<Self, SessionError> {
        let value: Value = line.parse().map_err(|error| SessionError::of_json(line.number, &error))?;
        let no_header = |found: &str| SessionError::NoHeader { line: line.number, found: found.to_owned() };
        match value.get("type").and_then(Value::as_str) {
            Some("session") => {
                Self::deserialize(value).map_err(|error| no_header(&wb_record::lines::fault(&error)))
            }
            Some(other) => Err(no_header(&format!("an object of type {other:?}"))),
            None => Err(no_header("JSON without a \"type\"")),
        }
    }
}

/// A note on something skipped during reading.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogNote {
    /// The last line was cut off while it was written, and was skipped.
    TruncatedLastLine {
        /// Its line.
        line: usize,
    },
    /// A line in the middle is no entry; it stays in the file and was skipped.
    BadLine {
        /// Its line.
        line: usize,
        /// The fault.
        what: String,
    },
    /// The entry at the start of a path follows one that is not in the log; nothing before it is
    /// seen.
    LostParent {
        /// Its line.
        line: usize,
    },
    /// Results without their call were left out of the context.
    OrphanResults {
        /// The number of them.
        n: usize,
    },
    /// Second results of a call were left out of the context.
    RepeatedResults {
        /// The number of them.
        n: usize,
    },
    /// Calls that will not be answered any more were left out of the context.
    UnansweredCalls {
        /// The number of them.
        n: usize,
    },
    /// The end of the last record was missing when the store was opened.
    TornRecord(Torn),
    /// The log claims a newer layout than this crate knows; it was read anyway.
    NewerVersion {
        /// The version in the header.
        version: u64,
    },
}

impl fmt::Display for LogNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TruncatedLastLine { line } => write!(f, "truncated last line skipped: line {line}"),
            Self::BadLine { line, what } => write!(f, "line {line} is no entry and was skipped: {what}"),
            Self::LostParent { line } => {
                write!(f, "line {line} follows an entry that is not in the log: nothing before it is seen")
            }
            Self::OrphanResults { n } => write!(f, "tool results without their call left out: {n}"),
            Self::RepeatedResults { n } => write!(f, "repeated tool results left out: {n}"),
            Self::UnansweredCalls { n } => write!(f, "tool calls without a result left out: {n}"),
            Self::TornRecord(torn) => torn.fmt(f),
            Self::NewerVersion { version } => write!(f, "newer layout than known: version {version}"),
        }
    }
}

/// A session log in memory.
///
/// It holds the content of its entries and no text of the file, so its size is about that of the
/// bodies in it.
#[derive(Clone, Debug)]
pub struct SessionLog {
    header: Header,
    entries: Vec<Entry>,
    by_id: HashMap<EntryId, usize>,
    notes: Vec<LogNote>,
}

impl SessionLog {
    /// Reads a log line by line.
    ///
    /// Blank lines are skipped. A last line without a line feed that is not JSON was cut off while
    /// it was written; it is skipped and [noted](Self::notes), as is any other line that is not an
    /// entry. An entry of which only the place can be read has no content, and is noted too.
    /// Layouts of version 1 and 2 are converted to version 3: entries get ids and form one chain,
    /// `firstKeptEntryIndex` becomes an id, `hookMessage` a custom message. A duplicate id refers
    /// to its last entry.
    pub fn read(input: impl BufRead) -> Result<Self, SessionError> {
        let mut lines = Lines::new(input);
        let mut log = Self::with_header(read_header(&mut lines)?);
        loop {
            let number = lines.number() + 1;
            let line = lines.next_line().map_err(|source| SessionError::Io { line: number, source })?;
            let Some(line) = line else { return Ok(log) };
            match log.read_entry(line) {
                Ok((entry, bad)) => {
                    log.notes.extend(bad.map(|what| LogNote::BadLine { line: line.number, what }));
                    log.push(entry);
                }
                Err(_) if line.is_truncated() => {
                    log.notes.push(LogNote::TruncatedLastLine { line: line.number });
                }
                Err(error) => {
                    let what = error.what();
                    log.notes.push(LogNote::BadLine { line: line.number, what });
                }
            }
        }
    }

    fn with_header(header: Header) -> Self {
        let mut notes = Vec::new();
        if header.version > NEWEST_VERSION {
            notes.push(LogNote::NewerVersion { version: header.version });
        }
        Self { header, entries: Vec::new(), by_id: HashMap::new(), notes }
    }

    /// Reads an entry, with what is wrong with it where only its place can be read.
    fn read_entry(&self, line: Line<'_>) -> Result<(Entry, Option<String>), SessionError> {
        let (mut envelope, mut kind, bad) = decode::read(line)?;
        if self.header.version < 2 {
            envelope.id = Some(EntryId::of_record(self.entries.len() + 1));
            envelope.parent_id = self.leaf().cloned();
            if let EntryKind::Compaction(compaction) = &mut kind {
                compaction.first_kept_entry_id = first_kept_of_version_1(line, self.entries.len());
            }
        }
        let id = envelope.id.ok_or_else(|| SessionError::BadEntry {
            line: line.number,
            what: "missing field `id`".to_owned(),
        })?;
        let Envelope { parent_id, timestamp, .. } = envelope;
        Ok((Entry { id, parent_id, timestamp, line: line.number, kind }, bad))
    }

    fn push(&mut self, entry: Entry) {
        self.by_id.insert(entry.id.clone(), self.entries.len());
        self.entries.push(entry);
    }

    /// Returns the first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns all entries in the order of the file, those on other branches among them.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the notes on everything skipped during reading.
    pub fn notes(&self) -> &[LogNote] {
        &self.notes
    }

    /// Returns the entry of a name; of several the last.
    pub fn entry(&self, id: &EntryId) -> Option<&Entry> {
        Some(&self.entries[*self.by_id.get(id)?])
    }

    /// Returns the leaf of the session: the last entry of the file, whatever its kind.
    pub fn leaf(&self) -> Option<&EntryId> {
        self.entries.last().map(|entry| &entry.id)
    }

    /// Returns the entries from a root to the leaf; no leaf is the place before the first entry.
    ///
    /// An entry whose parent is not in the log is a root. A leaf that is not in the log and an
    /// entry that is its own ancestor are errors.
    pub fn path(&self, leaf: Option<&EntryId>) -> Result<Vec<&Entry>, SessionError> {
        let Some(leaf) = leaf else { return Ok(Vec::new()) };
        let start = self.by_id.get(leaf).ok_or_else(|| SessionError::UnknownLeaf { id: leaf.clone() })?;
        let parent = |at: usize| self.by_id.get(self.entries[at].parent_id.as_ref()?).copied();
        let path = climb(*start, self.entries.len(), parent).map_err(|at| {
            let Entry { line, id, .. } = &self.entries[at];
            SessionError::Cycle { line: *line, id: id.clone() }
        })?;
        Ok(path.into_iter().map(|at| &self.entries[at]).collect())
    }
}

/// Returns the id for the index that a compaction of version 1 has: the header is 0, and only one
/// of the entries before it can be named.
pub(crate) fn first_kept_of_version_1(line: Line<'_>, n_before: usize) -> Option<EntryId> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Boundary {
        first_kept_entry_index: Option<Value>,
    }
    let index = line.parse::<Boundary>().ok()?.first_kept_entry_index?.as_u64()?;
    let index = usize::try_from(index).ok()?;
    (1..=n_before).contains(&index).then(|| EntryId::of_record(index))
}

fn read_header<R: BufRead>(lines: &mut Lines<R>) -> Result<Header, SessionError> {
    let number = lines.number() + 1;
    let line = lines.next_line().map_err(|source| SessionError::Io { line: number, source })?;
    Header::read(line.ok_or(SessionError::Empty)?)
}
