//! A conversion to another format.

use serde::Serialize;
#[cfg(feature = "schema")]
use serde_json::Map;
use serde_json::Value;
use wb_dialect::Violation;

use crate::call::{Call, CallError, ErrorKind};
use crate::conversion::{ConversionError, NewPlace, Target, convert_document};
use crate::input::{Input, Output, Shape, not_read, output};
use crate::operations::{no_object, not_expressible, stamp};

/// The messages in another format.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Converted {
    #[serde(flatten)]
    output: Output,
    from: &'static str,
    n_messages: usize,
    lost: Vec<String>,
    #[cfg_attr(feature = "schema", schemars(with = "Vec<Map<String, Value>>"))]
    violations: Vec<Violation>,
}

pub(crate) fn convert(call: &Call<'_>) -> Result<Converted, CallError> {
    let Some(to) = call.to else {
        return Err(CallError::call("convert needs a format to write", "send it as to"));
    };
    let input = Input::from_call(call)?;
    let folder = call.options.folder.as_deref().unwrap_or("/");
    let place = NewPlace { folder, stamp: &stamp(&call.options) };
    let done = convert_document(input.document.as_ref(), to, place).map_err(|error| match error {
        ConversionError::Format(error) => not_read(&error),
        ConversionError::NotExpressible(error) => not_expressible(&error),
        error => CallError::new(ErrorKind::Input, error, "send the input again"),
    })?;
    let output = match to {
        Target::Anthropic | Target::Openai | Target::OpenaiResponses | Target::Gemini => {
            let body: Value = serde_json::from_slice(&done.bytes).map_err(no_object)?;
            output(body.to_string().into_bytes(), Shape::Body)?
        }
        Target::Native | Target::ClaudeCode | Target::Codex | Target::Pi => {
            output(done.bytes, Shape::Session)?
        }
    };
    Ok(Converted {
        output,
        from: done.from,
        n_messages: done.n_messages,
        lost: done.lost,
        violations: done.violations,
    })
}
