//! The positions of a session's messages and their parts: elements of an export, or rows of a
//! database.

use std::io;
use std::ops::Range;

use wb_budget::Usage;
use wb_record::json::{Member, elements, members};
use wb_record::{FormatError, Parts, Span};

use crate::kit::fields::Fields;

/// The tables of the database.
pub(crate) const SESSION: &str = "session";
pub(crate) const MESSAGE: &str = "message";
pub(crate) const PART: &str = "part";

/// The metadata of a message.
#[derive(Clone, Debug)]
pub(crate) struct MessageHead {
    pub(crate) id: String,
    pub(crate) role: Role,
    /// Milliseconds since the Unix epoch.
    pub(crate) created: i64,
    pub(crate) parent: Option<String>,
    pub(crate) is_summary: bool,
    pub(crate) is_finished: bool,
    /// The name of the error.
    pub(crate) error: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) usage: Option<Usage>,
    /// The element or the row.
    pub(crate) record: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    User,
    Assistant,
    Other,
}

/// One part of a message, as the agent calls it.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    /// The element that contains the part, or its row.
    pub(crate) record: Span,
    /// The position of the part alone in an export.
    pub(crate) place: Range<usize>,
    pub(crate) kind: String,
    pub(crate) json: Vec<u8>,
}

impl Piece {
    fn parse(record: Span, place: Range<usize>, json: Vec<u8>) -> Option<Self> {
        let kind = Fields::parse(&json)?.string("type").unwrap_or_default();
        Some(Self { record, place, kind, json })
    }

    /// Returns the members of the part.
    pub(crate) fn fields(&self) -> Option<Fields<'_>> {
        Fields::parse(&self.json)
    }
}

/// The entries found, and those that could not be read.
#[derive(Clone, Debug)]
pub(crate) struct ReadRecords<T> {
    pub(crate) all: Vec<T>,
    /// The numbers of the unreadable ones, which are left unchanged, counted from 1.
    pub(crate) unreadable: Vec<usize>,
}

impl<T> ReadRecords<T> {
    fn new() -> Self {
        Self { all: Vec::new(), unreadable: Vec::new() }
    }

    fn push(&mut self, number: usize, found: Option<T>) {
        match found {
            Some(found) => self.all.push(found),
            None => self.unreadable.push(number),
        }
    }
}

/// A session that was written to a file of its own.
#[derive(Debug)]
pub(crate) struct Export {
    pub(crate) text: Vec<u8>,
    pub(crate) elements: Vec<Element>,
    info: Range<usize>,
}

/// A message's position, metadata and parts.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) place: Range<usize>,
    info: Range<usize>,
    parts: Range<usize>,
}

impl Export {
    pub(crate) fn parse(text: Vec<u8>) -> Result<Self, FormatError> {
        FormatError::utf8_of(&text)?;
        let start = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        let Some(session) = places(&text, start..text.len()) else {
            let whole = serde_json::from_slice::<serde::de::IgnoredAny>(&text[start..]);
            return Err(whole.err().map_or(FormatError::Empty, |error| FormatError::from_json(1, &error)));
        };
        let element = |place: Range<usize>| {
            let members = places(&text, place.clone()).unwrap_or_default();
            Element { place, info: named(&members, "info"), parts: named(&members, "parts") }
        };
        let elements = listed(&text, named(&session, "messages")).map(element).collect();
        Ok(Self { elements, info: named(&session, "info"), text })
    }

    fn element(&self, head: &MessageHead) -> Option<&Element> {
        let at =
            self.elements.binary_search_by_key(&head.record.at, |element| element.place.start as u64).ok()?;
        self.elements.get(at)
    }
}

/// Returns the positions of an object's values in a text.
fn places(text: &[u8], object: Range<usize>) -> Option<Vec<Member<'_>>> {
    let mut all = members(&text[object.clone()])?;
    for member in &mut all {
        member.value = object.start + member.value.start..object.start + member.value.end;
    }
    Some(all)
}

fn named(members: &[Member<'_>], key: &str) -> Range<usize> {
    members.iter().rfind(|member| member.key == key).map(|member| member.value.clone()).unwrap_or_default()
}

/// Returns the positions of a list's elements in a text.
fn listed(text: &[u8], list: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let all = elements(&text[list.clone()]).unwrap_or_default().into_iter();
    all.map(move |place| list.start + place.start..list.start + place.end)
}

/// One session, wherever it is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    Export(&'a Export),
    Rows { parts: &'a dyn Parts, session: &'a str },
}

