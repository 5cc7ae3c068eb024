//! The sessions of the database, without their messages.

use std::path::Path;

use wb_record::sqlite::{SqliteParts, Table};
use wb_record::{Access, FormatError, Parts};

use super::source::SESSION;
use crate::kit::fields::Fields;

/// The table of sessions, of which nothing but this is read.
const SESSIONS: &[Table] =
    &[Table { name: SESSION, group: "id", id: "id", columns: &["parent_id", "directory", "time_updated"] }];

/// A session of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseSession {
    /// The name of the conversation.
    pub id: String,
    /// The title, if the layout has one.
    pub title: Option<String>,
    /// The working folder.
    pub folder: Option<String>,
    /// The time of the last change, in milliseconds since the Unix epoch.
    pub updated_ms: i64,
}

/// Returns the sessions of a database, without those of subagents.
pub fn database_sessions(path: &Path) -> Result<Vec<DatabaseSession>, FormatError> {
    let parts = SqliteParts::open(path, SESSIONS, Access::Read)?;
    let mut sessions = Vec::new();
    for part in parts.list(&format!("{SESSION}/"))? {
        let row = parts.whole(&part).unwrap_or_default();
        let Some(fields) = Fields::parse(&row).filter(|it| it.string("parent_id").is_none()) else {
            continue;
        };
        sessions.push(DatabaseSession {
            id: part.rsplit('/').next().unwrap_or_default().to_owned(),
            title: fields.string("title").filter(|title| !title.trim().is_empty()),
            folder: fields.string("directory"),
            updated_ms: fields.integer("time_updated").unwrap_or(0),
        });
    }
    Ok(sessions)
}
