//! The list of operations as JSON lines, which is only appended to.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::history::error::HistoryError;
use crate::history::operation::Operation;
use crate::history::record_ref::RecordRef;
use crate::parts::change::{Bytes, Change, ChangeSet};
#[cfg(any(unix, windows))]
use crate::parts::file::{FileParts, append_line};
use crate::parts::lines::{Lines, fault};
#[cfg(any(unix, windows))]
use crate::parts::part::Access;
use crate::parts::part::{PartReader, Parts};

/// The suffix of a session's list of operations. Hosts list files by `.jsonl`, so the suffix
/// differs from that.
const LIST_SUFFIX: &str = ".wb-log";

/// Returns the path of the list of operations of a session, next to its file.
pub fn history_path(session: &Path) -> PathBuf {
    let mut name = session.as_os_str().to_owned();
    name.push(LIST_SUFFIX);
    PathBuf::from(name)
}

/// The suffix of the file that keeps the lines that a rebuilt list lost.
#[cfg(any(unix, windows))]
const UNREADABLE_SUFFIX: &str = ".unreadable";

/// One line of the list.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Entry {
    Planned(Box<Operation>),
    /// The session contains the operation; these are the records of the view after it and the bytes
    /// of the part without a name.
    Done {
        id: u64,
        after: Vec<RecordRef>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        n_bytes: Option<u64>,
    },
    /// The operation was not carried out.
    Dropped {
        id: u64,
    },
}

impl Entry {
    pub(crate) fn id(&self) -> u64 {
        match self {
            Self::Planned(operation) => operation.id,
            Self::Done { id, .. } | Self::Dropped { id } => *id,
        }
    }

    /// Returns the place of an entry that follows the beginning of another one on a line.
    fn at_end_of(line: &[u8]) -> Option<usize> {
        let starts = [&b"{\"planned\":"[..], b"{\"done\":", b"{\"dropped\":"];
        let at = starts.iter().filter_map(|start| memchr::memmem::rfind(line, start)).max()?;
        serde_json::from_slice::<Self>(&line[at..]).ok().map(|_| at)
    }
}

/// A line that is no entry.
#[derive(Debug)]
struct Unreadable {
    number: usize,
    at: u64,
    bytes: Vec<u8>,
    what: String,
}

/// The parts that hold the list.
#[derive(Debug)]
pub(crate) struct OperationList {
    parts: Box<dyn Parts>,
    /// The place of the last line if it is truncated; the next append removes it.
    truncated_at: Option<u64>,
}

impl OperationList {
    /// Opens the list next to a session's file; whoever opens it to write holds its lock.
    #[cfg(any(unix, windows))]
    pub(crate) fn open_for(session: &Path, access: Access) -> Result<Box<dyn Parts>, HistoryError> {
        let path = history_path(session);
        // Opening a pipe would wait for its writer.
        if path.metadata().is_ok_and(|there| !there.is_file()) {
            return Err(HistoryError::List(format!("{} is no regular file", path.display())));
        }
        let list = match access {
            _ if path.symlink_metadata().is_err() => Ok(FileParts::begin(path)),
            Access::Read => {
                FileParts::open_for_reading(path).map_err(|error| HistoryError::List(error.to_string()))
            }
            Access::Write => {
                FileParts::open(path).map_err(|error| HistoryError::ListNotWritten(error.to_string()))
            }
        };
        let mut list = list?;
        if access == Access::Write {
            list.hold().map_err(|error| HistoryError::from_list_error(&error))?;
        }
        Ok(Box::new(list))
    }

    /// Reads the list.
    pub(crate) fn read(parts: Box<dyn Parts>) -> Result<(Self, Vec<Entry>), HistoryError> {
        let ListLines { entries, unreadable, truncated_at } = lines(parts.as_ref())?;
        match unreadable.into_iter().next() {
            Some(Unreadable { number, what, .. }) => Err(HistoryError::DamagedList { line: number, what }),
            None => Ok((Self { parts, truncated_at }, entries)),
        }
    }

    /// Returns whether the last line is truncated.
    pub(crate) fn is_truncated(&self) -> bool {
        self.truncated_at.is_some()
    }

    pub(crate) fn into_parts(self) -> Box<dyn Parts> {
        self.parts
    }

    /// Appends an entry; a truncated line at the end is removed first.
    pub(crate) fn append(&mut self, entry: &Entry) -> Result<(), HistoryError> {
        let failed = |error: &dyn std::fmt::Display| HistoryError::List(error.to_string());
        let mut line = serde_json::to_vec(entry).map_err(|error| failed(&error))?;
        line.push(b'\n');
        if let Some(at) = self.truncated_at {
            let end = self.parts.len("").map_err(|error| failed(&error))?.unwrap_or(at);
            let mut old = Vec::new();
            self.parts.read("", at..end, &mut old).map_err(|error| failed(&error))?;
            let cut = ChangeSet { changes: vec![(String::new(), Change::Cut { at, old: Bytes(old) })] };
            self.parts.commit(&cut).map_err(|error| HistoryError::from_list_error(&error))?;
            self.truncated_at = None;
        }
        let end = self.parts.len("").map_err(|error| failed(&error))?;
        let set = match end {
            Some(end) => {
                // A whole last line may lack its line feed.
                if !self.parts.is_line_start(end).map_err(|error| failed(&error))? {
                    line.insert(0, b'\n');
                }
                ChangeSet::append("", end, line)
            }
            None => ChangeSet { changes: vec![(String::new(), Change::Create { new: Bytes(line) })] },
        };
        self.parts.commit(&set).map_err(|error| HistoryError::from_list_error(&error))
    }

