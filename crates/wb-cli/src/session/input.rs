//! The input of a command: a session, or the body of a request.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde_json::Value;
use wb_dialect::Dialect;
use wb_formats::{FormatError, format_of};
use wb_record::{Access, BorrowedPart, Document, Format, MemoryParts, Note, Probe};

use crate::args::format_option;
use crate::session::provider_request::dialects_of_request;
use crate::session::{document, stream};
use crate::terminal::file_error::not_read;
use crate::terminal::user_error::UserError;

/// The number of bytes that identify a log of lines.
const HEAD_BYTES: usize = 1 << 16;

/// A session, or the body of a request.
#[derive(Debug)]
pub(crate) enum Input {
    Request(RequestBody),
    Session(Box<dyn Document>),
}

/// The body of a request, and the dialects that it can be in.
#[derive(Debug)]
pub(crate) struct RequestBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) body: Value,
    pub(crate) dialects: Vec<Dialect>,
}

impl RequestBody {
    /// Parses a body; returns the bytes if they are not one.
    pub(crate) fn parse(bytes: Vec<u8>) -> Result<Self, Vec<u8>> {
        if is_session(&bytes) {
            return Err(bytes);
        }
        let Ok(body) = serde_json::from_slice::<Value>(&bytes) else { return Err(bytes) };
        let asked = format_option::format().and_then(dialect_of_format);
        let dialects = asked.map_or_else(|| dialects_of_request(&bytes, &body), |dialect| vec![dialect]);
        if dialects.is_empty() { Err(bytes) } else { Ok(Self { bytes, body, dialects }) }
    }

    /// Returns how many messages it has.
    pub(crate) fn n_messages(&self) -> usize {
        let lists = self.dialects.iter().filter_map(|it| self.body.get(it.messages_key())?.as_array());
        lists.map(Vec::len).next().unwrap_or(0)
    }
}

/// The formats whose files are the bodies of requests.
pub(crate) const REQUESTS: [&str; 4] =
    ["anthropic-messages", "openai-chat", "openai-responses", "gemini-contents"];

/// Returns the dialect whose requests a format is.
fn dialect_of_format(format: &dyn Format) -> Option<Dialect> {
    Dialect::ALL.into_iter().find(|dialect| format_of(*dialect).name() == format.name())
}

/// Notes the other formats that a request fits; its first one was read.
pub(crate) fn other_formats(document: &dyn Document) -> Vec<Note> {
    const ALIKE: [&str; 2] = ["anthropic-messages", "openai-chat"];
    let read = document.format().name();
    if !ALIKE.contains(&read) {
        return Vec::new();
    }
    let bytes = document.parts().whole("").unwrap_or_default();
    let dialects = RequestBody::parse(bytes).map_or_else(|_| Vec::new(), |request| request.dialects);
    let names = dialects.into_iter().map(|dialect| format_of(dialect).name());
    names.filter(|name| *name != read).map(|name| Note::FitsOtherFormat { name }).collect()
}

/// Distinguishes a session from a request that looks alike.
fn is_session(bytes: &[u8]) -> bool {
    if let Some(format) = format_option::format() {
        return dialect_of_format(format).is_none();
    }
    let probe = Probe::new(&BorrowedPart(bytes)).unwrap_or_default();
    let format = wb_formats::detect(&probe).map(Format::name);
    format.is_some_and(|name| name != "native" && !REQUESTS.contains(&name))
}

/// Reads a file or standard input.
pub(crate) fn input(path: &Path) -> Result<Input, UserError> {
    let failed = |error: io::Error| not_read(path, &FormatError::Io(error));
    if let Some(mut stream) = stream(path).map_err(failed)? {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).map_err(failed)?;
        return match RequestBody::parse(bytes) {
            Ok(request) => Ok(Input::Request(request)),
            // A stream cannot be read again.
            Err(bytes) => {
                let opened = format_option::open(Box::new(MemoryParts::from_bytes(bytes)));
                opened.map(Input::Session).map_err(|error| not_read(path, &error))
            }
        };
    }
    match object_in(path).and_then(|bytes| RequestBody::parse(bytes).ok()) {
        Some(request) => Ok(Input::Request(request)),
        None => document(path, Access::Read).map(Input::Session),
    }
}

/// Reads a file that begins as a JSON object does and is no log of lines; what cannot be read fails
/// again as a session, with its reason.
fn object_in(path: &Path) -> Option<Vec<u8>> {
    let mut file = File::open(path).ok()?;
    let mut bytes = Vec::new();
    Read::by_ref(&mut file).take(HEAD_BYTES as u64).read_to_end(&mut bytes).ok()?;
    let begins_as_object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let first_line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_log = first_line.len() < bytes.trim_ascii_end().len()
        && serde_json::from_slice::<Value>(first_line).is_ok();
    if !begins_as_object || is_log {
        return None;
    }
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
