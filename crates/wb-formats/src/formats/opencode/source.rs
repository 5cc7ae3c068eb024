//! Where the messages of a session and their parts stand: elements of an export, or rows of a database.

use std::io;
use std::ops::Range;

use wb_budget::Usage;
use wb_record::json::{elements, find};
use wb_record::{FormatError, Parts, Span};

use super::fields::{Fields, text};

/// The tables of the database.
pub(super) const SESSION: &str = "session";
pub(super) const MESSAGE: &str = "message";
pub(super) const PART: &str = "part";

/// What a message says of itself.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) id: String,
    pub(super) role: Role,
    /// Milliseconds since the Unix epoch.
    pub(super) created: i64,
    pub(super) parent: Option<String>,
    pub(super) is_summary: bool,
    pub(super) is_finished: bool,
    /// The name of the error.
    pub(super) error: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    /// The element or the row.
    pub(super) record: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
    Other,
}

/// One part of a message, as the agent calls it.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The element that the part stands in, or its row.
    pub(super) record: Span,
    /// The part alone, where it stands in an export.
    pub(super) place: Range<usize>,
    pub(super) json: Vec<u8>,
}

/// What was found, and how much could not be read.
#[derive(Clone, Debug)]
pub(super) struct Found<T> {
    pub(super) all: Vec<T>,
    /// The numbers of those that are left as they stand, counted from 1.
    pub(super) unreadable: Vec<usize>,
}

impl<T> Found<T> {
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
pub(super) struct Export {
    pub(super) text: Vec<u8>,
    /// Where each message stands, with its parts.
    pub(super) messages: Vec<Range<usize>>,
    info: Range<usize>,
}

impl Export {
    pub(super) fn of(text: Vec<u8>) -> Result<Self, FormatError> {
        let start = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        serde_json::from_slice::<serde::de::IgnoredAny>(&text[start..])
            .map_err(|error| FormatError::of_json(1, &error))?;
        let place = |key| find(&text[start..], &[key]).map(|it| it.start + start..it.end + start);
        let list = place("messages").unwrap_or_default();
        let each = elements(&text[list.clone()]).unwrap_or_default().into_iter();
        let messages = each.map(|it| list.start + it.start..list.start + it.end).collect();
        Ok(Self { messages, info: place("info").unwrap_or_default(), text })
    }
}

/// One session, wherever it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source<'a> {
    Export(&'a Export),
    Rows { parts: &'a dyn Parts, session: &'a str },
}

impl Source<'_> {
    /// Returns what the session says of itself: of an export its `info`, of a database its row.
    pub(super) fn session(&self) -> io::Result<Vec<u8>> {
        match self {
            Self::Export(export) => Ok(export.text[export.info.clone()].to_vec()),
            Self::Rows { parts, session } => parts.whole(&format!("{SESSION}/{session}/{session}")),
        }
    }

    /// Reads all messages without their parts, in the order in which they were written.
    pub(super) fn heads(&self) -> io::Result<Found<Head>> {
        match self {
            Self::Export(export) => {
                let mut found = Found::new();
                for (at, place) in export.messages.iter().enumerate() {
                    let json = find(&export.text[place.clone()], &["info"]);
                    let info = json.and_then(|it| {
                        Fields::of(&export.text[place.start + it.start..place.start + it.end])
                    });
                    found.push(at + 1, info.and_then(|info| head(info.text("id")?, &info, span("", place))));
                }
                Ok(found)
            }
            Self::Rows { parts, session } => {
                let mut found = rows(*parts, &format!("{MESSAGE}/{session}/"), |row, record| {
                    let json = data(row)?;
                    let mut head = head(text(row_fields(row)?.get("id")?)?, &Fields::of(&json)?, record)?;
                    head.created = row_fields(row)?.number("time_created").unwrap_or(head.created);
                    Some(head)
                })?;
                found.all.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
                Ok(found)
            }
        }
    }

