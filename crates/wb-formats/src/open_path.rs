//! Opening a session at a path.

use std::path::Path;

use wb_record::{Access, Confidence, Document, FileParts, Format, FormatError, History, Probe, WholeLog};
#[cfg(feature = "sqlite")]
use wb_record::{Parts, Span, sqlite::MAGIC};

#[cfg(feature = "sqlite")]
use crate::agents::opencode;
use crate::detect::{known, n_messages, open_as};
use crate::formats::row_of;

/// Opens the session at a path: a file of any known format, recognized by its content, or the
/// database of opencode.
///
/// The few messages that a compaction leaves may not identify a format. If no format is sure, it is
/// the one that the list of operations next to the file names, if it reads no fewer of them.
pub fn open_path(path: &Path, access: Access) -> Result<Box<dyn Document>, FormatError> {
    open_named(path, access, None)
}

/// Opens the session at a path as a format; refuses one of which it reads fewer messages than the
/// format that is detected.
pub fn open_path_as(
    path: &Path,
    access: Access,
    format: &'static dyn Format,
) -> Result<Box<dyn Document>, FormatError> {
    open_named(path, access, Some(format))
}

fn open_named(
    path: &Path,
    access: Access,
    named: Option<&'static dyn Format>,
) -> Result<Box<dyn Document>, FormatError> {
    let parts = match access {
        Access::Read => FileParts::open_for_reading(path),
        Access::Write => FileParts::open(path),
    }?;
    #[cfg(feature = "sqlite")]
    if *parts.bytes(&Span { len: MAGIC.len() as u64, ..Span::default() })? == *MAGIC {
        return opencode::open_database(path, access);
    }
    let whole = |document| Box::new(WholeLog::new(document, path));
    if let Some(named) = named {
        return Ok(whole(open_as(Box::new(parts), named)?));
    }
    let probe = Probe::new(&parts)?;
    let detected = known(&probe);
    let is_sure = detected.as_ref().is_ok_and(|it| it.detect(&probe) == Confidence::Sure);
    let changed_as = if is_sure { None } else { changed_as(path) };
    let n_detected = || detected.as_ref().map_or(1, |it| n_messages(*it, &parts));
    let is_seen = |it: &&dyn Format| detected.as_ref().is_ok_and(|detected| detected.name() == it.name());
    let is_fit = |it: &&dyn Format| is_seen(it) || n_messages(*it, &parts) >= n_detected();
    let format = changed_as.filter(is_fit).map_or(detected, Ok)?;
    Ok(whole(format.open(Box::new(parts))?))
}

/// Returns the format of a session that the list of operations next to it names.
fn changed_as(path: &Path) -> Option<&'static dyn Format> {
    let path = path.canonicalize().ok()?;
    let history = History::open_for(&path, Access::Read).ok()?;
    Some(row_of(history.format()?)?.format)
}
