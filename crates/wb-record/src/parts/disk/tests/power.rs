//! Every step that files take fails once, and the power is cut after each.
#![expect(clippy::disallowed_methods, reason = "files are touched here")]

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;

use crate::parts::change::{Bytes, Change, ChangeSet, CommitError};
use crate::parts::disk::Disk;
use crate::parts::disk::tests::simulated::{Recorder, each_crash};
use crate::parts::error::FileError;
use crate::parts::file::{FileParts, append_line_on};
use crate::parts::part::Parts;
use crate::parts::recover::{Progress, progress};
use crate::parts::write::write_new_on;

const LOG: &str = "s.jsonl";
const OLD: &[u8] = b"{\"a\":1}\n{\"b\":2}\n";

/// A folder with a session in it.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(LOG), OLD).unwrap();
    folder
}

fn set(changes: impl IntoIterator<Item = Change>) -> ChangeSet {
    ChangeSet { changes: changes.into_iter().map(|change| (String::new(), change)).collect() }
}

fn append(at: usize, new: &str) -> Change {
    Change::Append { at: at as u64, new: Bytes(new.into()) }
}

fn splice(at: u64, old: &str, new: &str) -> Change {
    Change::Splice { at, old: Bytes(old.into()), new: Bytes(new.into()) }
}

/// One set of each kind, on the old text.
fn sets() -> Vec<ChangeSet> {
    vec![
        set([append(OLD.len(), "{\"c\":3}\n")]),
        set([append(OLD.len(), "{\"c\":3}\n"), append(OLD.len() + 8, "{\"d\":4}\n")]),
        set([splice(5, "1", "100")]),
        set([splice(5, "1", ""), append(OLD.len() - 1, "{\"c\":3}\n")]),
        set([Change::Cut { at: 8, old: Bytes(OLD[8..].to_vec()) }]),
        set([Change::Remove { old: Bytes(OLD.to_vec()) }]),
    ]
}

fn after(set: &ChangeSet) -> Option<Vec<u8>> {
    let mut bytes = Some(OLD.to_vec());
    for (part, change) in &set.changes {
        bytes = change.apply(part, bytes.as_deref()).unwrap();
    }
    bytes
}

fn bytes_of(path: &Path) -> Option<Vec<u8>> {
    fs::read(path).ok()
}

fn parts_of(path: &Path) -> FileParts {
    // It does not wait for the disk.
    let disk = Arc::new(Recorder::default());
    FileParts::open_on(disk, path.to_owned()).unwrap_or_else(|_| FileParts::begin(path))
}

fn commit(disk: &Arc<dyn Disk>, path: &Path, set: &ChangeSet) -> Result<(), CommitError> {
    FileParts::open_on(disk.clone(), path.to_owned())?.commit(set)
}

/// Settles interrupted changes, as a program does that finds them.
fn settle(path: &Path, set: &ChangeSet) -> Progress {
    let mut parts = parts_of(path);
    let found = progress(&parts, set).unwrap();
    if let Progress::Torn(cut) = &found {
        parts.commit(cut).unwrap();
    }
    found
}

#[test]
fn after_a_power_cut_a_change_is_there_or_not_and_one_that_was_acknowledged_is_there() {
    for set in sets() {
        let run = |disk: &Arc<dyn Disk>, folder: &Path, done: &dyn Fn()| {
            commit(disk, &folder.join(LOG), &set)?;
            done();
            Ok(())
        };
        let can_tear = matches!(set.changes[0].1, Change::Append { .. });
        each_crash(&place(), &run, &|folder, n_acknowledged| {
            let path = folder.join(LOG);
            let there = bytes_of(&path);
            assert!(!can_tear || there.as_ref().unwrap().starts_with(OLD), "{set:?}: {there:?}");
            let found = settle(&path, &set);
            assert!(can_tear || !matches!(found, Progress::Torn(_)), "{set:?}: {there:?}");
            let expected = if found == Progress::Finished { after(&set) } else { Some(OLD.to_vec()) };
            assert_eq!(bytes_of(&path), expected, "{set:?}: {there:?}");
            assert!(n_acknowledged == 0 || found == Progress::Finished, "{set:?}: {there:?}");
        });
    }
}

