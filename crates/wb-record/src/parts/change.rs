//! Changes that say which bytes they expect to find, so that each can be refused and reverted.

use std::fmt;
use std::path::PathBuf;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::parts::error::FileError;
use crate::parts::span::PartId;

/// Bytes of a part; in JSON a string where they are UTF-8, else a list of numbers.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Bytes(pub Vec<u8>);

/// One change of a part. The last two variants reverse an `Append` and a `Create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Adds bytes to the end of a part, which must be at `at`.
    Append {
        /// The end of the part before the change.
        at: u64,
        /// The appended bytes.
        new: Bytes,
    },
    /// Replaces bytes of a part, which must be at that place.
    Splice {
        /// The first removed byte.
        at: u64,
        /// The removed bytes.
        old: Bytes,
        /// The bytes that replace them.
        new: Bytes,
    },
    /// Creates a part, which must not exist.
    Create {
        /// All of it.
        new: Bytes,
    },
    /// Cuts off the end of a part, which must have these bytes.
    Cut {
        /// The end of the part after the change.
        at: u64,
        /// The removed bytes.
        old: Bytes,
    },
    /// Removes a part, which must have these bytes.
    Remove {
        /// All of it.
        old: Bytes,
    },
}

/// Changes that are carried out together, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// Each change with its part.
    pub changes: Vec<(PartId, Change)>,
}

/// The reason that changes were not carried out; the parts are unchanged, except after
/// [`Unknown`](Self::Unknown).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// The bytes there differ from those that the change expects: another program wrote.
    #[error("the session was changed by another program at byte {at}{}", of_part(part))]
    Stale {
        /// The part.
        part: PartId,
        /// The place in the part.
        at: u64,
    },
    /// Another program holds the lock.
    #[error("another program is writing the session")]
    Busy,
    /// The name belongs to another file by now.
    #[error("{}: was replaced by another file meanwhile", path.display())]
    Replaced {
        /// The name.
        path: PathBuf,
    },
    /// The current content of the file is not known: another program wrote at the same moment, or
    /// the disk failed.
    #[error("{}: {doing} failed, and what it holds is not known: {source}", path.display())]
    Unknown {
        /// The file.
        path: PathBuf,
        /// The action that failed.
        doing: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
    /// The file may only be read.
    #[error("the session was opened for reading only")]
    ReadOnly,
    /// This kind of parts does not support it.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The file was refused.
    #[error(transparent)]
    File(#[from] FileError),
    /// The system refused.
    #[error("{doing}: {source}")]
    Io {
        /// The action that failed.
        doing: &'static str,
        /// The error of the system.
        source: std::io::Error,
    },
}

impl CommitError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Stale { .. } | Self::Replaced { .. } | Self::Unknown { .. } => {
                "run the command again: it reads the session anew"
            }
            Self::Busy => "close the session in the other program and run the command again",
            Self::ReadOnly | Self::Unsupported(_) => "write to another file with -o",
            Self::File(error) => error.hint(),
            Self::Io { .. } => "check the room on the disk and the rights on the file",
        }
    }
}

fn of_part(part: &str) -> String {
    if part.is_empty() { String::new() } else { format!(" of {part}") }
}

impl ChangeSet {
    /// Returns whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Returns the one change that appends to a part; none if there is nothing to append.
    pub fn append(part: &str, at: u64, new: Vec<u8>) -> Self {
        let change = (!new.is_empty()).then(|| (part.to_owned(), Change::Append { at, new: Bytes(new) }));
        Self { changes: change.into_iter().collect() }
    }

    /// Returns the reverse of these changes.
    #[must_use]
    pub fn inverse(&self) -> Self {
        let back = |(part, change): &(PartId, Change)| (part.clone(), change.inverse());
        Self { changes: self.changes.iter().rev().map(back).collect() }
    }
}

impl Change {
    /// Returns the reverse of this change.
    #[must_use]
    pub fn inverse(&self) -> Self {
        match self.clone() {
            Self::Append { at, new } => Self::Cut { at, old: new },
            Self::Cut { at, old } => Self::Append { at, new: old },
            Self::Splice { at, old, new } => Self::Splice { at, old: new, new: old },
            Self::Create { new } => Self::Remove { old: new },
            Self::Remove { old } => Self::Create { new: old },
        }
    }

    /// Returns how many bytes it writes.
    pub fn n_new(&self) -> usize {
        match self {
            Self::Append { new, .. } | Self::Splice { new, .. } | Self::Create { new } => new.0.len(),
            Self::Cut { .. } | Self::Remove { .. } => 0,
        }
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", String::from_utf8_lossy(&self.0))
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => to.serialize_str(text),
            Err(_) => self.0.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(from)? {
            serde_json::Value::String(text) => Ok(Self(text.into_bytes())),
            value => serde_json::from_value(value).map(Self).map_err(D::Error::custom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::part::{MemoryParts, Parts};

    fn append(at: u64, new: &str) -> Change {
        Change::Append { at, new: Bytes(new.into()) }
    }

    fn splice(at: u64, old: &str, new: &str) -> Change {
        Change::Splice { at, old: Bytes(old.into()), new: Bytes(new.into()) }
    }

    fn set(changes: impl IntoIterator<Item = (&'static str, Change)>) -> ChangeSet {
        ChangeSet { changes: changes.into_iter().map(|(part, change)| (part.to_owned(), change)).collect() }
    }

    #[test]
    fn changes_are_applied_in_order_and_reverted() {
        let before = MemoryParts::from_bytes("one two");
        let set = set([
            ("", splice(4, "two", "2")),
            ("", append(5, " three")),
            ("x", Change::Create { new: Bytes(vec![0xFF]) }),
        ]);
        let mut parts = before.clone();
        parts.commit(&set).unwrap();
        assert_eq!(parts.whole("").unwrap(), b"one 2 three");
        let text = serde_json::to_string(&set).unwrap();
        assert_eq!(serde_json::from_str::<ChangeSet>(&text).unwrap(), set);
        parts.commit(&set.inverse()).unwrap();
        assert_eq!(parts, before);
    }

    #[test]
    fn one_change_that_finds_something_else_undoes_all() {
        for wrong in [
            append(7, "x"),
            splice(0, "two", "2"),
            splice(6, "ob", ""),
            Change::Create { new: Bytes::default() },
        ] {
            let mut parts = MemoryParts::from_bytes("one two");
            let refused = parts.commit(&set([("", append(7, "!")), ("", wrong)]));
            assert!(matches!(refused, Err(CommitError::Stale { .. })));
            assert_eq!(parts.whole("").unwrap(), b"one two");
        }
    }

    #[test]
    fn only_the_very_end_is_cut_off() {
        let cut = |at, old: &str| Change::Cut { at, old: Bytes(old.into()) }.apply("", Some(b"abc"));
        assert_eq!(cut(1, "bc").unwrap().unwrap(), b"a");
        assert!(cut(0, "ab").is_err() && cut(9, "").is_err());
    }
}
