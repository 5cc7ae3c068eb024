//! The settings of a session from two files: those of a user, and over them those of a project.
//! Document 2 names the sections `compaction` and `branchSummary`; the section `context` holds the
//! settings of document 4.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use wb_budget::{BudgetPolicy, ModelCard};
use wb_conductor::{AgentContext, AgentSettings, Compactor, SettingsError};
use wb_invoke::ModelInvoker;
use wb_record::lines::fault;

use crate::document2::settings::{CompactionSettings, SessionSettings, SessionSettingsError};

/// The most bytes of a settings file: far more than a user writes by hand, so a larger file is not
/// a settings file.
const MAX_SETTINGS_BYTES: u64 = 1 << 20;

/// The merged settings of two files.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct SettingsRead {
    /// The settings; what neither file sets has its default.
    pub settings: SessionSettings,
    /// Marks settings in which a file has the section `compaction`.
    pub sets_compaction: bool,
    /// The section `context` of the last file that has one.
    pub context: Option<AgentSettings>,
    /// The notes on the files for the user, the global one first.
    pub notes: Vec<SettingsNote>,
}

/// Something in a settings file that does no harm and is hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingsNote {
    /// An unknown key in a known section.
    UnknownKey {
        /// The file.
        path: PathBuf,
        /// The key with its section, as in `compaction.keepRecent`.
        key: String,
    },
    /// The file is empty, as one is that was only created or whose writer was stopped; it sets
    /// nothing.
    EmptyFile {
        /// The file.
        path: PathBuf,
    },
}

impl fmt::Display for SettingsNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { path, key } => {
                write!(f, "{}: the key {key} is not known and sets nothing", path.display())
            }
            Self::EmptyFile { path } => write!(f, "{}: the file is empty and sets nothing", path.display()),
        }
    }
}

/// The reasons why a settings file is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsFileError {
    /// The system failed.
    #[error("{}: the settings cannot be read: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Something else than a file has this path.
    #[error("{}: expected a settings file, found {found}", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// The actual content.
        found: &'static str,
    },
    /// The file is larger than any settings are.
    #[error("{}: expected at most {MAX_SETTINGS_BYTES} bytes of settings, found more", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not JSON in UTF-8.
    #[error("{}, line {line}, column {column}: not JSON: {what}", path.display())]
    NotJson {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The byte of the line, counted from 1, at which reading stopped.
        column: usize,
        /// The fault.
        what: String,
    },
    /// A value is of the wrong kind.
    #[error("{}: {source}", path.display())]
    BadValue {
        /// The file.
        path: PathBuf,
        /// The key, the expected value and the one found.
        source: SessionSettingsError,
    },
    /// The section `context` was refused.
    #[error("{}: context: {source}", path.display())]
    BadContext {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: SettingsError,
    },
}

impl SettingsFileError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "check that the file may be read",
            Self::NotAFile { .. } | Self::TooLarge { .. } => {
                "name a file with settings, or move this one away"
            }
            Self::NotJson { .. } => {
                "repair the file at this place; it must be one JSON object, in UTF-8 and without comments"
            }
            Self::BadValue { .. } | Self::BadContext { .. } => {
                "correct this value, or remove its key to get the default"
            }
        }
    }
}

/// Reads the sections `compaction`, `branchSummary` and `context` of two settings files, either of
/// which may be absent.
///
/// The project's file has priority over the global one, and that over the default, key by key,
/// except `context`, which counts as a whole. The host passes the paths; `None` is a file that the
/// host does not have. A path without a file gives neither error nor note; an empty file sets
/// nothing and gives a note. Other sections belong to the host.
///
/// # Errors
/// A file that cannot be read, that is not JSON, or that has a value of the wrong kind is refused
/// with its path, and nothing of the other one is returned.
pub fn read_settings(
    global: Option<&Path>,
    project: Option<&Path>,
) -> Result<SettingsRead, SettingsFileError> {
    let mut read = SettingsRead::default();
    for path in [global, project].into_iter().flatten() {
        if let Some(bytes) = bytes_of(path)? {
            read.take(path, &bytes)?;
        }
    }
    Ok(read)
}

/// The section of an agent's settings, as document 4 has them.
const CONTEXT: &str = "context";

