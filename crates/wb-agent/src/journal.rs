//! The files of logs: one for each session.

use std::fs;
use std::path::{Path, PathBuf};

use wb_session::store::jsonl::JsonlStore;
use wb_session::{Durability, IdSource, NewSession, Session, SessionError, iso_ms};

use crate::clock::now_ms;
use crate::error::AgentError;

/// An append-only log.
#[derive(Debug)]
pub struct Journal {
    pub(crate) session: Session,
    pub(crate) path: PathBuf,
}

impl Journal {
    /// Creates a log in a folder of logs, for an agent that works in `cwd`.
    pub fn create(folder: &Path, cwd: &Path) -> Result<Self, AgentError> {
        fs::create_dir_all(folder).map_err(AgentError::of_file(folder.display().to_string()))?;
        let now = now_ms();
        let id = format!("{}_{}", iso_ms(now).replace(':', "-"), std::process::id());
        let path = folder.join(format!("{id}.jsonl"));
        let begin = NewSession { id, timestamp: now, cwd: cwd.display().to_string(), parent_session: None };
        let store = JsonlStore::create(&path, Durability::OnClose).map_err(SessionError::from)?;
        let session = Session::create(Box::new(store), &begin, ids(now))?;
        Ok(Self { session, path })
    }

    /// Opens a log to resume it.
    pub fn open(path: &Path) -> Result<Self, AgentError> {
        let store = JsonlStore::open(path, Durability::OnClose).map_err(SessionError::from)?;
        let session = Session::open(Box::new(store), ids(now_ms()))?;
        Ok(Self { session, path: path.to_owned() })
    }

    /// Finds the newest log of an agent that works in `cwd`.
    pub fn newest(folder: &Path, cwd: &Path) -> Option<PathBuf> {
        let mut paths: Vec<PathBuf> =
            fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
        paths.sort();
        let is_ours = |path: &PathBuf| {
            let session = JsonlStore::open_for_reading(path).ok();
            let session = session.and_then(|store| Session::open(Box::new(store), IdSource::new(0)).ok());
            session.is_some_and(|it| it.header().cwd.as_deref() == Some(&*cwd.to_string_lossy()))
        };
        paths.into_iter().rev().find(is_ours)
    }
}

fn ids(now: i64) -> IdSource {
    IdSource::new(now.unsigned_abs() ^ (u64::from(std::process::id()) << 40))
}