#[test]
fn what_was_appended_without_waiting_is_there_once_it_was_waited_for() {
    let new = [&b"{\"c\":3}\n"[..], b"{\"d\":4}\n"];
    let run = |disk: &Arc<dyn Disk>, folder: &Path, done: &dyn Fn()| {
        let mut parts = FileParts::open_on(disk.clone(), folder.join(LOG))?;
        parts.append(OLD.len() as u64, new[0], false)?;
        parts.append((OLD.len() + new[0].len()) as u64, new[1], false)?;
        parts.sync().map_err(FileError::io(folder, "waiting"))?;
        done();
        Ok(())
    };
    each_crash(&place(), &run, &|folder, n_acknowledged| {
        let there = bytes_of(&folder.join(LOG)).unwrap();
        assert!(there.starts_with(OLD), "{there:?}");
        assert!(n_acknowledged == 0 || there == [OLD, new[0], new[1]].concat(), "{there:?}");
    });
}

#[test]
fn after_a_power_cut_a_whole_file_is_there_or_the_one_before() {
    let new = b"{\"new\":1}\n".repeat(3);
    for (name, before) in [("new.jsonl", None), (LOG, Some(OLD.to_vec()))] {
        let run = |disk: &Arc<dyn Disk>, folder: &Path, done: &dyn Fn()| {
            let content =
                |out: &mut dyn io::Write| out.write_all(&new).map_err(FileError::io(folder, "writing"));
            write_new_on(&**disk, &folder.join(name), None, before.is_some(), content)?;
            done();
            Ok(())
        };
        each_crash(&place(), &run, &|folder, n_acknowledged| {
            let there = bytes_of(&folder.join(name));
            assert!(there.as_ref() == Some(&new) || n_acknowledged == 0 && there == before, "{there:?}");
            assert_eq!(
                bytes_of(&folder.join(LOG)).is_some_and(|log| log == OLD),
                name != LOG || there == before
            );
        });
    }
}

const OPERATIONS: &str = "operations";

/// Plans a change in a separate file, carries it out, and records that it is done.
fn operate(disk: &Arc<dyn Disk>, folder: &Path, set: &ChangeSet) -> Result<(), CommitError> {
    let (log, operations) = (folder.join(LOG), folder.join(OPERATIONS));
    append_line_on(disk, &operations, Some(&log), &serde_json::to_vec(set).unwrap())?;
    commit(disk, &log, set)?;
    append_line_on(disk, &operations, None, b"done")
}

#[test]
fn after_a_power_cut_an_operation_is_done_or_not_begun_or_settled() {
    for set in sets() {
        let run = |disk: &Arc<dyn Disk>, folder: &Path, done: &dyn Fn()| {
            operate(disk, folder, &set)?;
            done();
            operate(disk, folder, &set.inverse())?;
            done();
            Ok(())
        };
        if matches!(set.changes[0].1, Change::Remove { .. }) {
            continue;
        }
        each_crash(&place(), &run, &|folder, n_acknowledged| {
            let operations = bytes_of(&folder.join(OPERATIONS)).unwrap_or_default();
            let whole = operations.rsplitn(2, |byte| *byte == b'\n').nth(1).unwrap_or_default();
            let mut lines: Vec<&[u8]> =
                whole.split(|byte| *byte == b'\n').filter(|it| !it.is_empty()).collect();
            let n_done = lines.iter().filter(|line| **line == b"done").count();
            assert!(n_done >= n_acknowledged, "{lines:?}");
            let log = folder.join(LOG);
            let mut is_new = n_done == 1;
            lines.retain(|line| *line != b"done" && !line.contains(&0));
            if let Some(begun) =
                lines.get(n_done).map(|line| serde_json::from_slice::<ChangeSet>(line).unwrap())
            {
                is_new ^= settle(&log, &begun) == Progress::Finished;
            }
            assert_eq!(bytes_of(&log), if is_new { after(&set) } else { Some(OLD.to_vec()) });
            append_line_on(&(Arc::new(Recorder::default()) as _), &folder.join(OPERATIONS), None, b"next")
                .unwrap();
            assert!(
                bytes_of(&folder.join(OPERATIONS)).unwrap().ends_with(b"\nnext\n") || operations.is_empty()
            );
        });
    }
}

