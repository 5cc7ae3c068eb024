//! A disk whose steps are recorded, of which one may fail, and what a power cut leaves of them.
//!
//! A cut after a number of steps leads to every state that a file system may leave: unsynced bytes
//! are there, lost, torn at any byte or zeros, and names are as before or as after each change of
//! the folder, in any combination.
#![expect(clippy::disallowed_methods, reason = "files are touched here")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use tempfile::{TempDir, TempPath};

use crate::parts::change::CommitError;
use crate::parts::disk::{Disk, Identity, System};

#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// A file got a name.
    Name(String, Identity),
    /// A name was removed.
    Unname(String),
    SyncNames,
    Write(Identity, usize, Vec<u8>),
    Cut(Identity, usize),
    Sync(Identity),
    Failed,
    /// The caller was informed that this much is done.
    Acknowledged,
}

/// The disk of the system, whose steps are recorded and of which one may fail.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    pub(crate) steps: Mutex<Vec<Step>>,
    /// The step that fails, and the number of bytes that it writes first.
    pub(crate) fails: Option<(usize, usize)>,
}

fn identity(file: &File) -> Identity {
    Identity::from_metadata(&file.metadata().unwrap())
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

/// The files of a folder by name.
type Files = BTreeMap<String, Vec<u8>>;

/// The durable content of a disk, and the later steps that may not have reached it.
#[derive(Clone, Default)]
struct OnDisk {
    names: BTreeMap<String, Identity>,
    moves: Vec<Step>,
    data: BTreeMap<Identity, (Vec<u8>, Vec<Step>)>,
}

impl OnDisk {
    fn new(folder: &Path) -> Self {
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

/// Returns the possible effects of a step on a file: all, none, or a part of it.
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

pub(crate) type Run<'a> = &'a dyn Fn(&Arc<dyn Disk>, &Path, &dyn Fn()) -> Result<(), CommitError>;

/// Cuts the power after each step of a run and hands each state over, with how much was
/// acknowledged before it.
pub(crate) fn each_crash(before: &TempDir, run: Run<'_>, check: &dyn Fn(&Path, usize)) {
    let recorder = Arc::new(Recorder::default());
    let mut disk = OnDisk::new(before.path());
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
