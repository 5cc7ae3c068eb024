//! The bytes of a session: its parts, changes to them, and the files and databases that hold them.

pub mod lines;
pub(crate) mod error;
pub(crate) mod span;
pub(crate) mod change;
pub(crate) mod piece_table;
pub(crate) mod part;
pub mod recover;
#[cfg(any(unix, windows))]
pub(crate) mod disk;
#[cfg(any(unix, windows))]
pub(crate) mod write;
#[cfg(any(unix, windows))]
pub(crate) mod file;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub(crate) mod probe;
