//! Every step that files take fails once, and the power is cut after each.
//!
//! Steps are recorded while they are carried out. For a cut after the first so many of them there is every state that
//! a file system may leave: what was not synced is there, lost, torn at any byte or zeros, and names are as before
//! or as after each change of the folder, in any combination.
#![expect(clippy::disallowed_methods, reason = "files are touched here")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::{TempDir, TempPath};

use crate::change::{Bytes, Change, ChangeSet, CommitError};
use crate::disk::{Disk, Identity, System};
use crate::error::FileError;
use crate::file::{FileParts, append_line_on};
use crate::part::Parts;
use crate::settle::{Found, found};
use crate::write::write_new_on;

#[derive(Clone, Debug)]
enum Step {
    /// A file got a name.
    Name(String, Identity),
    /// A name is gone.
    Unname(String),
    SyncNames,
    Write(Identity, usize, Vec<u8>),
    Cut(Identity, usize),
    Sync(Identity),
    Failed,
    /// Somebody was told that so much is done.
    Acknowledged,
}

/// The disk of the system, whose steps are recorded and of which one may fail.
#[derive(Debug, Default)]
struct Recorder {
    steps: Mutex<Vec<Step>>,
    /// The step that fails, and how many bytes it writes before.
    fails: Option<(usize, usize)>,
}

fn identity(file: &File) -> Identity {
    Identity::of(&file.metadata().unwrap())
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

impl Recorder {
    fn push(&self, steps: impl IntoIterator<Item = Step>) {
        self.steps.lock().unwrap().extend(steps);
    }

    fn step<T>(&self, run: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.fails.is_some_and(|(at, _)| at == self.steps.lock().unwrap().len()) {
            self.push([Step::Failed]);
            return Err(io::ErrorKind::StorageFull.into());
        }
        run()
    }
}

impl Disk for Recorder {
    fn create(&self, path: &Path) -> io::Result<File> {
        let file = self.step(|| System.create(path))?;
        self.push([Step::Name(name(path), identity(&file))]);
        Ok(file)
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let at = usize::try_from(file.metadata()?.len()).unwrap();
        let part = self.fails.filter(|(step, n)| *n > 0 && *step == self.steps.lock().unwrap().len());
        let n_bytes = match part {
            Some((_, n)) => System.write(file, &bytes[..n.min(bytes.len() - 1)])?,
            None => self.step(|| System.write(file, bytes))?,
        };
        self.push([Step::Write(identity(file), at, bytes[..n_bytes].to_vec())]);
        Ok(n_bytes)
    }

    fn cut(&self, file: &File, len: u64) -> io::Result<()> {
        self.step(|| System.cut(file, len))?;
        self.push([Step::Cut(identity(file), usize::try_from(len).unwrap())]);
        Ok(())
    }

    fn sync(&self, file: &File) -> io::Result<()> {
        self.step(|| Ok(()))?;
        self.push([Step::Sync(identity(file))]);
        Ok(())
    }

    fn name(&self, draft: TempPath, path: &Path, overwrite: bool) -> io::Result<()> {
        let (from, file) = (name(&draft), identity(&File::open(&draft)?));
        self.step(|| System.name(draft, path, overwrite))?;
        self.push([Step::Name(name(path), file), Step::Unname(from)]);
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step(|| System.remove(path))?;
        self.push([Step::Unname(name(path))]);
        Ok(())
    }

    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        self.step(|| Ok(()))?;
        self.push([Step::SyncNames]);
        Ok(())
    }
}

/// What a folder holds.
type Files = BTreeMap<String, Vec<u8>>;

/// What a disk holds for sure, and the steps since that may not have reached it.
#[derive(Clone, Default)]
struct OnDisk {
    names: BTreeMap<String, Identity>,
    moves: Vec<Step>,
    data: BTreeMap<Identity, (Vec<u8>, Vec<Step>)>,
}