    /// Returns what a message says of itself as it was written.
    pub(super) fn info(&self, head: &Head) -> io::Result<Vec<u8>> {
        match self {
            Self::Export(export) => {
                let element = &export.text[range(&head.record)];
                Ok(find(element, &["info"]).map(|it| element[it].to_vec()).unwrap_or_default())
            }
            Self::Rows { parts, .. } => Ok(data(&parts.bytes(&head.record)?).unwrap_or_default()),
        }
    }

    /// Reads the parts of a message in their order.
    pub(super) fn pieces(&self, head: &Head) -> io::Result<Found<Piece>> {
        match self {
            Self::Export(export) => {
                let element = range(&head.record);
                let list = find(&export.text[element.clone()], &["parts"]).unwrap_or_default();
                let list = element.start + list.start..element.start + list.end;
                let places = elements(&export.text[list.clone()]).unwrap_or_default().into_iter();
                let places = places.map(|it| list.start + it.start..list.start + it.end);
                let piece = |place: Range<usize>| Piece {
                    record: head.record.clone(),
                    json: export.text[place.clone()].to_vec(),
                    place,
                };
                Ok(Found { all: places.map(piece).collect(), unreadable: Vec::new() })
            }
            Self::Rows { parts, .. } => rows(*parts, &format!("{PART}/{}/", head.id), |row, record| {
                Some(Piece { record, place: 0..0, json: data(row)? })
            }),
        }
    }
}

/// Reads rows whose names begin as it is said.
fn rows<T>(parts: &dyn Parts, prefix: &str, read: impl Fn(&[u8], Span) -> Option<T>) -> io::Result<Found<T>> {
    let mut found = Found::new();
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

pub(super) fn row_fields(row: &[u8]) -> Option<Fields<'_>> {
    Fields::of(row)
}

/// Returns the JSON that a row holds in its column `data`.
pub(super) fn data(row: &[u8]) -> Option<Vec<u8>> {
    let json = Fields::of(row)?.text("data")?.into_bytes();
    Fields::of(&json).is_some().then_some(json)
}

fn head(id: String, info: &Fields<'_>, record: Span) -> Option<Head> {
    let role = match info.text("role")?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        _ => Role::Other,
    };
    let of_user = info.object("model").and_then(|model| model.text("modelID"));
    Some(Head {
        id,
        role,
        created: info.object("time").and_then(|time| time.number("created")).unwrap_or(0),
        parent: info.text("parentID"),
        is_summary: info.is_true("summary"),
        is_finished: info.text("finish").is_some(),
        error: info.object("error").map(|error| error.text("name").unwrap_or_default()),
        model: info.text("modelID").or(of_user),
        usage: info.object("tokens").and_then(|tokens| usage(&tokens)),
        record,
    })
}

/// Reads the counted tokens; a request that was never counted has none.
fn usage(tokens: &Fields<'_>) -> Option<Usage> {
    let number = |fields: &Fields<'_>, key| fields.number(key).and_then(|n| u64::try_from(n).ok());
    let cache = tokens.object("cache");
    let cached = |key| cache.as_ref().and_then(|cache| number(cache, key));
    let usage = Usage {
        input_tokens: number(tokens, "input").unwrap_or(0),
        output_tokens: number(tokens, "output").unwrap_or(0) + number(tokens, "reasoning").unwrap_or(0),
        cache_read_tokens: cached("read"),
        cache_write_tokens: cached("write"),
    };
    (usage.prompt_tokens() > 0).then_some(usage)
}

pub(super) fn span(part: &str, place: &Range<usize>) -> Span {
    Span { part: part.to_owned(), at: place.start as u64, len: place.len() as u64 }
}

/// Returns where a record of an export stands.
pub(super) fn range(record: &Span) -> Range<usize> {
    let start = usize::try_from(record.at).unwrap_or(usize::MAX);
    start..start.saturating_add(usize::try_from(record.len).unwrap_or(0))
}
