//! The settings of a session's summaries.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The tokens kept free for the model's answer.
const DEFAULT_RESERVE_TOKENS: u64 = 16_384;
/// The tokens of recent messages that a compaction keeps.
const DEFAULT_KEEP_RECENT_TOKENS: u64 = 20_000;

/// Settings for the time of a compaction and the part that stays; missing keys get the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompactionSettings {
    /// Enables automatic compaction; a compaction on request works either way.
    pub enabled: bool,
    /// The tokens of the window that are kept free for the model's answer.
    pub reserve_tokens: u64,
    /// The tokens of recent messages that are kept rather than summarized.
    pub keep_recent_tokens: u64,
}

impl Default for CompactionSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            reserve_tokens: DEFAULT_RESERVE_TOKENS,
            keep_recent_tokens: DEFAULT_KEEP_RECENT_TOKENS,
        }
    }
}

/// The part of an abandoned branch that goes into its summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BranchSummarySettings {
    /// The tokens of the window that are kept free for the prompt and the summary.
    pub reserve_tokens: u64,
}

impl Default for BranchSummarySettings {
    fn default() -> Self {
        Self { reserve_tokens: DEFAULT_RESERVE_TOKENS }
    }
}

/// The sections of a settings file that this crate knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionSettings {
    /// The section `compaction`.
    pub compaction: CompactionSettings,
    /// The section `branchSummary`.
    pub branch_summary: BranchSummarySettings,
}

/// Which setting was refused, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct SessionSettingsError {
    /// The key with its section, as in `compaction.reserveTokens`.
    pub key: String,
    /// The expected value.
    pub expected: &'static str,
    /// The value found, cut where it is long.
    pub found: String,
}

/// The most characters of a bad value that an error quotes.
const MAX_FOUND_CHARS: usize = 80;

/// Keys of these sections that belong to the host: pi asks by them whether to offer the summary of
/// a branch.
const HOST_KEYS: [&str; 1] = ["branchSummary.skipPrompt"];

impl SessionSettings {
    /// Reads the sections `compaction` and `branchSummary` of a settings file.
    ///
    /// Missing sections and keys get their defaults. The unknown keys of these sections are
    /// returned next to the settings, each with its section; other sections, and pi's
    /// `branchSummary.skipPrompt`, belong to the host. A value of the wrong kind is an error.
    pub fn from_value(file: &Value) -> Result<(Self, Vec<String>), SessionSettingsError> {
        Self::default().overridden_by(file)
    }

    /// Reads a settings file over these settings, as [`from_value`](Self::from_value) does over the
    /// defaults.
    pub fn overridden_by(mut self, file: &Value) -> Result<(Self, Vec<String>), SessionSettingsError> {
        let Value::Object(file) = file else { return Err(refused("settings", "an object", file)) };
        let mut unknown = Vec::new();
        for (name, value) in section(file, "compaction")? {
            let key = || format!("compaction.{name}");
            match name.as_str() {
                "enabled" => self.compaction.enabled = flag(value, key)?,
                "reserveTokens" => self.compaction.reserve_tokens = tokens(value, key)?,
                "keepRecentTokens" => self.compaction.keep_recent_tokens = tokens(value, key)?,
                _ => unknown.push(key()),
            }
        }
        for (name, value) in section(file, "branchSummary")? {
            let key = || format!("branchSummary.{name}");
            match name.as_str() {
                "reserveTokens" => self.branch_summary.reserve_tokens = tokens(value, key)?,
                _ => unknown.push(key()),
            }
        }
        unknown.retain(|key| !HOST_KEYS.contains(&key.as_str()));
        Ok((self, unknown))
    }
}

fn section<'a>(
    file: &'a Map<String, Value>,
    name: &str,
) -> Result<impl Iterator<Item = (&'a String, &'a Value)>, SessionSettingsError> {
    match file.get(name) {
        None => Ok(None.into_iter().flatten()),
        Some(Value::Object(section)) => Ok(Some(section).into_iter().flatten()),
        Some(other) => Err(refused(name, "an object", other)),
    }
}

fn flag(value: &Value, key: impl FnOnce() -> String) -> Result<bool, SessionSettingsError> {
    value.as_bool().ok_or_else(|| refused(key(), "true or false", value))
}

/// The largest number that every reader of JSON takes exactly.
const MAX_EXACT: u64 = (1 << 53) - 1;

fn tokens(value: &Value, key: impl FnOnce() -> String) -> Result<u64, SessionSettingsError> {
    let tokens = value.as_u64().filter(|tokens| *tokens <= MAX_EXACT);
    tokens.ok_or_else(|| refused(key(), "a whole number of tokens, not negative", value))
}

fn refused(key: impl Into<String>, expected: &'static str, found: &Value) -> SessionSettingsError {
    let found = found.to_string().chars().take(MAX_FOUND_CHARS).collect();
    SessionSettingsError { key: key.into(), expected, found }
}
