//! Members of an object that may have any type: one of an unexpected type counts as absent.

use serde_json::Value;
use wb_record::Line;
use wb_record::json::{Member, members};

/// An object of which some members are read.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    json: &'a [u8],
    members: Vec<Member<'a>>,
}

impl<'a> Fields<'a> {
    /// Parses an object; `None` if the text is not one.
    pub(crate) fn parse(json: &'a [u8]) -> Option<Self> {
        Some(Self { json, members: members(json)? })
    }

    /// Returns the text of a value; of several members with one key the last.
    pub(crate) fn get(&self, key: &str) -> Option<&'a [u8]> {
        let member = self.members.iter().rfind(|member| member.key == key)?;
        self.json.get(member.value.clone())
    }

    pub(crate) fn text(&self, key: &str) -> Option<String> {
        text(self.get(key)?)
    }

    /// Returns a number without its fraction.
    #[expect(clippy::cast_possible_truncation, reason = "times and tokens are far below 2^52")]
    pub(crate) fn number(&self, key: &str) -> Option<i64> {
        let number: f64 = serde_json::from_slice(self.get(key)?).ok()?;
        Some(number as i64)
    }

    pub(crate) fn is_true(&self, key: &str) -> bool {
        self.get(key) == Some(b"true")
    }

    pub(crate) fn object(&self, key: &str) -> Option<Fields<'a>> {
        Fields::parse(self.get(key)?)
    }
}

/// Returns a string; half of a surrogate pair becomes U+FFFD.
pub(crate) fn text(json: &[u8]) -> Option<String> {
    Line::alone(1, json).parse().ok()
}

/// Returns any value, as [`text`] does; `None` if it is nested too deep.
pub(crate) fn value(json: &[u8]) -> Option<Value> {
    Line::alone(1, json).parse().ok()
}
