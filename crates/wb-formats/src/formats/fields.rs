//! The members of an object that are looked at without parsing the others.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use wb_record::Line;
use wb_record::json::{Member, elements, members};

/// The members of an object, found once.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    text: &'a [u8],
    all: Vec<Member<'a>>,
}

impl<'a> Fields<'a> {
    /// Finds the members; nothing for what is no whole object.
    pub(crate) fn of(text: &'a [u8]) -> Option<Self> {
        // The error about a long string would cost more than all else.
        text.starts_with(b"{").then(|| members(text)).flatten().map(|all| Self { text, all })
    }

    /// Returns where a value stands in the text.
    pub(crate) fn place(&self, key: &str) -> Option<Range<usize>> {
        self.all.iter().rfind(|member| member.key == key).map(|member| member.value.clone())
    }

    /// Returns the JSON of a value.
    pub(crate) fn get(&self, key: &str) -> Option<&'a [u8]> {
        self.place(key).map(|place| &self.text[place])
    }

    /// Returns a string.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        #[derive(serde::Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
        let json = self.get(key)?;
        let text = serde_json::from_slice(json).ok().map(|Text(text)| text);
        text.or_else(|| Line::alone(1, json).parse().ok().map(Cow::Owned))
    }

    /// Returns a value of any kind; half of a surrogate pair becomes U+FFFD.
    pub(crate) fn value(&self, key: &str) -> Option<Value> {
        value(self.get(key)?)
    }

    /// Returns a whole number.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        serde_json::from_slice(self.get(key)?).ok()
    }

    /// Returns whether a value is this very literal.
    pub(crate) fn is(&self, key: &str, literal: &str) -> bool {
        self.get(key) == Some(literal.as_bytes())
    }

    /// Returns where the elements of a list stand in the text.
    pub(crate) fn elements(&self, key: &str) -> Option<Vec<Range<usize>>> {
        let list = self.place(key)?;
        let within = elements(&self.text[list.clone()])?;
        Some(within.into_iter().map(|it| list.start + it.start..list.start + it.end).collect())
    }

    /// Returns an object in this one.
    pub(crate) fn inner(&self, key: &str) -> Option<Self> {
        Fields::of(self.get(key)?)
    }
}

/// Parses a value; half of a surrogate pair becomes U+FFFD.
pub(crate) fn value(json: &[u8]) -> Option<Value> {
    Line::alone(1, json).parse().ok()
}

/// Returns a text, without one where the value is none.
pub(crate) fn text_of(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}

/// Takes a text out of an object.
pub(crate) fn take_text(from: &mut Value, key: &str) -> Option<String> {
    match from.get_mut(key).map(Value::take) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_kind() {
        let fields = Fields::of(br#"{"a":1,"b":"x\u00e9","c":{"d":true},"a":2}"#).unwrap();
        assert_eq!((fields.number("a"), fields.text("b").as_deref()), (Some(2), Some("xé")));
        assert!(fields.inner("c").unwrap().is("d", "true") && !fields.is("d", "true"));
        assert_eq!((fields.text("a"), fields.number("b"), fields.place("x")), (None, None, None));
        assert!(fields.inner("a").is_none() && Fields::of(b"[]").is_none() && Fields::of(b"{").is_none());
    }
}