impl Source<'_> {
    /// Returns the session's metadata: the `info` of an export, the row of a database.
    pub(crate) fn session(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Export(export) => Ok(export.text[export.info.clone()].to_vec()),
            Self::Rows { parts, session } => parts.whole(&format!("{SESSION}/{session}/{session}")),
        }
    }

    /// Reads all messages without their parts, in the order in which they were written.
    pub(crate) fn heads(&self) -> io::Result<ReadRecords<MessageHead>> {
        match self {
            Self::Export(export) => {
                let mut found = ReadRecords::new();
                for (at, Element { place, info, .. }) in export.elements.iter().enumerate() {
                    let info = Fields::parse(&export.text[info.clone()]);
                    found
                        .push(at + 1, info.and_then(|info| head(info.string("id")?, &info, span("", place))));
                }
                Ok(found)
            }
            Self::Rows { parts, session } => {
                let mut found = rows(*parts, &format!("{MESSAGE}/{session}/"), |row, record| {
                    let fields = Fields::parse(row)?;
                    let json = fields.string("data")?.into_bytes();
                    let mut head = head(fields.string("id")?, &Fields::parse(&json)?, record)?;
                    head.created = fields.integer("time_created").unwrap_or(head.created);
                    Some(head)
                })?;
                found.all.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
                Ok(found)
            }
        }
    }

    /// Returns the metadata of a message, unparsed.
    pub(crate) fn info(&self, head: &MessageHead) -> io::Result<Vec<u8>> {
        match self {
            Self::Export(export) => {
                let element = export.element(head);
                Ok(element.map(|it| export.text[it.info.clone()].to_vec()).unwrap_or_default())
            }
            Self::Rows { parts, .. } => Ok(data(&parts.bytes(&head.record)?).unwrap_or_default()),
        }
    }

    /// Reads the parts of a message in their order.
    pub(crate) fn pieces(&self, head: &MessageHead) -> io::Result<ReadRecords<Piece>> {
        match self {
            Self::Export(export) => {
                let mut found = ReadRecords::new();
                let list = export.element(head).map(|element| element.parts.clone()).unwrap_or_default();
                for (at, place) in listed(&export.text, list).enumerate() {
                    let json = export.text[place.clone()].to_vec();
                    found.push(at + 1, Piece::parse(head.record.clone(), place, json));
                }
                Ok(found)
            }
            Self::Rows { parts, .. } => rows(*parts, &format!("{PART}/{}/", head.id), |row, record| {
                Piece::parse(record, 0..0, data(row)?)
            }),
        }
    }
}

/// Reads rows whose names have a prefix.
fn rows<T>(
    parts: &dyn Parts,
    prefix: &str,
    read: impl Fn(&[u8], Span) -> Option<T>,
) -> io::Result<ReadRecords<T>> {
    let mut found = ReadRecords::new();
    for (at, part) in parts.list(prefix)?.into_iter().enumerate() {
        let row = match parts.whole(&part) {
            Ok(row) => Some(row),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => None,
            Err(error) => return Err(error),
        };
        let record = |row: &[u8]| Span { part: part.clone(), at: 0, len: row.len() as u64 };
        found.push(at + 1, row.and_then(|row| read(&row, record(&row))));
    }
    Ok(found)
}

/// Returns the JSON that a row holds in its column `data`.
pub(crate) fn data(row: &[u8]) -> Option<Vec<u8>> {
    let json = Fields::parse(row)?.string("data")?.into_bytes();
    Fields::parse(&json).is_some().then_some(json)
}

fn head(id: String, info: &Fields<'_>, record: Span) -> Option<MessageHead> {
    let role = match info.string("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::Other,
    };
    let of_user = info.inner("model").and_then(|model| model.string("modelID"));
    Some(MessageHead {
        id,
        role,
        created: info.inner("time").and_then(|time| time.integer("created")).unwrap_or(0),
        parent: info.string("parentID"),
        is_summary: info.is("summary", "true"),
        is_finished: info.string("finish").is_some(),
        error: info.inner("error").map(|error| error.string("name").unwrap_or_default()),
        model: info.string("modelID").or(of_user),
        usage: info.inner("tokens").and_then(|tokens| usage(&tokens)),
        record,
    })
}

/// Reads the counted tokens; a request that was never counted has none.
fn usage(tokens: &Fields<'_>) -> Option<Usage> {
    let number = |fields: &Fields<'_>, key| fields.integer(key).and_then(|n| u64::try_from(n).ok());
    let cache = tokens.inner("cache");
    let cached = |key| cache.as_ref().and_then(|cache| number(cache, key));
    let usage = Usage {
        input_tokens: number(tokens, "input").unwrap_or(0),
        output_tokens: number(tokens, "output").unwrap_or(0) + number(tokens, "reasoning").unwrap_or(0),
        cache_read_tokens: cached("read"),
        cache_write_tokens: cached("write"),
    };
    (usage.prompt_tokens() > 0).then_some(usage)
}

fn span(part: &str, place: &Range<usize>) -> Span {
    Span { part: part.to_owned(), at: place.start as u64, len: place.len() as u64 }
}
