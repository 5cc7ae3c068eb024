//! Remembers what sessions are about and how full they are, for as long as their files do not
//! change.

use std::collections::HashMap;
use std::fs::{self, DirBuilder};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use wb_record::{FileError, write_new};

use super::agent_folders::FoundSession;
use super::session_head::SessionHead;
use crate::platform::environment::Environment;

/// The name of the file in the folder for caches, with the version of its lines.
const FILE: &str = "sessions-1.jsonl";

/// The subjects and figures of sessions; a damaged file has none, and is written again.
#[derive(Debug, Default)]
pub(crate) struct SessionCache {
    file: Option<PathBuf>,
    rows: HashMap<PathBuf, CachedSession>,
    is_changed: bool,
}

/// A session as it was read.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct CachedSession {
    path: PathBuf,
    n_bytes: u64,
    modified_ns: u64,
    head: SessionHead,
    #[serde(skip_serializing_if = "Option::is_none")]
    meter: Option<CachedMeter>,
}

/// The figures of a session, under the settings of this fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CachedMeter {
    pub(crate) settings: u64,
    pub(crate) format: String,
    pub(crate) messages: usize,
    pub(crate) tokens: u64,
    pub(crate) window: u64,
    pub(crate) limit: u64,
    pub(crate) trigger: u64,
    pub(crate) anchored: bool,
}

impl SessionCache {
    /// Reads the file; without one, nothing is known.
    pub(crate) fn read(environment: &Environment) -> Self {
        let file = environment.cache.as_deref().map(|folder| folder.join(FILE));
        let bytes = file.as_deref().and_then(|file| fs::read(file).ok()).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        let mut is_changed = false;
        let row =
            |line| serde_json::from_slice::<CachedSession>(line).inspect_err(|_| is_changed = true).ok();
        let rows = lines.filter_map(row).map(|row| (row.path.clone(), row)).collect();
        Self { file, rows, is_changed }
    }

    /// Returns the subject of a session, which is read if the file has changed since.
    pub(crate) fn head(&mut self, found: &FoundSession) -> SessionHead {
        if let Some(head) = &found.head {
            return head.clone();
        }
        self.row(found).head.clone()
    }

    /// Returns the figures of a session, if they were read since the file or the settings changed.
    pub(crate) fn meter(&mut self, found: &FoundSession, settings: u64) -> Option<CachedMeter> {
        self.row(found).meter.clone().filter(|meter| meter.settings == settings)
    }

    /// Remembers the figures of a session.
    pub(crate) fn set_meter(&mut self, found: &FoundSession, meter: CachedMeter) {
        self.row(found).meter = Some(meter);
        self.is_changed = true;
    }

    /// Writes what is known of these sessions; a failure only costs time.
    pub(crate) fn write<'a>(mut self, known: impl Iterator<Item = &'a Path>) {
        let Some(file) = self.file.take().filter(|_| self.is_changed) else { return };
        let mut folder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        let made = file.parent().map(|parent| folder.recursive(true).create(parent));
        if !matches!(made, Some(Ok(()))) {
            return;
        }
        let rows = known.filter_map(|path| self.rows.get(path));
        let lines = rows.filter_map(|row| serde_json::to_vec(row).ok());
        let text: Vec<u8> = lines.flat_map(|line| [line, b"\n".to_vec()]).flatten().collect();
        let failed = |source| FileError::Io { path: file.clone(), doing: "writing it", source };
        let _ = write_new(&file, None, true, |out: &mut dyn Write| out.write_all(&text).map_err(failed));
    }

    fn row(&mut self, found: &FoundSession) -> &mut CachedSession {
        let modified_ns = found.modified.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let modified_ns = u64::try_from(modified_ns).unwrap_or(u64::MAX);
        let is_changed = &mut self.is_changed;
        let mut read = || {
            *is_changed = true;
            let head = found.head.clone();
            let head = head.unwrap_or_else(|| SessionHead::read(&found.path).unwrap_or_default());
            CachedSession { path: found.path.clone(), n_bytes: found.n_bytes, modified_ns, head, meter: None }
        };
        let row = self.rows.entry(found.path.clone()).or_insert_with(&mut read);
        if row.n_bytes != found.n_bytes || row.modified_ns != modified_ns {
            *row = read();
        }
        row
    }
}
