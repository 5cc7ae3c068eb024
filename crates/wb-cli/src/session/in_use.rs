//! Detects whether another program is working on a session.

use std::fs::{File, TryLockError};
use std::path::Path;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use wb_formats::codex::lock_path;
use wb_record::{Document, History};

#[cfg(feature = "postgres")]
use crate::args::database_url::is_database;
use crate::session::find::database::file_of;
#[cfg(feature = "postgres")]
use crate::session::find::postgres;
use crate::terminal::user_error::UserError;

/// The time since the last write after which a session counts as idle.
const QUIET: Duration = Duration::from_secs(10);

/// Refuses a session that another program is working on, except for this program's last write. `or`
/// names an alternative for the user, after a comma.
pub(crate) fn refuse_in_use(
    path: &Path,
    document: &dyn Document,
    history: &History,
    or: &str,
) -> Result<(), UserError> {
    #[cfg(feature = "postgres")]
    if is_database(path) {
        return postgres::refuse_open(path, or);
    }
    let path = file_of(path);
    refuse_locked(path, document, or)?;
    refuse_busy(path, SystemTime::now(), or, || history.is_last_write(document).unwrap_or(false))
}

/// Refuses a session that another program has open or has just written to.
fn refuse_busy(
    path: &Path,
    now: SystemTime,
    or: &str,
    is_own_write: impl FnOnce() -> bool,
) -> Result<(), UserError> {
    let refused = |what: String, first: &str| {
        let hint = format!("{first}{or}; pass --allow-open to write anyway");
        Err(UserError::of_file(path.display().to_string(), what, hint))
    };
    if let Some(program) = holder(path) {
        return refused(format!("is open in {program}"), "close the session there, or end that program");
    }
    match last_write(path).and_then(|written| now.duration_since(written).ok()) {
        Some(age) if age < QUIET && !is_own_write() => {
            let first = "wait ten seconds and try again, or stop the agent";
            refused("was written to in the last ten seconds".to_owned(), first)
        }
        _ => Ok(()),
    }
}

/// Refuses a Codex session whose lock is held: Codex may hold one even after its window is closed.
fn refuse_locked(path: &Path, document: &dyn Document, or: &str) -> Result<(), UserError> {
    let is_codex = document.format().name() == "codex";
    let sessions = path.ancestors().find(|folder| folder.ends_with("sessions")).filter(|_| is_codex);
    let Some(home) = sessions.and_then(Path::parent) else { return Ok(()) };
    // An unreadable file fails later, when it is changed.
    let lock = lock_path(document.parts(), home).ok().flatten();
    if lock.and_then(|lock| File::open(lock).ok()).is_none_or(|lock| !is_held(&lock)) {
        return Ok(());
    }
    let hint = format!("close the session there, or end Codex{or}; pass --allow-open to write anyway");
    Err(UserError::of_file(path.display().to_string(), "is locked by Codex", hint))
}

fn is_held(lock: &File) -> bool {
    matches!(lock.try_lock(), Err(TryLockError::WouldBlock))
}

/// Returns the time of the last write to a file; a database keeps its newest rows in a separate
/// file.
fn last_write(path: &Path) -> Option<SystemTime> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-wal");
    let written = |path: &Path| path.metadata().and_then(|file| file.modified()).ok();
    written(path).max(written(Path::new(&journal)))
}

/// Returns another program that has a file open, as far as the system reports it.
#[cfg(target_os = "linux")]
fn holder(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let own = std::process::id().to_string();
    let programs = Path::new("/proc").read_dir().ok()?.flatten().map(|entry| entry.path());
    let is_number = |folder: &PathBuf| {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) && name != own
    };
    let has_open = |folder: &PathBuf| {
        let files = folder.join("fd").read_dir().into_iter().flatten().flatten();
        files.filter_map(|file| file.path().read_link().ok()).any(|open| open == path)
    };
    let holder = programs.filter(is_number).find(has_open)?;
    let name = std::fs::read_to_string(holder.join("comm")).unwrap_or_default();
    let id = holder.file_name()?.to_str()?.to_owned();
    Some(format!("{} (process {id})", name.trim()))
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &Path) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_was_written_just_now_is_refused_and_an_old_one_is_not() {
        // A program that another test is about to start would have it open for a moment too.
        let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        let written = file.metadata().unwrap().modified().unwrap();
        let refused =
            |seconds| refuse_busy(&file, written + Duration::from_secs(seconds), "", || false).is_err();
        assert!(refused(0) && refused(9) && !refused(10));
        assert!(refuse_busy(&file, written, "", || true).is_ok());
    }

    #[test]
    fn a_session_of_codex_whose_lock_is_held_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let (sessions, locks) = (home.path().join("sessions/2026"), home.path().join("thread-writer-locks"));
        std::fs::create_dir_all(&sessions).unwrap();
        std::fs::create_dir_all(&locks).unwrap();
        let rollout = sessions.join("rollout-1.jsonl");
        let meta = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s-1"}}"#;
        std::fs::write(&rollout, meta).unwrap();
        let document = wb_formats::open_path(&rollout, wb_record::Access::Read).unwrap();
        let refused = || refuse_locked(&rollout, document.as_ref(), "").map_err(|error| error.to_string());
        assert_eq!(refused(), Ok(()));
        let lock = File::create(locks.join("s-1.lock")).unwrap();
        assert_eq!(refused(), Ok(()));
        lock.lock().unwrap();
        assert!(refused().is_err_and(|error| error.contains("is locked by Codex")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_session_that_another_program_has_open_is_refused() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let reader = file.reopen().unwrap();
        std::io::Write::flush(&mut file).unwrap();
        let mut other = std::process::Command::new("sleep").arg("60").stdin(reader).spawn().unwrap();
        let later = SystemTime::now() + QUIET * 2;
        let refused = refuse_busy(file.path(), later, "", || true).map_err(|error| error.to_string());
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(refused.is_err_and(|error| error.contains("is open in sleep (process ")));
    }
}
