//! Sessions of Droid by Factory: JSON lines, each message one of Anthropic's kind.

use std::io;

use wb_message::{Message, ToolRole, ToolVocabulary};
use wb_record::json::{find, text};
use wb_record::{Abilities, Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp};

use crate::kit::list_document::open;
use crate::kit::message_list::{Fate, Layout, List, Record, Shape};
use crate::shapes::anthropic_message::AnthropicShape;

/// The tools of Droid.
const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("Read", ToolRole::Read),
        ("Edit", ToolRole::Edit),
        ("MultiEdit", ToolRole::Edit),
        ("Create", ToolRole::Write),
        ("Grep", ToolRole::Search),
        ("Glob", ToolRole::Search),
        ("LS", ToolRole::Search),
        ("Execute", ToolRole::Run),
        ("FetchUrl", ToolRole::Fetch),
        ("WebSearch", ToolRole::Fetch),
        ("TodoWrite", ToolRole::Plan),
    ],
    path_keys: &["file_path", "path", "directory_path"],
    part_keys: &["offset", "limit"],
};
/// The reason why nothing is written.
const UNKNOWN: &str = "Droid is not open: what it makes of a session that others changed is not known";

/// Sessions of Droid, as it stores them; the output of `droid exec` is not read.
///
/// All messages are read in the order of the file. The agent's format for compactions is not
/// public, so messages that it left out after one are not detected. There is no usage per request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Droid;

impl Format for Droid {
    fn name(&self) -> &'static str {
        "droid"
    }

    fn abilities(&self) -> Abilities {
        Abilities::none(UNKNOWN)
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_header = |it: &ProbedValue| it.r#type == "session_start" && it.has("id");
        if probe.first().is_some_and(is_header) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for Droid {
    fn is_lines(&self, _: &dyn Parts) -> io::Result<bool> {
        Ok(true)
    }

    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let message_in = |line: &[u8]| {
            let is_other = text(line, &["type"]).is_some_and(|kind| kind != "message");
            // An incomplete record is reported by its reader.
            (!is_other).then(|| find(line, &["message"]).unwrap_or(0..line.len()))
        };
        Ok(vec![List::of_lines(parts, message_in)?])
    }

    fn shape(&self) -> &dyn Shape {
        &ReadOnly
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }
}

#[derive(Clone, Copy, Debug)]
struct ReadOnly;

impl Shape for ReadOnly {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        AnthropicShape.read(record, into)
    }

    fn write(&self, _: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        Err(UNKNOWN.to_owned())
    }

    fn rewrite(&self, _: &[u8], _: &[Message], _: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        Err(UNKNOWN.to_owned())
    }
}
