//! Operations with their list on a disk that fails at each step or loses power after it.
#![expect(clippy::disallowed_methods, reason = "files are touched here")]

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use wb_message::{Message, ToolVocabulary};

use crate::format::{
    Abilities, Confidence, Document, Format, NotExpressible, ONLY_CONVERSATION, Stamp, Wanted, WriteError,
};
use crate::history::History;
use crate::history::error::HistoryError;
use crate::history::operation::OperationKind;
use crate::history::operation_list::history_path;
use crate::parts::change::{Bytes, Change, ChangeSet, CommitError};
use crate::parts::disk::Disk;
use crate::parts::disk::tests::simulated::{Recorder, each_crash};
use crate::parts::error::FormatError;
use crate::parts::file::FileParts;
use crate::parts::lines::Lines;
use crate::parts::part::{PartReader, Parts};
use crate::parts::probe::Probe;
use crate::parts::span::Span;
use crate::view::{Place, View};

const SESSION: &str = "s.jsonl";
const OLD: &[u8] = b"one\ntwo\n";

/// A format in which each line is a message of the user.
#[derive(Debug)]
struct Plain;

impl Format for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn abilities(&self) -> Abilities {
        Abilities::none("this is a test")
    }

    fn detect(&self, _: &Probe) -> Confidence {
        Confidence::Sure
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        Ok(Box::new(PlainDocument { parts }))
    }
}

#[derive(Debug)]
struct PlainDocument {
    parts: Box<dyn Parts>,
}

impl Document for PlainDocument {
    fn format(&self) -> &'static dyn Format {
        &Plain
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let mut view = View::new("plain", ToolVocabulary::default());
        let mut lines = Lines::new(PartReader::new(self.parts(), "", 0)?);
        while let Some(line) = lines.next_line()?.filter(|line| line.is_ended) {
            let message = Message::user(String::from_utf8_lossy(line.bytes).into_owned());
            let record = Span { at: line.at, len: line.bytes.len() as u64, ..Span::default() };
            view.provenance.push([Place::whole(record, &message)]);
            view.messages.push(message);
        }
        Ok(view)
    }

    fn render_changed(&self, _: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        Err(NotExpressible::unreadable("this is a test"))
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        Ok(())
    }
}

/// A folder with a session in it.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(SESSION), OLD).unwrap();
    folder
}

/// An append, a splice, and a cut.
fn changes() -> [Change; 3] {
    let bytes = |text: &str| Bytes(text.into());
    [
        Change::Append { at: OLD.len() as u64, new: bytes("three\n") },
        Change::Splice { at: 0, old: bytes("one"), new: bytes("zero") },
        Change::Cut { at: 4, old: bytes("two\n") },
    ]
}

fn after(change: &Change) -> Vec<u8> {
    change.apply("", Some(OLD)).unwrap().unwrap()
}

fn session_in(folder: &Path) -> Vec<u8> {
    fs::read(folder.join(SESSION)).unwrap()
}

fn open(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(PlainDocument, History), HistoryError> {
    let session = folder.join(SESSION);
    let list = history_path(&session);
    let parts = Box::new(FileParts::open_on(disk.clone(), session).map_err(CommitError::from)?);
    let list = if list.exists() {
        FileParts::open_on(disk.clone(), list).map_err(CommitError::from)?
    } else {
        FileParts::begin_on(disk.clone(), list)
    };
    Ok((PlainDocument { parts }, History::open(Box::new(list))?))
}

fn compact(disk: &Arc<dyn Disk>, folder: &Path, change: &Change) -> Result<(), HistoryError> {
    let (mut document, mut history) = open(disk, folder)?;
    let before = document.view(ONLY_CONVERSATION)?;
    let set = ChangeSet { changes: vec![(String::new(), change.clone())] };
    let kind = OperationKind::Compact;
    history.change(kind, &mut document, ONLY_CONVERSATION, &before, &set, &Stamp::default()).map(drop)
}

fn undo(disk: &Arc<dyn Disk>, folder: &Path) -> Result<(), HistoryError> {
    let (mut document, mut history) = open(disk, folder)?;
    history.settle(&mut document)?;
    history.undo(&mut document, None, &Stamp::default()).map(drop)
}

/// Settles what was interrupted, checks that the session is in one of two states, and that each
/// can be left by the way back and by another operation.
fn check_goes_on(folder: &Path, change: &Change) -> Vec<u8> {
    // It does not wait for the disk.
    let disk: Arc<dyn Disk> = Arc::new(Recorder::default());
    let (mut document, mut history) = open(&disk, folder).unwrap();
    history.settle(&mut document).unwrap();
    let there = session_in(folder);
    let is_new = there == after(change);
    assert!(is_new || there == OLD, "{change:?}: {there:?}");
    assert_eq!(history.find(None, false).is_ok(), is_new, "{change:?}: {history:?}");
    drop((document, history));
    if !is_new {
        compact(&disk, folder, change).unwrap();
        assert_eq!(session_in(folder), after(change));
    }
    undo(&disk, folder).unwrap();
    assert_eq!(session_in(folder), OLD);
    assert!(!open(&disk, folder).unwrap().1.is_truncated());
    there
}

#[test]
fn after_a_power_cut_an_operation_can_be_undone_or_was_not_begun() {
    for change in changes() {
        let run = |disk: &Arc<dyn Disk>, folder: &Path, done: &dyn Fn()| {
            let failed = |error: HistoryError| match error {
                HistoryError::Write(WriteError::Commit(error)) => error,
                error => panic!("{error}"),
            };
            compact(disk, folder, &change).map_err(failed)?;
            done();
            undo(disk, folder).map_err(failed)?;
            done();
            Ok(())
        };
        each_crash(&place(), &run, &|folder, n_acknowledged| {
            let there = check_goes_on(folder, &change);
            // The way back may have begun.
            assert!(n_acknowledged < 2 || there == OLD, "{change:?}: {there:?}");
        });
    }
}

#[test]
fn an_operation_that_fails_at_any_step_says_whether_the_session_changed() {
    for change in changes() {
        for is_undo in [false, true] {
            for at in 0.. {
                let folder = place();
                let path = folder.path();
                if is_undo {
                    compact(&(Arc::new(Recorder::default()) as _), path, &change).unwrap();
                }
                let before = session_in(path);
                let recorder = Arc::new(Recorder { fails: Some((at, at % 3)), ..Recorder::default() });
                let disk = recorder.clone() as Arc<dyn Disk>;
                let outcome = if is_undo { undo(&disk, path) } else { compact(&disk, path, &change) };
                let is_changed = session_in(path) != before;
                match &outcome {
                    Ok(()) | Err(HistoryError::NotMarked { .. }) => assert!(is_changed, "{outcome:?}"),
                    Err(HistoryError::Write(WriteError::Commit(CommitError::Unknown { .. }))) => {}
                    Err(error) => assert!(error.is_refused_write() && !is_changed, "{error}"),
                }
                check_goes_on(path, &change);
                if recorder.steps.lock().unwrap().len() <= at {
                    assert!(at > 4 && outcome.is_ok());
                    break;
                }
            }
        }
    }
}
