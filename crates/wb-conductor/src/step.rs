//! The steps of a pipeline as data: [`Step`] is a pass, the digest of the head, or the restored
//! files, each with its options.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wb_passes::{PASSES, Pass, pass_entry};

/// The name of the step that drops messages of the user's choice, in reports.
pub const DROP: &str = "drop";
/// The name of the step that folds the head into a digest, in reports and settings.
pub const DIGEST: &str = "digest";
/// The name of the step that restores files, in reports and settings.
pub const RESTORE: &str = "restore";

/// The most files that a compaction restores by default.
pub const DEFAULT_MAX_RESTORED: usize = 5;

/// The reason for a compaction: a gate that fires, or a host that asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// Nothing is planned unless the transcript is over budget.
    #[default]
    Auto,
    /// The steps run whatever the transcript weighs (a manual `/compact`); a digest then takes
    /// everything before the last prompt.
    Forced,
    /// The provider refused the transcript for its length: as `Forced`, and whatever it saves is
    /// worth it.
    Overflow,
}

/// One step of a [`Pipeline`](crate::Pipeline).
#[derive(Clone)]
#[non_exhaustive]
pub enum Step {
    /// A pass that runs while the transcript is over its target; its patch must be lighter.
    Pass(Arc<dyn Pass>),
    /// A pass that runs whether or not the transcript is over budget, and may add weight.
    Always(Arc<dyn Pass>),
    /// Drops messages of the user's choice; it runs once, before all passes.
    Drop(DropStep),
    /// Folds the head into one digest, written by a model if there is one.
    Digest(DigestStep),
    /// Restores the files that the head read last; it adds weight within its share.
    Restore(RestoreStep),
}

/// The options of a step that restores files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RestoreStep {
    /// The most files.
    pub max_files: usize,
}

impl Default for RestoreStep {
    fn default() -> Self {
        Self { max_files: DEFAULT_MAX_RESTORED }
    }
}

/// The options of a step that folds the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DigestStep {
    /// Keeps a latest prompt before the cut if it is too long for a digest.
    pub keep_prompt: bool,
    /// The least number of newest messages that stay.
    pub min_recent_messages: usize,
    /// A cut chosen by the host: the index of the first message that stays, whatever the budget.
    #[serde(skip)]
    pub cut: Option<usize>,
}

impl Default for DigestStep {
    fn default() -> Self {
        Self { keep_prompt: true, min_recent_messages: 0, cut: None }
    }
}

/// The options of a step that drops messages.
///
/// A call goes with its results. Pinned messages, digests, the last prompt and calls in flight
/// stay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DropStep {
    /// The indices of messages of the input.
    pub messages: Vec<usize>,
    /// Clears the results and leaves the rest, for a format that has no gaps.
    pub clears_only: bool,
}

impl Step {
    /// Builds a step of a pass that runs while the transcript is over its target.
    pub fn pass(pass: impl Pass + 'static) -> Self {
        Self::Pass(Arc::new(pass))
    }

    /// Builds a step of a pass that always runs.
    pub fn always(pass: impl Pass + 'static) -> Self {
        Self::Always(Arc::new(pass))
    }

    /// Builds a step from settings; see
    /// [`Pipeline::from_settings`](crate::Pipeline::from_settings).
    pub(crate) fn from_settings(settings: &Value) -> Result<Self, String> {
        let mut options = match settings {
            Value::Object(options) => options.clone(),
            _ => Map::new(),
        };
        let name = options.remove("step").unwrap_or_else(|| settings.clone());
        let name = name.as_str().ok_or("it is neither a name nor an object with a `step`")?.replace('_', "-");
        let message = |error: serde_json::Error| error.to_string();
        match name.as_str() {
            DIGEST => serde_json::from_value(Value::Object(options)).map(Self::Digest).map_err(message),
            RESTORE => serde_json::from_value(Value::Object(options)).map(Self::Restore).map_err(message),
            _ => {
                let entry = pass_entry(&name).ok_or_else(|| unknown_step(&name))?;
                let pass = entry.build(&options).map_err(message)?;
                Ok(if entry.always { Self::Always(pass) } else { Self::Pass(pass) })
            }
        }
    }

    /// Returns the step's name, as in reports and settings.
    pub fn name(&self) -> &str {
        match self {
            Self::Pass(pass) | Self::Always(pass) => pass.name(),
            Self::Drop(_) => DROP,
            Self::Digest(_) => DIGEST,
            Self::Restore(_) => RESTORE,
        }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

fn unknown_step(name: &str) -> String {
    let passes = PASSES.iter().map(|entry| entry.pass().name().to_owned());
    let all: Vec<String> = passes.chain([DIGEST.to_owned(), RESTORE.to_owned()]).collect();
    format!("unknown step `{name}` (available: {})", all.join(", "))
}
