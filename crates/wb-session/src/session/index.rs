//! The index of a log: what its tree learns of each entry, from the line or from what is about to be one.

use serde::Deserialize;
use serde_json::Value;

use crate::entry::encode::Place;
use crate::entry::lenient;
use crate::entry::timestamp::{iso_ms, parse_iso_ms};
use crate::entry::{EntryKind, EntryTag};
use crate::error::SessionError;
use crate::id::EntryId;
use crate::tree::log::{Header, LogNote, NEWEST_VERSION};
use crate::tree::{Node, Tree};
use wb_record::lines::{Line, trimmed};

/// What of a line the index needs; the rest is checked to be JSON and passed over.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe {
    r#type: String,
    id: Option<EntryId>,
    parent_id: Option<EntryId>,
    #[serde(default, deserialize_with = "lenient::timestamp")]
    timestamp: i64,
    message: Option<Speaker>,
    target_id: Option<EntryId>,
    #[serde(default)]
    label: Value,
    #[serde(default)]
    name: Value,
}

#[derive(Deserialize)]
struct Speaker {
    role: Option<String>,
}

/// What an entry says about the whole session.
pub(crate) enum Naming {
    Nothing,
    /// An entry got a label or lost it.
    Label(EntryId, Option<String>),
    Name(Option<String>),
}

/// What is known of an entry at a glance.
pub(crate) struct Seen {
    pub(crate) id: EntryId,
    parent_id: Option<EntryId>,
    timestamp: i64,
    pub(crate) tag: EntryTag,
    pub(crate) naming: Naming,
}

impl Probe {
    fn of(record: &[u8]) -> Result<Self, String> {
        let line = Line::alone(0, record);
        line.parse().map_err(|error| wb_record::lines::fault(&error))
    }

    fn seen(self) -> Result<Seen, String> {
        let tag = EntryTag::of(&self.r#type, self.message.as_ref().and_then(|it| it.role.as_deref()));
        let naming = match (tag, self.target_id) {
            (EntryTag::Label, Some(target)) => Naming::Label(target, text(self.label)),
            (EntryTag::SessionInfo, _) => Naming::Name(text(self.name)),
            _ => Naming::Nothing,
        };
        let id = self.id.ok_or("missing field `id`")?;
        Ok(Seen { id, parent_id: self.parent_id, timestamp: self.timestamp, tag, naming })
    }
}

impl Seen {
    /// Returns what the line of an entry tells; nothing for an entry of another kind, whose line must be looked at.
    pub(crate) fn of_kind(place: Place<'_>, kind: &EntryKind) -> Option<Self> {
        let naming = match kind {
            EntryKind::Other(_) => return None,
            EntryKind::Label(it) => Naming::Label(it.target_id.clone(), some_text(it.label.clone())),
            EntryKind::SessionInfo(it) => Naming::Name(some_text(it.name.clone())),
            _ => Naming::Nothing,
        };
        let timestamp = match place.timestamp {
            // The years from 0 to 9999 are read as they were written.
            ms @ -62_167_219_200_000..=253_402_300_799_999 => ms,
            ms => parse_iso_ms(&iso_ms(ms)).unwrap_or(0),
        };
        let (id, parent_id) = (place.id.clone(), place.parent_id.cloned());
        Some(Self { id, parent_id, timestamp, tag: kind.tag(), naming })
    }

    /// Looks at the line of an entry.
    pub(crate) fn of(line: &[u8]) -> Result<Self, SessionError> {
        let seen = Probe::of(line).and_then(Probe::seen);
        seen.map_err(|what| SessionError::NotWritable { what })
    }
}

impl Tree {
    /// Takes an entry in, and what it tells about the whole session.
    pub(crate) fn take(&mut self, seen: Seen, line: usize, position: u64) {
        let Seen { id, parent_id, timestamp, tag, naming } = seen;
        match naming {
            Naming::Label(target, label) => self.set_label(target, label),
            Naming::Name(name) => self.set_name(name),
            Naming::Nothing => {}
        }
        self.push(Node { id, parent_id, timestamp, tag, line, position });
    }
}

/// The index of a log as it grows.
#[derive(Default)]
pub(crate) struct Index {
    pub(crate) n_records: usize,
    pub(crate) header: Option<Result<Header, SessionError>>,
    pub(crate) tree: Tree,
    pub(crate) notes: Vec<LogNote>,
}

impl Index {
    pub(crate) fn take(&mut self, position: u64, record: &[u8]) {
        self.n_records += 1;
        let number = self.n_records;
        let line = Line::alone(number, trimmed(record, number));
        match &self.header {
            _ if line.bytes.is_empty() => {}
            None => self.header = Some(self.read_header(line)),
            Some(Err(_)) => {}
            Some(Ok(header)) => {
                let version = header.version;
                if let Err(what) = self.take_entry(line, position, version) {
                    self.notes.push(LogNote::BadLine { line: number, what });
                }
            }
        }
    }

    fn read_header(&mut self, line: Line<'_>) -> Result<Header, SessionError> {
        let header = Header::read(line)?;
        if header.version > NEWEST_VERSION {
            self.notes.push(LogNote::NewerVersion { version: header.version });
        }
        Ok(header)
    }

    fn take_entry(&mut self, line: Line<'_>, position: u64, version: u64) -> Result<(), String> {
        let mut probe = Probe::of(line.bytes)?;
        if version < 2 {
            let n_before = self.tree.nodes().len();
            probe.id = Some(EntryId::of_record(n_before + 1));
            probe.parent_id = (n_before > 0).then(|| EntryId::of_record(n_before));
        }
        self.tree.take(probe.seen()?, line.number, position);
        Ok(())
    }
}

/// Bytes at the start of a line, or at its end, within which most writers say whose it is.
const NEAR: usize = 256;

/// Returns whether a line is that of an entry.
pub(crate) fn is_of(line: Line<'_>, id: &EntryId) -> bool {
    let said = format!("\"id\":\"{id}\"");
    let says = |bytes: &[u8]| {
        let mut all = bytes.windows(said.len());
        all.any(|bytes| bytes.starts_with(b"\"id\"") && bytes == said.as_bytes())
    };
    let n = line.bytes.len().min(NEAR);
    says(&line.bytes[..n])
        || says(&line.bytes[line.bytes.len() - n..])
        || Probe::of(line.bytes).is_ok_and(|probe| probe.id.as_ref() == Some(id))
}

/// Returns a text that is not empty.
fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => some_text(Some(text)),
        _ => None,
    }
}

fn some_text(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.is_empty())
}
