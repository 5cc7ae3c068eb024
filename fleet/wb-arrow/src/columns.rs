//! The columns that are read, of whatever type an export has.

use std::borrow::Cow;
use std::sync::LazyLock;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, BinaryArray, BinaryViewArray, LargeBinaryArray, LargeStringArray, RecordBatch, StringArray,
    StringViewArray,
};
use arrow_json::writer::{EncoderOptions, NullableEncoder, make_encoder};
use arrow_schema::{ArrowError, DataType, SchemaRef};

use crate::options::ColumnNames;

/// The reason why a batch has no answer: nothing else ends one.
#[derive(Debug, thiserror::Error)]
pub enum ColumnError {
    /// There is no column of messages.
    #[error("there is no column {0:?}; name the column with the messages, of these: {1}")]
    Missing(String, String),
    /// A column has a type that is neither text nor JSON.
    #[error("column {0:?} cannot be read: {1}; cast it to text")]
    Type(String, ArrowError),
}

static JSON: LazyLock<EncoderOptions> = LazyLock::new(EncoderOptions::default);

/// The columns of a batch.
pub(crate) struct Columns<'a> {
    pub(crate) id: Texts<'a>,
    pub(crate) format: Texts<'a>,
    pub(crate) messages: Texts<'a>,
    pub(crate) summary: Texts<'a>,
}

/// A column as texts; what is nested becomes JSON.
pub(crate) enum Texts<'a> {
    Absent,
    Utf8(&'a StringArray),
    LargeUtf8(&'a LargeStringArray),
    Utf8View(&'a StringViewArray),
    Binary(&'a BinaryArray),
    LargeBinary(&'a LargeBinaryArray),
    BinaryView(&'a BinaryViewArray),
    Json(NullableEncoder<'a>),
}

impl<'a> Columns<'a> {
    pub(crate) fn new(batch: &'a RecordBatch, names: &ColumnNames) -> Result<Self, ColumnError> {
        let schema = batch.schema_ref();
        let column = |name: &str| match schema.index_of(name) {
            Ok(at) => Texts::new(batch, schema, at).map_err(|why| ColumnError::Type(name.to_owned(), why)),
            Err(_) => Ok(Texts::Absent),
        };
        let messages = column(&names.messages)?;
        if matches!(messages, Texts::Absent) {
            let known: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(ColumnError::Missing(names.messages.clone(), known.join(", ")));
        }
        let (id, format) = (column(&names.id)?, column(&names.format)?);
        Ok(Self { id, format, messages, summary: column(&names.summary)? })
    }
}

impl<'a> Texts<'a> {
    fn new(batch: &'a RecordBatch, schema: &'a SchemaRef, at: usize) -> Result<Self, ArrowError> {
        let array = batch.column(at).as_ref();
        Ok(match array.data_type() {
            DataType::Null => Self::Absent,
            DataType::Utf8 => Self::Utf8(array.as_string()),
            DataType::LargeUtf8 => Self::LargeUtf8(array.as_string()),
            DataType::Utf8View => Self::Utf8View(array.as_string_view()),
            DataType::Binary => Self::Binary(array.as_binary()),
            DataType::LargeBinary => Self::LargeBinary(array.as_binary()),
            DataType::BinaryView => Self::BinaryView(array.as_binary_view()),
            _ => Self::Json(make_encoder(&schema.fields()[at], array, &JSON)?),
        })
    }

    /// Returns the text of a row, none if it is null.
    pub(crate) fn get(&mut self, row: usize) -> Result<Option<Cow<'a, str>>, std::str::Utf8Error> {
        let bytes = match self {
            Self::Absent => return Ok(None),
            Self::Utf8(array) => return Ok(array.is_valid(row).then(|| array.value(row).into())),
            Self::LargeUtf8(array) => return Ok(array.is_valid(row).then(|| array.value(row).into())),
            Self::Utf8View(array) => return Ok(array.is_valid(row).then(|| array.value(row).into())),
            Self::Binary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::LargeBinary(array) => array.is_valid(row).then(|| array.value(row)),
            Self::BinaryView(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Json(encoder) => return Ok(json(encoder, row).map(Cow::Owned)),
        };
        bytes.map(std::str::from_utf8).transpose().map(|text| text.map(Cow::Borrowed))
    }
}

/// Returns a value as JSON; a text is itself.
fn json(encoder: &mut NullableEncoder<'_>, row: usize) -> Option<String> {
    if encoder.is_null(row) {
        return None;
    }
    let mut out = Vec::new();
    encoder.encode(row, &mut out);
    let text = String::from_utf8_lossy(&out).into_owned();
    Some(serde_json::from_str(&text).unwrap_or(text))
}