    /// Returns the numbers of the lines that cannot be read in the list next to a session's file.
    #[cfg(any(unix, windows))]
    pub(crate) fn unreadable_lines(session: &Path) -> Result<Vec<usize>, HistoryError> {
        let ListLines { unreadable, .. } = lines(Self::open_for(session, Access::Read)?.as_ref())?;
        Ok(unreadable.iter().map(|line| line.number).collect())
    }

    /// Removes the lines that cannot be read from the list next to a session's file, after copying
    /// them to another file, and returns their numbers.
    #[cfg(any(unix, windows))]
    pub(crate) fn rebuild(session: &Path) -> Result<Vec<usize>, HistoryError> {
        let mut parts = Self::open_for(session, Access::Write)?;
        let ListLines { unreadable, .. } = lines(parts.as_ref())?;
        let (list, aside) = (history_path(session), unreadable_path(session));
        let mut changes = Vec::new();
        for line in &unreadable {
            append_line(&aside, Some(&list), &line.bytes)
                .map_err(|error| HistoryError::from_list_error(&error))?;
            let rest = Entry::at_end_of(&line.bytes).map_or(&[][..], |at| &line.bytes[at..]);
            let (old, new) = (Bytes(line.bytes.clone()), Bytes(rest.to_vec()));
            changes.push((String::new(), Change::Splice { at: line.at, old, new }));
        }
        // From the end on, so that no change moves the place of another.
        changes.reverse();
        parts.commit(&ChangeSet { changes }).map_err(|error| HistoryError::from_list_error(&error))?;
        Ok(unreadable.iter().map(|line| line.number).collect())
    }
}

/// Returns the path of the file that keeps the lines that a rebuilt list lost.
#[cfg(any(unix, windows))]
pub(crate) fn unreadable_path(session: &Path) -> PathBuf {
    let mut name = history_path(session).into_os_string();
    name.push(UNREADABLE_SUFFIX);
    PathBuf::from(name)
}

/// The lines of a list as they are read.
#[derive(Debug, Default)]
struct ListLines {
    entries: Vec<Entry>,
    /// The lines that are no entry, without a truncated last one.
    unreadable: Vec<Unreadable>,
    truncated_at: Option<u64>,
}

/// Reads the lines of a list.
///
/// A kill leaves a beginning of the last line, and a power cut may leave zeros in it.
fn lines(parts: &dyn Parts) -> Result<ListLines, HistoryError> {
    let failed = |error: io::Error| HistoryError::List(error.to_string());
    let mut lines = Lines::new(PartReader::new(parts, "", 0).map_err(failed)?);
    let (mut entries, mut unreadable) = (Vec::new(), Vec::new());
    let mut is_cut_off = false;
    while let Some(line) = lines.next_line().map_err(failed)? {
        match line.parse() {
            Ok(entry) => entries.push(entry),
            Err(error) => {
                let (number, at, bytes) = (line.number, line.at, line.bytes.to_vec());
                is_cut_off = line.is_truncated() || bytes.contains(&0);
                unreadable.push(Unreadable { number, at, bytes, what: fault(&error) });
                continue;
            }
        }
        is_cut_off = false;
    }
    let truncated_at = if is_cut_off { unreadable.pop().map(|line| line.at) } else { None };
    Ok(ListLines { entries, unreadable, truncated_at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::part::MemoryParts;

    #[test]
    fn only_the_last_line_may_be_truncated() {
        let parts = |text: &str| MemoryParts::from_bytes(text.as_bytes().to_vec());
        let read = |text: &str| OperationList::read(Box::new(parts(text)));
        let dropped = "{\"dropped\":{\"id\":1}}\n";
        for torn in ["{\"dropp", "\0\0\0", "{\"dro\0\0\0\0\n", "\0\0\":1}}\n"] {
            let (mut list, entries) = read(&format!("{dropped}{torn}")).unwrap();
            assert!(list.is_truncated() && entries.len() == 1, "{torn:?}");
            list.append(&Entry::Dropped { id: 2 }).unwrap();
            assert_eq!(
                list.parts.whole("").unwrap(),
                format!("{dropped}{}", dropped.replace('1', "2")).as_bytes()
            );
        }
        for torn in ["{\"dropp\n", "\0\0\n"] {
            let error = read(&format!("{dropped}{torn}{dropped}")).unwrap_err();
            assert!(matches!(error, HistoryError::DamagedList { line: 2, .. }), "{error}");
        }
    }

    #[cfg(any(unix, windows))]
    #[test]
    #[expect(clippy::disallowed_methods, reason = "files are touched here")]
    fn a_rebuilt_list_has_every_entry_that_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let session = folder.path().join("s.jsonl");
        let dropped = |id| format!("{{\"dropped\":{{\"id\":{id}}}}}");
        let torn = format!("{{\"planned\":{{\"id\":2,{}", dropped(3));
        let text = format!("{}\n{torn}\ngarbage\n{}\n", dropped(1), dropped(4));
        std::fs::write(history_path(&session), &text).unwrap();
        assert_eq!(OperationList::unreadable_lines(&session).unwrap(), [2, 3]);
        assert_eq!(std::fs::read_to_string(history_path(&session)).unwrap(), text);
        assert_eq!(OperationList::rebuild(&session).unwrap(), [2, 3]);
        let (_, entries) =
            OperationList::read(OperationList::open_for(&session, Access::Read).unwrap()).unwrap();
        assert_eq!(entries.iter().map(Entry::id).collect::<Vec<_>>(), [1, 3, 4]);
        let aside = std::fs::read_to_string(unreadable_path(&session)).unwrap();
        assert_eq!(aside, format!("{torn}\ngarbage\n"));
        assert!(OperationList::rebuild(&session).unwrap().is_empty());
    }
}
