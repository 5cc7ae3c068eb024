//! Who used a name, and what that weighs.

use serde::{Deserialize, Serialize};

/// The user of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A tool showed it.
    Tool,
    /// The agent wrote it.
    Agent,
    /// The user wrote it.
    User,
    /// The agent called a tool with it.
    Call,
}

impl Source {
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Tool => 1.0,
            Self::Agent => 2.0,
            Self::User => 4.0,
            Self::Call => 5.0,
        }
    }
}
