//! The format that the user asked to read sessions as.

use std::sync::OnceLock;

use wb_formats::FORMATS;
use wb_record::{Document, Format, FormatError, Parts};

static ASKED: OnceLock<&'static str> = OnceLock::new();

/// Parses the name of a format.
pub(crate) fn parse(name: &str) -> Result<&'static str, String> {
    let known = FORMATS.iter().map(|row| row.format.name()).find(|known| *known == name);
    known.ok_or_else(|| "`wb formats` lists the formats".to_owned())
}

/// Notes the format for the rest of the run.
pub(crate) fn set(name: Option<&'static str>) {
    if let Some(name) = name {
        ASKED.get_or_init(|| name);
    }
}

/// Returns the name of the format.
pub(crate) fn name() -> Option<&'static str> {
    ASKED.get().copied()
}

/// Opens parts in that format, or else in the one that is detected.
pub(crate) fn open(parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
    match format() {
        Some(format) => format.open(parts),
        None => wb_formats::open(parts),
    }
}

/// Returns the format.
pub(crate) fn format() -> Option<&'static dyn Format> {
    let name = name()?;
    FORMATS.iter().map(|row| row.format).find(|format| format.name() == name)
}
