//! Exports of whole logs: a session as is, and one of its paths as a new session.

use std::collections::{HashMap, HashSet};
use std::io::{self, Write};

use super::Session;
use super::migrate;
use crate::entry::encode::{self, NewSession, Place};
use crate::entry::{EntryKind, EntryTag, Label};
use crate::error::{SessionError, WRITTEN_VERSION};
use crate::id::{EntryId, IdSource};
use crate::tree::Node;
use wb_record::json;
use wb_record::lines::trimmed;

impl Session {
    /// Writes the whole log.
    ///
    /// A log of the present layout is written byte for byte, including lines that are not entries;
    /// one of an older layout is converted to the present one, and the unaffected parts stay byte
    /// for byte too. Each line gets a line feed, the last one as well.
    ///
    /// ```no_run
    /// use std::path::Path;
    /// use wb_record::write_new;
    /// use wb_session::store::jsonl::JsonlStore;
    /// use wb_session::{Durability, IdSource, Session, SessionError};
    ///
    /// let old = JsonlStore::open_for_reading("old.jsonl")?;
    /// let old = Session::open(Box::new(old), IdSource::new(1))?;
    /// let (path, mode_of) = (Path::new("present.jsonl"), Path::new("old.jsonl"));
    /// write_new::<SessionError>(path, Some(mode_of), false, |out| old.write_to(out))?;
    /// let store = JsonlStore::open(path, Durability::Always)?;
    /// let present = Session::open(Box::new(store), IdSource::new(1))?;
    /// # Ok::<(), SessionError>(())
    /// ```
    pub fn write_to(&self, out: &mut dyn Write) -> Result<(), SessionError> {
        let version = self.header().version;
        let is_old = version < WRITTEN_VERSION;
        let (mut number, mut has_header) = (0, false);
        let mut nodes = self.tree().nodes().enumerate().peekable();
        let mut written = Ok(());
        self.store.read_all(&mut |position, record| {
            if written.is_err() {
                return;
            }
            number += 1;
            let node = if is_old { nodes.next_if(|(_, node)| node.position == position) } else { None };
            let line = match node {
                Some((at, node)) => Some(migrate::entry(record, version, &node, at)),
                None if is_old && !has_header && !trimmed(record, number).is_empty() => {
                    has_header = true;
                    Some(migrate::header(record))
                }
                None => None,
            };
            written = write_line(out, line.as_deref().unwrap_or(record));
        })?;
        written.map_err(|source| SessionError::Io { line: number, source })
    }

    /// Writes the entries from an index in the log on, the first being 0, verbatim.
    pub fn write_entries(&self, from: usize, out: &mut dyn Write) -> Result<(), SessionError> {
        let mut record = Vec::new();
        for node in self.tree().nodes().skip(from) {
            self.store.read_at(node.position, &mut record)?;
            let written = write_line(out, &record);
            written.map_err(|source| SessionError::Io { line: node.line, source })?;
        }
        Ok(())
    }

    /// Writes the path to a leaf as the log of a new session.
    ///
    /// Entries keep their ids and their bytes. Labels are left out, and the entries after them are
    /// linked to the entry before; a compaction that keeps from a label on keeps from the entry
    /// after it. The labels of entries on the path, set on whatever branch, are written again at
    /// the end, dated like the new session.
    pub fn fork_to(
        &self,
        leaf: Option<&EntryId>,
        begin: &NewSession,
        ids: &mut IdSource,
        out: &mut dyn Write,
    ) -> Result<(), SessionError> {
        let path = self.tree().path(leaf)?;
        let successors = label_successors(&path);
        let mut line = 1;
        let failed = |line| move |source| SessionError::Io { line, source };
        write_line(out, &begin.line()).map_err(failed(line))?;
        let (mut parent, mut record) = (None, Vec::new());
        for node in path.iter().filter(|node| node.tag != EntryTag::Label) {
            line += 1;
            self.read_line(node, &mut record)?;
            if node.parent_id.as_ref() != parent {
                record = migrate::with_parent(&record, parent);
            }
            if node.tag == EntryTag::Compaction {
                remap_boundary(&mut record, &successors);
            }
            write_line(out, &record).map_err(failed(line))?;
            parent = Some(&node.id);
        }
        for label in self.labels_again(&path, parent, begin.timestamp, ids)? {
            line += 1;
            write_line(out, &label).map_err(failed(line))?;
        }
        Ok(())
    }

    /// Reads the line of an entry in the present layout.
    fn read_line(&self, node: &Node, line: &mut Vec<u8>) -> Result<(), SessionError> {
        self.store.read_at(node.position, line)?;
        let version = self.header().version;
        if version < WRITTEN_VERSION {
            *line = migrate::entry(line, version, node, self.tree().known(&node.id)?);
        }
        Ok(())
    }

    /// Returns lines that set the current labels of a path's entries.
    fn labels_again(
        &self,
        path: &[Node],
        last: Option<&EntryId>,
        timestamp: i64,
        ids: &mut IdSource,
    ) -> Result<Vec<Vec<u8>>, SessionError> {
        let kept = path.iter().filter(|node| node.tag != EntryTag::Label);
        let mut taken: HashSet<EntryId> = kept.map(|node| node.id.clone()).collect();
        let labels = self.tree().labels().filter(|(target, _)| taken.contains(*target));
        let labels: Vec<(EntryId, String)> =
            labels.map(|(target, label)| (target.clone(), label.to_owned())).collect();
        let mut parent = last.cloned();
        let mut lines = Vec::new();
        for (target_id, label) in labels {
            let id = ids.next_id(|id| taken.contains(id));
            let place = Place { id: &id, parent_id: parent.as_ref(), timestamp };
            lines.push(encode::line(place, &EntryKind::Label(Label { target_id, label: Some(label) }))?);
            taken.insert(id.clone());
            parent = Some(id);
        }
        Ok(lines)
    }
}

fn write_line(out: &mut dyn Write, line: &[u8]) -> io::Result<()> {
    out.write_all(line)?;
    out.write_all(b"\n")
}

/// Returns for each label of a path the entry after it that is none.
fn label_successors(path: &[Node]) -> HashMap<&EntryId, &EntryId> {
    let (mut next, mut successors) = (None, HashMap::new());
    for node in path.iter().rev() {
        match next {
            _ if node.tag != EntryTag::Label => next = Some(&node.id),
            Some(next) => {
                successors.insert(&node.id, next);
            }
            None => {}
        }
    }
    successors
}

fn remap_boundary(record: &mut Vec<u8>, successors: &HashMap<&EntryId, &EntryId>) {
    let boundary = json::get(record, "firstKeptEntryId");
    let boundary = boundary.and_then(|id| serde_json::from_slice::<EntryId>(id).ok());
    if let Some(new) = boundary.and_then(|id| successors.get(&id).copied()) {
        *record = migrate::with_first_kept(record, new);
    }
}
