//! Who used a name, and what that weighs.

use serde::{Deserialize, Serialize};

/// Who used a name; it weighs that much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A tool showed it.
    Tool,
    /// The agent wrote it.
    Agent,
    /// The user wrote it.
    User,
    /// The agent called a tool with it.
    Call,
}

impl By {
    pub(super) fn weight(self) -> f64 {
        match self {
            Self::Tool => 1.0,
            Self::Agent => 2.0,
            Self::User => 4.0,
            Self::Call => 5.0,
        }
    }
}