#[test]
fn a_torn_end_that_is_moved_aside_is_in_one_of_the_two_files() {
    let place = place();
    let torn = b"{\"c\":";
    fs::write(place.path().join(LOG), [OLD, torn].concat()).unwrap();
    let run = |disk: &Arc<dyn Disk>, folder: &Path, done: &dyn Fn()| {
        append_line_on(disk, &folder.join("s.jsonl.torn"), Some(&folder.join(LOG)), torn)?;
        let cut = Change::Cut { at: OLD.len() as u64, old: Bytes(torn.to_vec()) };
        commit(disk, &folder.join(LOG), &set([cut]))?;
        done();
        Ok(())
    };
    each_crash(&place, &run, &|folder, n_acknowledged| {
        let log = bytes_of(&folder.join(LOG)).unwrap();
        let is_aside = bytes_of(&folder.join("s.jsonl.torn")).is_some_and(|aside| aside == b"{\"c\":\n");
        assert!(log == [OLD, torn].concat() && n_acknowledged == 0 || log == OLD && is_aside, "{log:?}");
    });
}

/// Fails each step of a run in turn, and each write after some bytes, and returns the number of
/// runs that failed.
fn each_failure(check: &dyn Fn(&Path, &Arc<dyn Disk>)) -> usize {
    for at in 0.. {
        for n_bytes in [0, 1, 5] {
            let (folder, recorder) =
                (place(), Arc::new(Recorder { fails: Some((at, n_bytes)), ..Recorder::default() }));
            check(folder.path(), &(recorder.clone() as Arc<dyn Disk>));
            let names: Vec<_> =
                fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            assert!(names.iter().all(|name| name == LOG || name == "new.jsonl"), "{names:?}");
            if recorder.steps.lock().unwrap().len() <= at {
                return at;
            }
        }
    }
    0
}

#[test]
fn a_change_that_fails_at_any_step_leaves_all_as_it_was_and_can_be_tried_again() {
    for set in sets() {
        let n_steps = each_failure(&|folder, disk| {
            let path = folder.join(LOG);
            let mut parts = FileParts::open_on(disk.clone(), path.clone()).unwrap();
            match parts.commit(&set) {
                Ok(()) => {}
                // The new bytes are there, and whether the disk has them is not known.
                Err(CommitError::Unknown { .. }) => assert_eq!(bytes_of(&path), after(&set)),
                Err(error) => {
                    assert!(matches!(error, CommitError::File(FileError::Io { .. })), "{error}");
                    assert_eq!(bytes_of(&path), Some(OLD.to_vec()), "{set:?}: {error}");
                    parts.commit(&set).unwrap();
                }
            }
            assert_eq!(
                (bytes_of(&path), parts.whole("").ok()),
                (after(&set), Some(after(&set).unwrap_or_default()))
            );
        });
        assert!(n_steps > 1, "{set:?}");
    }
}

#[test]
fn a_whole_file_that_fails_at_any_step_is_not_there() {
    let n_steps = each_failure(&|folder, disk| {
        let path = folder.join("new.jsonl");
        let content = |out: &mut dyn io::Write| {
            out.write_all(b"{\"new\":1}\n").map_err(FileError::io(&path, "writing it"))
        };
        let written = write_new_on(&**disk, &path, None, false, content);
        let is_whole = bytes_of(&path).map(|bytes| bytes == b"{\"new\":1}\n");
        assert!(is_whole != Some(false) && (written.is_err() || is_whole.is_some()), "{written:?}");
    });
    assert!(n_steps > 4);
}
