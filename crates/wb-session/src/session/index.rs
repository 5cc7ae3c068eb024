//! The index of a log: the tree's facts about each entry, from its line or before it is written.

use std::borrow::Cow;

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
use wb_record::JsonScan;
use wb_record::lines::{Line, trimmed};

/// The members of a line that the index needs; the rest is checked to be JSON and skipped.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Probe<'a> {
    r#type: Cow<'a, str>,
    id: Option<EntryId>,
    parent_id: Option<EntryId>,
    #[serde(default, deserialize_with = "lenient::timestamp")]
    timestamp: i64,
    message: Option<Speaker<'a>>,
    target_id: Option<EntryId>,
    #[serde(default)]
    label: Value,
    #[serde(default)]
    name: Value,
}

#[derive(Debug, Deserialize)]
struct Speaker<'a> {
    role: Option<Cow<'a, str>>,
}

/// The label or the session name that an entry sets.
pub(crate) enum Naming {
    Nothing,
    /// An entry got a label or lost it.
    Label(EntryId, Option<String>),
    Name(Option<String>),
}

/// The facts of an entry that its line shows without reading its content.
pub(crate) struct EntryFacts {
    pub(crate) id: EntryId,
    parent_id: Option<EntryId>,
    timestamp: i64,
    pub(crate) tag: EntryTag,
    pub(crate) naming: Naming,
}

impl<'a> Probe<'a> {
    fn new(record: &'a [u8]) -> Result<Self, String> {
        if let Some(probe) = Self::at_a_glance(record) {
            return Ok(probe);
        }
        let line = Line::alone(0, record);
        line.parse::<Probe<'static>>().map_err(|error| wb_record::lines::fault(&error))
    }

    /// Reads a line in which every member appears once and has its usual kind, as in nearly all
    /// lines; none for others.
    fn at_a_glance(record: &'a [u8]) -> Option<Self> {
        let mut scan = JsonScan::new(std::str::from_utf8(record).ok()?);
        let (mut kind, mut id, mut parent_id, mut timestamp, mut message) = (None, None, None, None, None);
        scan.object(|key, scan| match &*key {
            "type" => once(&mut kind, scan.string()?),
            "id" => once(&mut id, EntryId::from(&*scan.string()?)),
            "parentId" if scan.peek()? == b'"' => once(&mut parent_id, Some(EntryId::from(&*scan.string()?))),
            "parentId" => once(&mut parent_id, (scan.value()? == "null").then_some(None)?),
            "timestamp" => once(&mut timestamp, parse_iso_ms(&scan.string()?).unwrap_or(0)),
            "message" => once(&mut message, Speaker::at_a_glance(scan)?),
            "targetId" | "label" | "name" => None,
            _ => scan.value().map(drop),
        })?;
        scan.end()?;
        scan.is_shallow().then_some(())?;
        Some(Self {
            r#type: kind?,
            id,
            parent_id: parent_id.flatten(),
            timestamp: timestamp.unwrap_or(0),
            message,
            target_id: None,
            label: Value::Null,
            name: Value::Null,
        })
    }

    fn into_facts(self) -> Result<EntryFacts, String> {
        let tag = EntryTag::from_line(&self.r#type, self.message.as_ref().and_then(|it| it.role.as_deref()));
        let naming = match (tag, self.target_id) {
            (EntryTag::Label, Some(target)) => Naming::Label(target, text(self.label)),
            (EntryTag::SessionInfo, _) => Naming::Name(text(self.name)),
            _ => Naming::Nothing,
        };
        let id = self.id.ok_or("missing field `id`")?;
        Ok(EntryFacts { id, parent_id: self.parent_id, timestamp: self.timestamp, tag, naming })
    }
}

impl<'a> Speaker<'a> {
    fn at_a_glance(scan: &mut JsonScan<'a>) -> Option<Self> {
        let mut role = None;
        scan.object(|key, scan| match &*key {
            "role" => once(&mut role, scan.string()?),
            _ => scan.value().map(drop),
        })?;
        Some(Self { role })
    }
}

/// Sets what is not set yet; nothing if it is.
fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.is_none().then(|| *place = Some(value))
}

impl EntryFacts {
    /// Returns the facts of an entry's kind; none for a kind whose line must be read.
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
    pub(crate) fn from_line(line: &[u8]) -> Result<Self, SessionError> {
        let facts = Probe::new(line).and_then(Probe::into_facts);
        facts.map_err(|what| SessionError::NotWritable { what })
    }
}

impl Tree {
    /// Adds an entry, and its facts about the whole session.
    pub(crate) fn take(&mut self, facts: EntryFacts, line: usize, position: u64) {
        let EntryFacts { id, parent_id, timestamp, tag, naming } = facts;
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
        let mut probe = Probe::new(line.bytes)?;
        if version < 2 {
            let n_before = self.tree.nodes().len();
            probe.id = Some(EntryId::of_record(n_before + 1));
            probe.parent_id = (n_before > 0).then(|| EntryId::of_record(n_before));
        }
        self.tree.take(probe.into_facts()?, line.number, position);
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
        || Probe::new(line.bytes).is_ok_and(|probe| probe.id.as_ref() == Some(id))
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

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"type":"message","id":"a1\n","parentId":"b2","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":[{"x":"\ud83d"}]},"more":[1]}"#;

    /// Returns what is read of a line at a glance, which must be what the parser reads.
    fn glance(line: &str) -> Option<String> {
        let probe = Probe::at_a_glance(line.as_bytes()).map(|probe| format!("{probe:?}"));
        let parsed = Line::alone(0, line.as_bytes()).parse::<Probe<'static>>();
        assert!(probe.is_none() || probe == parsed.ok().map(|parsed| format!("{parsed:?}")), "{line}");
        probe
    }

    #[test]
    fn a_glance_finds_what_the_parser_reads() {
        assert!(glance(LINE).is_some_and(|probe| probe.contains("user")));
        for (usual, other) in
            [("\"b2\"", "null"), ("\"id\":\"a1\\n\",", ""), ("2026-01-01T", "at "), ("1]", "1e9]")]
        {
            assert!(glance(&LINE.replace(usual, other)).is_some(), "{other}");
        }
        for (usual, odd) in [
            ("\"b2\"", "7"),
            ("\"type\":\"message\",", ""),
            ("\"more\"", "\"type\""),
            ("\"more\"", "\"message\""),
            ("\"more\"", "\"label\""),
            ("\"content\"", "\"role\""),
            ("\"2026-01-01T00:00:00Z\"", "7"),
            ("\"user\"", "null"),
            ("}]}", "]}"),
        ] {
            assert_eq!(glance(&LINE.replace(usual, odd)), None, "{odd}");
        }
        for (at, char) in LINE.char_indices() {
            glance(&LINE[..at]);
            glance(&[&LINE[..at], &LINE[at + char.len_utf8()..]].concat());
        }
    }

    #[test]
    fn what_no_parser_reads_is_read_by_no_glance() {
        let nested = |n| LINE.replace("[1]", &("[".repeat(n) + &"]".repeat(n)));
        assert!(glance(&nested(60)).is_some());
        for n in [100, 128, 200] {
            assert_eq!(glance(&nested(n)), None, "{n}");
        }
    }
}
