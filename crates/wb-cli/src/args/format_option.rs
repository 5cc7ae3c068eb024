//! The option `--format`, which names the format to read sessions as.

use std::sync::OnceLock;

use wb_formats::FORMATS;
use wb_record::{Document, Format, FormatError, Parts};

static FORMAT: OnceLock<&'static dyn Format> = OnceLock::new();

/// Parses the name of a format.
pub(crate) fn parse(name: &str) -> Result<&'static str, String> {
    find(name).map(Format::name).ok_or_else(|| "`wb formats` lists the formats".to_owned())
}

/// Sets the format for the rest of the run.
pub(crate) fn set(name: Option<&str>) {
    if let Some(format) = name.and_then(find) {
        FORMAT.get_or_init(|| format);
    }
}

/// Returns the format; none if it is to be detected.
pub(crate) fn format() -> Option<&'static dyn Format> {
    FORMAT.get().copied()
}

/// Opens parts in that format, or else in the one that is detected.
pub(crate) fn open(parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
    match format() {
        Some(format) => wb_formats::open_as(parts, format),
        None => wb_formats::open(parts),
    }
}

fn find(name: &str) -> Option<&'static dyn Format> {
    FORMATS.iter().map(|row| row.format).find(|format| format.name() == name)
}
