//! Changes of a session that are killed, find a full disk, or meet another writer.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use wb_testkit::random::Random;

use super::AttackResult;
use super::limited_program::{LimitedProgram, bytes, folder, word, write};

/// A session with a dozen large results.
const SESSION: &str = "fixtures/sessions/flaky-checkout.jsonl";

const COMPACT: [&str; 4] = ["compact", "--force", "--in-place", "--allow-open"];
const UNDO: [&str; 2] = ["undo", "--allow-open"];
const REDO: [&str; 2] = ["redo", "--allow-open"];

/// A copy of the session, on which a change is tried.
struct Trial<'a> {
    wb: &'a LimitedProgram,
    folder: TempDir,
    original: Vec<u8>,
    before: Vec<u8>,
    words: Vec<&'a str>,
}

impl<'a> Trial<'a> {
    /// Prepares a compaction, an undo or a redo.
    fn new(root: &Path, wb: &'a LimitedProgram, n: usize) -> Result<Self, String> {
        let (folder, original) = (folder()?, bytes(&root.join(SESSION))?);
        let words = [&COMPACT[..], &UNDO, &REDO][n % 3].to_vec();
        let mut trial = Self { wb, folder, original, before: Vec::new(), words };
        write(&trial.session(), &trial.original)?;
        for words in [&COMPACT[..], &UNDO].iter().take(n % 3) {
            trial.succeed(words)?;
        }
        trial.before = bytes(&trial.session())?;
        Ok(trial)
    }

    fn session(&self) -> PathBuf {
        self.folder.path().join("s.jsonl")
    }

    fn with_session<'w>(words: &[&'w str], session: &'w Path) -> Vec<&'w str> {
        [words, &[word(session)]].concat()
    }

    fn succeed(&self, words: &[&str]) -> Result<(), String> {
        let session = self.session();
        let ended = self.wb.run(&Self::with_session(words, &session), None)?;
        if ended.code == Some(0) { Ok(()) } else { Err(format!("{words:?}: {}", ended.stderr.trim_end())) }
    }

    /// Returns the fault if the session cannot return to how it was at first.
    fn fault(&self) -> Result<Option<String>, String> {
        let is_original = || Ok::<_, String>(bytes(&self.session())? == self.original);
        // A compaction and an undo that were not finished are settled first.
        let attempts: [&[&str]; 2] = [&UNDO, &["log"]];
        let ended = attempts.map(|words| self.succeed(words));
        if ended[1].is_err() {
            return Ok(ended[1].clone().err());
        }
        if is_original()? {
            self.succeed(&COMPACT)?;
            self.succeed(&UNDO)?;
        }
        Ok((!is_original()?).then(|| format!("{}: not as at first, {:?}", self.words[0], ended[0])))
    }
}

/// Kills changes after a random part of the time that they take.
pub(super) fn kills(root: &Path, wb: &LimitedProgram, n_runs: usize) -> Result<AttackResult, String> {
    let (mut random, mut faults) = (Random(1_336), Vec::new());
    let start = Instant::now();
    Trial::new(root, wb, 2)?;
    let most = usize::try_from(start.elapsed().as_micros()).unwrap_or(usize::MAX) / 2;
    for n in 0..n_runs {
        let trial = Trial::new(root, wb, n)?;
        let session = trial.session();
        let time = Duration::from_micros(random.below(most) as u64);
        wb.kill_after(&Trial::with_session(&trial.words, &session), time)?;
        faults.extend(trial.fault()?.map(|fault| format!("a kill, run {n}: {fault}")));
    }
    Ok(AttackResult { attack: "kills of compact, undo and redo", n_tried: n_runs, faults })
}

/// Limits the size of files, so that some write of a change fails.
pub(super) fn full_disks(root: &Path, wb: &LimitedProgram, n_runs: usize) -> Result<AttackResult, String> {
    let (mut random, mut faults) = (Random(970), Vec::new());
    for n in 0..n_runs {
        let trial = Trial::new(root, wb, n)?;
        let session = trial.session();
        let most = trial.before.len() / 1_024 + 40;
        let ended = wb.run(&Trial::with_session(&trial.words, &session), Some(random.below(most) as u64))?;
        let is_changed = bytes(&session)? != trial.before;
        let says =
            ["the session is unchanged", "the session was changed"].map(|says| ended.stderr.contains(says));
        let is_right = if ended.code == Some(0) { is_changed } else { says == [!is_changed, is_changed] };
        if let Some(fault) = ended.fault().or_else(|| (!is_right).then(|| ended.stderr.clone())) {
            faults.push(format!("a full disk, run {n}: {fault}"));
        }
        faults.extend(trial.fault()?.map(|fault| format!("a full disk, run {n}: {fault}")));
    }
    Ok(AttackResult { attack: "full disks in compact, undo and redo", n_tried: n_runs, faults })
}

/// Starts a change twice at once.
pub(super) fn two_writers(root: &Path, wb: &LimitedProgram, n_runs: usize) -> Result<AttackResult, String> {
    let mut faults = Vec::new();
    for n in 0..n_runs {
        let trial = Trial::new(root, wb, n)?;
        let session = trial.session();
        let words = Trial::with_session(&trial.words, &session);
        let failed = |error: std::io::Error| format!("two writers: {error}");
        let mut writers = [wb.start(&words).map_err(failed)?, wb.start(&words).map_err(failed)?];
        for writer in &mut writers {
            writer.wait().map_err(failed)?;
        }
        faults.extend(trial.fault()?.map(|fault| format!("two writers, run {n}: {fault}")));
    }
    Ok(AttackResult { attack: "two writers at once", n_tried: n_runs, faults })
}
