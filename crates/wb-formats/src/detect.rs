//! Detection of a session's format by its content.

use std::io::Read;

use memchr::memchr;
use wb_message::text;
use wb_record::{Confidence, Document, Format, FormatError, MemoryParts, Parts, Probe, Segment, View};

use crate::formats::{FORMATS, known_formats};
use crate::requests::ai_sdk;

/// The start of a zip archive.
const ZIP: &[u8] = b"PK\x03\x04";
const ZIPPED: &str = "a zip archive, such as an .eval log of Inspect, is not read as it is";
const UNZIP: &str = "Inspect prints its log as JSON, which is read: inspect log dump FILE.eval > FILE.json";

/// The error for messages that the AI SDK shows on a screen, and its hint.
const FOR_SCREEN: &str =
    "messages for the screen (UIMessage) of the AI SDK are not read, only those that a model is sent";
const CONVERT: &str = "save what convertToModelMessages(messages) returns, which is read as ai-sdk";

/// The hint for a session that looks like another format.
const LEAVE_OUT: &str = "leave out --format, or name that one";

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

/// Opens a session as a format; refuses one of which it reads fewer messages than the format that
/// is detected.
pub fn open_as(parts: Box<dyn Parts>, named: &'static dyn Format) -> Result<Box<dyn Document>, FormatError> {
    let detected = detect(&Probe::new(parts.as_ref())?).filter(|detected| detected.name() != named.name());
    if let Some(detected) = detected {
        let [n_named, n_detected] = [named, detected].map(|it| n_messages(it, parts.as_ref()));
        if n_named < n_detected {
            let (named, detected) = (named.name(), detected.name());
            let what = format!(
                "as {named} it has {n_named} messages, as {detected}, which it looks like, {n_detected}"
            );
            return Err(FormatError::Log { line: None, what, hint: LEAVE_OUT.to_owned() });
        }
    }
    named.open(parts)
}

/// Returns the number of messages that a format reads.
pub(crate) fn n_messages(format: &dyn Format, parts: &dyn Parts) -> usize {
    let parts = parts.reopen().map_err(FormatError::from);
    let read = |document: Box<dyn Document>| document.view(&newest(document.as_ref())?);
    let view = parts.and_then(|parts| read(format.open(parts)?));
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

/// Returns the format of parts that begin like this.
pub(crate) fn known(probe: &Probe) -> Result<&'static dyn Format, FormatError> {
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
