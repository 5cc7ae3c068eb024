//! The stages of a compaction, reported as it goes on.

use std::fmt;

use serde::Serialize;

/// A stage of a compaction, with its figures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "stage", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Progress {
    /// The messages were read and weighed.
    Counted {
        /// The number of messages.
        messages: usize,
        /// The tokens of the context.
        tokens: u64,
        /// The size in tokens above which the messages are over budget.
        limit: u64,
    },
    /// The change was planned.
    Cut {
        /// The index of the first message that stays; none if no digest is written.
        cut: Option<usize>,
        /// The tokens of the messages after the change, at most.
        message_tokens: u64,
    },
    /// A request waits for the reply of the caller's model.
    Asking {
        /// The number of the request, from 1.
        request: usize,
        /// The estimated tokens of the request.
        prompt_tokens: u64,
        /// The most tokens of a reply.
        max_output_tokens: u64,
    },
    /// The messages changed.
    Applied {
        /// The number of messages.
        messages: usize,
        /// The tokens of the context.
        tokens: u64,
    },
    /// The messages stay as they are.
    Unchanged {
        /// The reason.
        reason: Option<String>,
    },
}

impl fmt::Display for Progress {
    /// Writes it as JSON.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// A function that receives each stage.
pub type OnProgress<'a> = &'a mut dyn FnMut(&Progress);
