//! The table of passes: name, effect, losses and construction from settings.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::pass::Pass;
use crate::{
    Collapse, DropMiddle, Images, Microcompact, OversizedResult, Preview, Repair, ToolOutput, Truncate,
};

/// The kind of change in a pass's patches; a session's format may not support each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Clears bodies.
    Clears,
    /// Shortens bodies.
    Shortens,
    /// Drops or replaces messages, also in the middle.
    Drops,
}

/// A row of [`PASSES`].
#[derive(Clone, Copy, Debug)]
pub struct PassEntry {
    /// The description for reports, in the past tense.
    pub does: &'static str,
    /// The possible losses.
    pub loses: &'static str,
    /// The kind of change.
    pub effect: Effect,
    /// True if the pass also runs within the budget.
    pub always: bool,
    build: fn(Value) -> serde_json::Result<Arc<dyn Pass>>,
}

/// The passes of this crate; a new pass is a file and a row here.
pub const PASSES: [PassEntry; 9] = [
    row::<Microcompact>(
        Effect::Clears,
        "clears stale tool results",
        "bodies of older tool results whose tool can be run again",
    ),
    row::<Images>(
        Effect::Shortens,
        "takes images out of older tool results",
        "images in tool results before the last prompt, and all but the newest behind it",
    ),
    row::<Preview>(
        Effect::Shortens,
        "shortens giant bodies to head and tail",
        "the middle of giant tool bodies and shell outputs",
    ),
    row::<OversizedResult>(
        Effect::Shortens,
        "previews oversized tool results",
        "the middle of each tool body and shell output above a size of its own",
    )
    .always(),
    row::<ToolOutput>(
        Effect::Shortens,
        "cuts tool outputs to their head and tail lines",
        "all but the first and last lines of tool results and shell outputs",
    ),
    row::<Collapse>(
        Effect::Drops,
        "turns old replies and their results into a line each",
        "thinking, calls, results and the ends of long texts of older replies",
    ),
    row::<DropMiddle>(
        Effect::Drops,
        "drops messages between the first and the recent ones",
        "whole messages, but neither the task nor the latest request",
    ),
    row::<Truncate>(Effect::Drops, "drops the oldest messages", "the oldest history, without a digest"),
    row::<Repair>(Effect::Drops, "answers lost calls and drops stray results", "results whose call is gone")
        .always(),
];

const fn row<P: Pass + DeserializeOwned + 'static>(
    effect: Effect,
    does: &'static str,
    loses: &'static str,
) -> PassEntry {
    PassEntry { does, loses, effect, always: false, build: build::<P> }
}

fn build<P: Pass + DeserializeOwned + 'static>(options: Value) -> serde_json::Result<Arc<dyn Pass>> {
    Ok(Arc::new(serde_json::from_value::<P>(options)?))
}

impl PassEntry {
    const fn always(self) -> Self {
        Self { always: true, ..self }
    }

    /// Builds the pass with its defaults.
    ///
    /// # Panics
    /// Never panics; a test builds each of them.
    pub fn pass(&self) -> Arc<dyn Pass> {
        self.build(&Map::new()).unwrap_or_else(|error| panic!("a pass has no defaults: {error}"))
    }

    /// Builds the pass with options by name; missing options get the defaults, unknown ones are
    /// refused.
    pub fn build(&self, options: &Map<String, Value>) -> serde_json::Result<Arc<dyn Pass>> {
        (self.build)(Value::Object(options.clone()))
    }
}

/// Returns the row of a pass by its name.
pub fn pass_entry(name: &str) -> Option<&'static PassEntry> {
    PASSES.iter().find(|entry| entry.pass().name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_pass_with_a_unique_name() {
        let mut names: Vec<_> = PASSES.iter().map(|entry| entry.pass().name().to_owned()).collect();
        assert!(names.iter().all(|name| pass_entry(name).is_some()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), PASSES.len());
    }

    #[test]
    fn options_are_checked() {
        let options = |json: Value| json.as_object().cloned().unwrap_or_default();
        let entry = pass_entry("tool-output").expect("a pass");
        assert!(entry.build(&options(serde_json::json!({ "max_lines": 20 }))).is_ok());
        assert!(entry.build(&options(serde_json::json!({ "max_line": 20 }))).is_err());
    }
}