impl OnDisk {
    fn of(folder: &Path) -> Self {
        let mut disk = Self::default();
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            let file = identity(&File::open(&path).unwrap());
            disk.names.insert(name(&path), file);
            disk.data.insert(file, (fs::read(&path).unwrap(), Vec::new()));
        }
        disk
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Name(..) | Step::Unname(_) => self.moves.push(step.clone()),
            Step::SyncNames => self.names = self.names_after(u32::MAX),
            Step::Write(file, ..) | Step::Cut(file, _) => {
                self.data.entry(*file).or_default().1.push(step.clone());
            }
            Step::Sync(file) => {
                let (bytes, steps) = self.data.entry(*file).or_default();
                *bytes = steps.drain(..).fold(std::mem::take(bytes), |bytes, step| written(&bytes, &step));
            }
            Step::Failed | Step::Acknowledged => {}
        }
        if matches!(step, Step::SyncNames) {
            self.moves.clear();
        }
    }

    /// Returns the names after those moves whose bit is set.
    fn names_after(&self, chosen: u32) -> BTreeMap<String, Identity> {
        let mut names = self.names.clone();
        for (at, step) in self.moves.iter().enumerate() {
            match step {
                _ if chosen & (1 << at) == 0 => {}
                Step::Name(name, file) => drop(names.insert(name.clone(), *file)),
                Step::Unname(name) => drop(names.remove(name)),
                _ => {}
            }
        }
        names
    }

    /// Returns every state that a power cut may leave.
    fn states(&self) -> BTreeSet<Files> {
        let chosen = 0..1_u32 << self.moves.len();
        let names: BTreeSet<BTreeMap<String, Identity>> =
            chosen.map(|chosen| self.names_after(chosen)).collect();
        names.iter().flat_map(|names| self.folders(names)).collect()
    }

    fn folders(&self, names: &BTreeMap<String, Identity>) -> Vec<Files> {
        let mut folders = vec![Files::new()];
        for (name, file) in names {
            let (bytes, steps) = self.data.get(file).cloned().unwrap_or_default();
            let states = steps.iter().fold(BTreeSet::from([bytes]), |states, step| {
                states.iter().flat_map(|bytes| outcomes(bytes, step)).collect()
            });
            let with = |files: &Files, bytes: &Vec<u8>| {
                let mut files = files.clone();
                files.insert(name.clone(), bytes.clone());
                files
            };
            folders =
                folders.iter().flat_map(|files| states.iter().map(|bytes| with(files, bytes))).collect();
        }
        folders
    }
}

fn written(bytes: &[u8], step: &Step) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    match step {
        Step::Write(_, at, new) => {
            bytes.resize(bytes.len().max(at + new.len()), 0);
            bytes[*at..at + new.len()].copy_from_slice(new);
        }
        Step::Cut(_, len) => bytes.truncate(*len),
        _ => {}
    }
    bytes
}

/// Returns what a step may have done to a file: all, nothing, or a part of it.
fn outcomes(bytes: &[u8], step: &Step) -> Vec<Vec<u8>> {
    let mut all = vec![bytes.to_vec(), written(bytes, step)];
    if let Step::Write(file, at, new) = step {
        for n in 0..new.len() {
            let (begun, rest) = new.split_at(n);
            let torn = [begun.to_vec(), [begun, &vec![0; rest.len()]].concat(), [&vec![0; n], rest].concat()];
            all.extend(torn.map(|torn| written(bytes, &Step::Write(*file, *at, torn))));
        }
    }
    all
}

const LOG: &str = "s.jsonl";
const OLD: &[u8] = b"{\"a\":1}\n{\"b\":2}\n";

/// A folder with a session in it.
fn place() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(LOG), OLD).unwrap();
    folder
}

type Run<'a> = &'a dyn Fn(&Arc<dyn Disk>, &Path, &dyn Fn()) -> Result<(), CommitError>;

/// Cuts the power after each step of a run and hands each state over, with how much was acknowledged before it.
fn each_crash(before: &TempDir, run: Run<'_>, check: &dyn Fn(&Path, usize)) {
    let recorder = Arc::new(Recorder::default());
    let mut disk = OnDisk::of(before.path());
    let acknowledge = || recorder.push([Step::Acknowledged]);
    run(&(recorder.clone() as Arc<dyn Disk>), before.path(), &acknowledge).unwrap();
    let steps = recorder.steps.lock().unwrap().clone();
    let (mut n_acknowledged, mut seen) = (0, BTreeSet::new());
    for at in 0..=steps.len() {
        for files in disk.states().into_iter().filter(|files| seen.insert((n_acknowledged, files.clone()))) {
            let folder = tempfile::tempdir().unwrap();
            for (name, bytes) in &files {
                fs::write(folder.path().join(name), bytes).unwrap();
            }
            check(folder.path(), n_acknowledged);
        }
        if let Some(step) = steps.get(at) {
            disk.take(step);
            n_acknowledged += usize::from(matches!(step, Step::Acknowledged));
        }
    }
    assert!(seen.len() > 2, "{} states of {steps:?}", seen.len());
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
        bytes = change.apply(part, bytes).unwrap();
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

/// Does what a program does when it finds changes that were begun.
fn settle(path: &Path, set: &ChangeSet) -> Found {
    let mut parts = parts_of(path);
    let found = found(&parts, set).unwrap();
    if let Found::Torn(cut) = &found {
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
            assert!(can_tear || !matches!(found, Found::Torn(_)), "{set:?}: {there:?}");
            let expected = if found == Found::Finished { after(&set) } else { Some(OLD.to_vec()) };
            assert_eq!(bytes_of(&path), expected, "{set:?}: {there:?}");
            assert!(n_acknowledged == 0 || found == Found::Finished, "{set:?}: {there:?}");
        });
    }
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

/// Plans a change in a file of its own, carries it out, and says that it is done.
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
                is_new ^= settle(&log, &begun) == Found::Finished;
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

/// Lets each step of a run fail, and each write after so many bytes, and returns how many runs failed.
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
