//! The members of an object that are looked at without parsing the others.

use std::borrow::Cow;
use std::ops::Range;

use wb_record::json::{Member, members};

/// The members of an object, found once.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    text: &'a [u8],
    all: Vec<Member>,
}

impl<'a> Fields<'a> {
    /// Finds the members; nothing for what is no whole object.
    pub(super) fn of(text: &'a [u8]) -> Option<Self> {
        // The error about a long string would cost more than all else.
        text.starts_with(b"{").then(|| members(text)).flatten().map(|all| Self { text, all })
    }

    /// Returns where a value stands in the text.
    pub(super) fn place(&self, key: &str) -> Option<Range<usize>> {
        self.all.iter().rfind(|member| member.key == key).map(|member| member.value.clone())
    }

    /// Returns the JSON of a value.
    pub(super) fn get(&self, key: &str) -> Option<&'a [u8]> {
        self.place(key).map(|place| &self.text[place])
    }

    /// Returns a string.
    pub(super) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        #[derive(serde::Deserialize)]
        struct Text<'a>(#[serde(borrow)] Cow<'a, str>);
        serde_json::from_slice(self.get(key)?).ok().map(|Text(text)| text)
    }

    /// Returns a whole number.
    pub(super) fn number(&self, key: &str) -> Option<u64> {
        serde_json::from_slice(self.get(key)?).ok()
    }

    /// Returns whether a value is this very literal.
    pub(super) fn is(&self, key: &str, literal: &str) -> bool {
        self.get(key) == Some(literal.as_bytes())
    }

    /// Returns an object in this one.
    pub(super) fn inner(&self, key: &str) -> Option<Self> {
        Fields::of(self.get(key)?)
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