impl SettingsRead {
    /// Builds a compactor for a model of a card, with the model that writes digests, if there is
    /// one.
    ///
    /// The section `compaction` sets when it fires, above the window less `reserveTokens`, and how
    /// much of the tail stays, `keepRecentTokens`; all else is up to the section `context`, or
    /// to the defaults of a [`Compactor`].
    pub fn compactor(
        &self,
        card: &ModelCard,
        invoke: Option<Arc<dyn ModelInvoker>>,
    ) -> Result<Compactor, SettingsError> {
        let compactor = match &self.context {
            Some(context) => context.compactor(card, invoke)?,
            None => invoke.into_iter().fold(Compactor::new().card(card.clone()), Compactor::summarizer),
        };
        let CompactionSettings { reserve_tokens, keep_recent_tokens, .. } = self.settings.compaction;
        let policy = BudgetPolicy {
            trigger_ratio: 1.0,
            keep_recent: keep_recent_tokens,
            reserve_tokens: Some(reserve_tokens),
        };
        Ok(if self.sets_compaction { compactor.policy(policy) } else { compactor })
    }

    /// Follows a transcript with a compactor; digests are asked for in the background above the
    /// threshold of the section `context`, or from three quarters of the limit on where there
    /// is none.
    pub fn follow(&self, compactor: Compactor, card: &ModelCard) -> AgentContext {
        if let Some(context) = &self.context {
            return context.follow(compactor, card);
        }
        let limit = compactor.budget().ok().map(|budget| budget.limit);
        AgentContext::from_compactor(compactor).start_above(limit.map(|limit| limit / 4 * 3))
    }

    fn take(&mut self, path: &Path, bytes: &[u8]) -> Result<(), SettingsFileError> {
        // Some editors write a byte order mark.
        let json = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        if json.trim_ascii().is_empty() {
            self.notes.push(SettingsNote::EmptyFile { path: path.to_owned() });
            return Ok(());
        }
        let file: Value = parse(json).map_err(|(line, column, what)| SettingsFileError::NotJson {
            path: path.to_owned(),
            line,
            column,
            what,
        })?;
        let overridden = self.settings.overridden_by(&file);
        let (settings, unknown) =
            overridden.map_err(|source| SettingsFileError::BadValue { path: path.to_owned(), source })?;
        self.settings = settings;
        self.sets_compaction |= file.get("compaction").is_some();
        let mut unknown = unknown;
        if let Some(section) = file.get(CONTEXT) {
            let read = AgentSettings::from_file(&section.to_string(), "");
            let (context, keys) =
                read.map_err(|source| SettingsFileError::BadContext { path: path.to_owned(), source })?;
            unknown.extend(keys.into_iter().map(|key| format!("{CONTEXT}.{key}")));
            self.context = Some(context);
        }
        self.notes
            .extend(unknown.into_iter().map(|key| SettingsNote::UnknownKey { path: path.to_owned(), key }));
        Ok(())
    }
}

/// Parses a file; what is wrong comes with its line and column.
fn parse(json: &[u8]) -> Result<Value, (usize, usize, String)> {
    let text = std::str::from_utf8(json).map_err(|error| {
        let before = &json[..error.valid_up_to()];
        let n_lines = before.split(|byte| *byte == b'\n').count();
        let n_bytes = before.rsplit(|byte| *byte == b'\n').next().map_or(0, <[u8]>::len);
        (n_lines, n_bytes + 1, "a byte that is not UTF-8".to_owned())
    })?;
    serde_json::from_str(text).map_err(|error| (error.line(), error.column(), fault(&error)))
}

/// Reads a file, nothing if there is none.
#[expect(clippy::disallowed_methods, reason = "the settings are the only files that this crate reads")]
fn bytes_of(path: &Path) -> Result<Option<Vec<u8>>, SettingsFileError> {
    let unreadable = |source| SettingsFileError::Unreadable { path: path.to_owned(), source };
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    // Asked before it is opened, which waits at a pipe.
    if !kind.is_file() {
        let found = if kind.is_dir() { "a directory" } else { "a device or a pipe" };
        return Err(SettingsFileError::NotAFile { path: path.to_owned(), found });
    }
    let mut bytes = Vec::new();
    let mut file = File::open(path).map_err(unreadable)?.take(MAX_SETTINGS_BYTES + 1);
    let n_bytes = file.read_to_end(&mut bytes).map_err(unreadable)?;
    if n_bytes as u64 > MAX_SETTINGS_BYTES {
        return Err(SettingsFileError::TooLarge { path: path.to_owned() });
    }
    Ok(Some(bytes))
}

/// Returns whether nothing is at a path: no such name, or a file where a folder of the path should
/// be.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
