//! Detection of a session's format by its content.

use std::io::Read;
use std::path::Path;

use memchr::memchr;
use wb_message::text;
use wb_record::{
    Access, Confidence, Document, FileParts, Format, FormatError, History, MemoryParts, ONLY_CONVERSATION,
    Parts, Probe, Segment, View,
};
#[cfg(feature = "sqlite")]
use wb_record::{Span, sqlite::MAGIC};

#[cfg(feature = "sqlite")]
use crate::agents::opencode;
use crate::formats::{FORMATS, known_formats, row_of};
use crate::requests::ai_sdk;

/// The start of a zip archive.
const ZIP: &[u8] = b"PK\x03\x04";
const ZIPPED: &str = "a zip archive, such as an .eval log of Inspect, is not read as it is";
const UNZIP: &str = "Inspect prints its log as JSON, which is read: inspect log dump FILE.eval > FILE.json";

/// The error for messages that the AI SDK shows on a screen, and its hint.
const FOR_SCREEN: &str =
    "messages for the screen (UIMessage) of the AI SDK are not read, only those that a model is sent";
const CONVERT: &str = "save what convertToModelMessages(messages) returns, which is read as ai-sdk";

const UTF_16: &str = "the file is in UTF-16, and sessions are in UTF-8";
const TO_UTF_8: &str =
    "convert a copy: iconv -f UTF-16 -t UTF-8 FILE > NEW; in PowerShell, write files with -Encoding utf8";

/// Returns whether a file begins with a byte order mark of UTF-16, or with ASCII characters of two
/// bytes.
fn is_utf16(head: &[u8]) -> bool {
    let is_wide = |low: usize| {
        let mut pairs = head.chunks_exact(2).take(8);
        pairs.len() == 8 && pairs.all(|pair| pair[low].is_ascii_graphic() && pair[1 - low] == 0)
    };
    head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") || is_wide(0) || is_wide(1)
}

/// Returns the format most sure of parts that begin like this; among equals, the first of
/// [`FORMATS`].
pub fn detect(probe: &Probe) -> Option<&'static dyn Format> {
    let sure = |format: &&dyn Format| std::cmp::Reverse(format.detect(probe));
    let best = FORMATS.iter().map(|row| row.format).min_by_key(sure)?;
    (best.detect(probe) > Confidence::No && !ai_sdk::is_for_screen(probe)).then_some(best)
}

/// Opens a session of any known format, recognized by its content.
///
/// ```
/// use wb_record::{MemoryParts, ONLY_CONVERSATION};
///
/// let file = "{\"role\":\"user\",\"content\":\"hello\"}\n\
///             {\"role\":\"assistant\",\"content\":\"hi\"}\n";
/// let document = wb_formats::open(Box::new(MemoryParts::from_bytes(file)))?;
/// let view = document.view(ONLY_CONVERSATION)?;
/// assert_eq!((view.format, view.messages.len()), ("native", 2));
/// # Ok::<(), wb_formats::FormatError>(())
/// ```
pub fn open(parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
    let probe = Probe::new(parts.as_ref())?;
    known(&probe)?.open(parts)
}

/// Opens the session at a path: a file of any known format, recognized by its content, or the
/// database of opencode.
///
/// The few messages that a compaction leaves may not identify a format. If no format is sure, it is
/// the one that the list of operations next to the file names, if it reads no fewer of them.
pub fn open_path(path: &Path, access: Access) -> Result<Box<dyn Document>, FormatError> {
    open_named(path, access, None)
}

/// Opens the session at a path as a format, whatever it looks like.
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
    if let Some(named) = named {
        return named.open(Box::new(parts));
    }
    let probe = Probe::new(&parts)?;
    let detected = known(&probe);
    let is_sure = detected.as_ref().is_ok_and(|it| it.detect(&probe) == Confidence::Sure);
    let changed_as = if is_sure { None } else { changed_as(path) };
    let n_detected = || detected.as_ref().map_or(1, |it| n_messages(*it, &parts));
    let is_seen = |it: &&dyn Format| detected.as_ref().is_ok_and(|detected| detected.name() == it.name());
    let is_fit = |it: &&dyn Format| is_seen(it) || n_messages(*it, &parts) >= n_detected();
    changed_as.filter(is_fit).map_or(detected, Ok)?.open(Box::new(parts))
}

/// Returns the format of a session that the list of operations next to it names.
fn changed_as(path: &Path) -> Option<&'static dyn Format> {
    let path = path.canonicalize().ok()?;
    let history = History::open_for(&path, Access::Read).ok()?;
    Some(row_of(history.format()?)?.format)
}

/// Returns the number of messages that a format reads.
fn n_messages(format: &dyn Format, parts: &dyn Parts) -> usize {
    let parts = parts.reopen().map_err(FormatError::from);
    let view = parts.and_then(|parts| format.open(parts)?.view(ONLY_CONVERSATION));
    view.map_or(0, |view| view.messages.len())
}

/// Reads the conversation of a session that was written last.
pub fn read(input: &mut dyn Read) -> Result<View, FormatError> {
    let document = open(Box::new(MemoryParts::read_from(input)?))?;
    document.view(&newest(document.as_ref())?)
}

/// Reads every segment of the conversation that was written last: the messages sent, with their
/// usage.
pub fn segments(input: &mut dyn Read) -> Result<Vec<Segment>, FormatError> {
    let document = open(Box::new(MemoryParts::read_from(input)?))?;
    let conversation = newest(document.as_ref())?;
    document.segments(&conversation)?.collect()
}

/// Returns the name of the conversation that was written last.
pub fn newest(document: &dyn Document) -> Result<String, FormatError> {
    document.conversations()?.pop().ok_or(FormatError::Empty)
}

fn known(probe: &Probe) -> Result<&'static dyn Format, FormatError> {
    let head = &probe.head;
    let visible = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start();
    if visible.is_empty() {
        return Err(FormatError::Empty);
    }
    if is_utf16(head) {
        return Err(FormatError::Log { line: None, what: UTF_16.to_owned(), hint: TO_UTF_8.to_owned() });
    }
    if visible.starts_with(ZIP) {
        return Err(FormatError::Log { line: None, what: ZIPPED.to_owned(), hint: UNZIP.to_owned() });
    }
    detect(probe).ok_or_else(|| {
        if ai_sdk::is_for_screen(probe) {
            return FormatError::Log { line: None, what: FOR_SCREEN.to_owned(), hint: CONVERT.to_owned() };
        }
        let line = &visible[..memchr(b'\n', visible).unwrap_or(visible.len()).min(400)];
        FormatError::Unknown {
            begins: text::one_line(&String::from_utf8_lossy(line), 60),
            hint: known_formats(),
        }
    })
}
