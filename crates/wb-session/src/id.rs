//! The name of an entry.

use std::borrow::Borrow;
use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of an entry in a session log: eight hexadecimal digits in files of pi, any text elsewhere.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryId(String);

impl EntryId {
    /// Returns the id as it stands in the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Builds the id that migration gives to the record at an index, the header being record 0.
    pub(crate) fn of_record(index: usize) -> Self {
        Self(format!("{index:08x}"))
    }
}

impl From<&str> for EntryId {
    fn from(id: &str) -> Self {
        Self(id.to_owned())
    }
}

impl From<String> for EntryId {
    fn from(id: String) -> Self {
        Self(id)
    }
}

impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
