//! The rules of providers: what they would refuse, and its repair.

use serde::Serialize;
#[cfg(feature = "schema")]
use serde_json::Map;
use serde_json::Value;
use wb_dialect::{Dialect, EncodedRequest, Violation};
use wb_formats::{SentAs, View, newest, repair_checked};
use wb_message::Message;

use crate::call::{Call, CallError};
use crate::input::{Input, Output, not_read, output};
use crate::operations::{no_object, not_expressible, stamp};
use crate::session::Session;
use crate::validity::Validity;

/// The violations of provider rules.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Validated {
    format: &'static str,
    #[cfg_attr(feature = "schema", schemars(with = "Vec<String>"))]
    dialects: Vec<Dialect>,
    /// The violations.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Map<String, Value>>"))]
    pub violations: Vec<Violation>,
}

/// The repaired messages, or none if nothing changed.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Repaired {
    #[serde(flatten)]
    output: Output,
    format: &'static str,
    changed: bool,
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Map<String, Value>>"))]
    fixed: Vec<Violation>,
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Map<String, Value>>"))]
    left: Vec<Violation>,
}

pub(crate) fn validate(call: &Call<'_>) -> Result<Validated, CallError> {
    let input = Input::from_call(call)?;
    match input.dialect() {
        Some(own) => request_violations(&input, own, &view(&input)?.messages, &call.dialects),
        None => Ok(session_violations(&Session::open(input, &call.options)?, &call.dialects)),
    }
}

/// Validates a session that was opened.
pub(crate) fn validate_session(session: &Session, dialects: &[Dialect]) -> Result<Validated, CallError> {
    match session.input.dialect() {
        Some(own) => request_violations(&session.input, own, &session.view.messages, dialects),
        None => Ok(session_violations(session, dialects)),
    }
}

fn request_violations(
    input: &Input,
    own: Dialect,
    messages: &[Message],
    dialects: &[Dialect],
) -> Result<Validated, CallError> {
    let dialects = if dialects.is_empty() { vec![own] } else { dialects.to_vec() };
    let body = body(input)?;
    let found = dialects.iter().map(|dialect| match *dialect {
        dialect if dialect == own => wb_dialect::validate(&body, dialect),
        dialect => EncodedRequest::from_messages(messages, dialect).validate(),
    });
    let violations = found.collect::<Vec<_>>().concat();
    Ok(Validated { format: input.document.format().name(), dialects, violations })
}

fn session_violations(session: &Session, dialects: &[Dialect]) -> Validated {
    let document = session.input.document.as_ref();
    let sent = SentAs::from_view(&session.view);
    let sent = if dialects.is_empty() { sent } else { sent.in_dialects(dialects) };
    let violations = sent.violations_in(document, &session.view);
    Validated { format: document.format().name(), dialects: sent.dialects.to_vec(), violations }
}

pub(crate) fn repair(call: &Call<'_>) -> Result<Repaired, CallError> {
    let input = Input::from_call(call)?;
    let format = input.document.format().name();
    if let Some(dialect) = input.dialect() {
        let mut body = body(&input)?;
        let fixed = wb_dialect::repair(&mut body, dialect);
        let left = wb_dialect::validate(&body, dialect);
        let changed = !fixed.is_empty();
        let output =
            if changed { output(body.to_string().into_bytes(), input.shape)? } else { Output::default() };
        return Ok(Repaired { output, format, changed, fixed, left });
    }
    let session = Session::open(input, &call.options)?;
    let document = session.input.document.as_ref();
    let sent = SentAs::from_view(&session.view);
    let before = Validity::read(document, &session.view, &sent);
    let checked = (&session.view, before.violations());
    let done = repair_checked(document, &session.conversation, checked, &stamp(&call.options));
    let done = done.map_err(|error| not_expressible(&error))?;
    let after = Validity::with_violations(&done.messages, done.left);
    let fixed = before.new_since(&after).into_iter().cloned().collect();
    let changed = !done.changes.is_empty();
    let output = if changed { session.input.changed(&done.changes)? } else { Output::default() };
    Ok(Repaired { output, format, changed, fixed, left: after.violations().to_vec() })
}

fn body(input: &Input) -> Result<Value, CallError> {
    serde_json::from_slice(&input.bytes()?).map_err(no_object)
}

fn view(input: &Input) -> Result<View, CallError> {
    let document = input.document.as_ref();
    newest(document).and_then(|name| document.view(&name)).map_err(|error| not_read(&error))
}
