//! The input of a call as a document, and a document as the input was.

use serde::Deserialize;
use serde_json::value::RawValue;
#[cfg(feature = "schema")]
use serde_json::{Map, Value};
use wb_dialect::Dialect;
use wb_formats::{Document, FORMATS, Format, FormatError, detect, format_of};
use wb_record::{BorrowedPart, ChangeSet, ChangedPart, MemoryParts, ONLY_CONVERSATION, Parts, Probe};

use crate::call::{Call, CallError, ErrorKind};

/// The shape in which the messages came, and in which they are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A list under this key of a request.
    List(&'static str),
    /// A list alone.
    BareList,
    /// A whole request.
    Body,
    /// The text of a file.
    Session,
}

/// Changed messages, in the shape in which they came.
#[derive(Debug, Default, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Output {
    #[cfg_attr(feature = "schema", schemars(with = "Option<Vec<Map<String, Value>>>"))]
    messages: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "Option<Map<String, Value>>"))]
    body: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session: Option<String>,
}

impl Output {
    pub(crate) fn messages(&self) -> Option<&str> {
        self.messages.as_deref().map(RawValue::get)
    }

    pub(crate) fn text(&self) -> Option<&str> {
        self.messages().or(self.body.as_deref().map(RawValue::get)).or(self.session.as_deref())
    }
}

/// A document read from a call.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) document: Box<dyn Document>,
    pub(crate) shape: Shape,
}

impl Input {
    pub(crate) fn from_call(call: &Call<'_>) -> Result<Self, CallError> {
        let named = call.format.as_deref().map(format_named).transpose()?;
        match (call.messages, call.body, call.session.as_deref()) {
            (Some(list), None, None) => from_list(list.get(), named),
            (None, Some(body), None) => open(body.get().into(), named, Shape::Body),
            (None, None, Some(text)) => open(text.into(), named, Shape::Session),
            _ => Err(CallError::call(
                "a call needs exactly one of messages, body and session",
                "send the list of messages, the whole request, or the text of a session file",
            )),
        }
    }

    /// Returns the dialect whose request it is, if it is one.
    pub(crate) fn dialect(&self) -> Option<Dialect> {
        let name = self.document.format().name();
        Dialect::ALL.into_iter().find(|dialect| format_of(*dialect).name() == name)
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, CallError> {
        self.document.parts().whole(ONLY_CONVERSATION).map_err(unreadable)
    }

    /// Returns the changed document in the shape of the input.
    pub(crate) fn changed(&self, set: &ChangeSet) -> Result<Output, CallError> {
        let again = self.document.parts().reopen().map_err(unreadable)?;
        let parts = ChangedPart::new(again, set).map_err(unreadable)?;
        output(parts.whole(ONLY_CONVERSATION).map_err(unreadable)?, self.shape)
    }
}

/// Returns a document in a shape.
pub(crate) fn output(bytes: Vec<u8>, shape: Shape) -> Result<Output, CallError> {
    let text = String::from_utf8(bytes).map_err(unreadable)?;
    let raw = |text: String| RawValue::from_string(text.trim().to_owned()).map_err(unreadable);
    Ok(match shape {
        Shape::Session => Output { session: Some(text), ..Output::default() },
        Shape::Body => Output { body: Some(raw(text)?), ..Output::default() },
        Shape::BareList => Output { messages: Some(raw(text)?), ..Output::default() },
        Shape::List(_) => {
            let request: Request<'_> = serde_json::from_str(&text).map_err(unreadable)?;
            Output { messages: Some(request.messages.to_owned()), ..Output::default() }
        }
    })
}

/// A request with nothing but its messages.
#[derive(Deserialize)]
struct Request<'a> {
    #[serde(borrow, alias = "input", alias = "contents")]
    messages: &'a RawValue,
}

fn from_list(list: &str, named: Option<&'static dyn Format>) -> Result<Input, CallError> {
    if !list.starts_with('[') {
        return Err(CallError::call("messages is not a list", "send [] for a conversation without any"));
    }
    let items: Vec<&RawValue> = serde_json::from_str(list).map_err(unreadable)?;
    if let Some(nth) = items.iter().position(|item| !item.get().starts_with('{')) {
        let what = format!("message {nth} is not an object");
        return Err(CallError::new(ErrorKind::Input, what, "send each message as the format has it"));
    }
    if items.is_empty() {
        // No format can be detected, and each has the empty list.
        return open(list.into(), Some(named.unwrap_or(&wb_formats::Native)), Shape::BareList);
    }
    let in_request = |key: &str| ["{\"", key, "\":", list, "}"].concat();
    let keys: Vec<&'static str> = match named {
        None => vec!["messages", "", "input", "contents"],
        Some(format) => {
            let dialects = Dialect::ALL.into_iter();
            vec![
                dialects
                    .filter(|it| format_of(*it).name() == format.name())
                    .map(Dialect::messages_key)
                    .next()
                    .unwrap_or(""),
            ]
        }
    };
    let [first, others @ ..] = keys.as_slice() else { unreachable!("there is one key at least") };
    let text = |key: &str| if key.is_empty() { list.to_owned() } else { in_request(key) };
    let shape = |key: &'static str| if key.is_empty() { Shape::BareList } else { Shape::List(key) };
    let known = |key: &&&'static str| {
        let probe = Probe::new(&BorrowedPart(text(key).as_bytes())).unwrap_or_default();
        detect(&probe).is_some()
    };
    let key = if others.is_empty() { first } else { keys.iter().find(|key| known(key)).unwrap_or(first) };
    open(text(key).into_bytes(), named, shape(key))
}

fn open(bytes: Vec<u8>, named: Option<&'static dyn Format>, shape: Shape) -> Result<Input, CallError> {
    let parts = Box::new(MemoryParts::from_bytes(bytes));
    let document = match named {
        Some(format) => format.open(parts),
        None => wb_formats::open(parts),
    };
    Ok(Input { document: document.map_err(|error| not_read(&error))?, shape })
}

fn format_named(name: &str) -> Result<&'static dyn Format, CallError> {
    let formats = || FORMATS.iter().map(|row| row.format);
    formats().find(|format| format.name() == name).ok_or_else(|| {
        let known: Vec<&str> = formats().map(Format::name).collect();
        CallError::new(
            ErrorKind::Option,
            format!("unknown format {name:?}"),
            format!("known: {}", known.join(", ")),
        )
    })
}

pub(crate) fn not_read(error: &FormatError) -> CallError {
    let hint = match error {
        FormatError::Unknown { .. } => "name the format".to_owned(),
        error => error.hint().to_owned(),
    };
    CallError::new(ErrorKind::Input, error, hint)
}

fn unreadable(error: impl std::fmt::Display) -> CallError {
    CallError::new(ErrorKind::Input, error, "send the input again")
}
