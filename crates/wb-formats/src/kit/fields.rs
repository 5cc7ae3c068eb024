//! The members of an object, read without parsing the others.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;
use wb_record::Line;
use wb_record::json::{Member, elements, members_of, members_within};

use super::json_text::value;
use super::loose::Key;

/// The members of an object, found once.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    text: &'a str,
    all: Vec<Member<'a>>,
    /// An object in it that was read with it: its position and its members.
    known: Option<(Range<usize>, Vec<Member<'a>>)>,
}

impl<'a> Fields<'a> {
    /// Finds the members; `None` if it is not a whole object.
    pub(crate) fn parse(text: &'a [u8]) -> Option<Self> {
        // The error about a long string would cost more than everything else.
        if text.starts_with(b"{") { Self::of_text(wb_record::lines::utf8(text)?) } else { None }
    }

    /// Finds the members in text that is known to be UTF-8.
    fn of_text(text: &'a str) -> Option<Self> {
        let all = text.starts_with('{').then(|| members_of(text)).flatten()?;
        Some(Self { text, all, known: None })
    }

    /// Finds the members, and in the same pass those of the object under a key, if there is one.
    pub(crate) fn with_inner(text: &'a [u8], key: &str) -> Option<Self> {
        let text = text.starts_with(b"{").then(|| wb_record::lines::utf8(text)).flatten()?;
        let (all, inner) = members_within(text, key)?;
        let fields = Self { text, all, known: None };
        let known = fields.place(key).zip(inner);
        Some(Self { known, ..fields })
    }

    /// Returns the position of a value in the text.
    pub(crate) fn place(&self, key: &str) -> Option<Range<usize>> {
        self.all.iter().rfind(|member| member.key == key).map(|member| member.value.clone())
    }

    /// Returns the JSON of a value, as bytes.
    pub(crate) fn get(&self, key: &str) -> Option<&'a [u8]> {
        self.json(key).map(str::as_bytes)
    }

    /// Returns the JSON of a value.
    pub(crate) fn json(&self, key: &str) -> Option<&'a str> {
        self.text.get(self.place(key)?)
    }

    /// Returns a string.
    pub(crate) fn text(&self, key: &str) -> Option<Cow<'a, str>> {
        let json = self.json(key)?;
        let inner = json.strip_prefix('"')?.strip_suffix('"')?;
        if memchr::memchr(b'\\', inner.as_bytes()).is_none() {
            return Some(Cow::Borrowed(inner));
        }
        let text = serde_json::from_str(json).ok().map(|Key(text)| text);
        text.or_else(|| Line::alone(1, json.as_bytes()).parse().ok().map(Cow::Owned))
    }

    /// Returns an owned string.
    pub(crate) fn string(&self, key: &str) -> Option<String> {
        self.text(key).map(Cow::into_owned)
    }

    /// Returns a value of any kind; half of a surrogate pair becomes U+FFFD.
    pub(crate) fn value(&self, key: &str) -> Option<Value> {
        value(self.get(key)?)
    }

    /// Takes the object that was read with this one.
    pub(crate) fn take_known(&mut self, place: &Range<usize>) -> Option<Self> {
        let (_, all) = self.known.take_if(|(known, _)| known == place)?;
        Some(Self { text: &self.text[place.clone()], all, known: None })
    }

    /// Returns a whole number.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        serde_json::from_str(self.json(key)?).ok()
    }

    /// Returns a number without its fraction.
    #[expect(clippy::cast_possible_truncation, reason = "times and tokens are far below 2^52")]
    pub(crate) fn integer(&self, key: &str) -> Option<i64> {
        let number: f64 = serde_json::from_str(self.json(key)?).ok()?;
        Some(number as i64)
    }

    /// Returns whether a value is exactly this literal.
    pub(crate) fn is(&self, key: &str, literal: &str) -> bool {
        self.get(key) == Some(literal.as_bytes())
    }

    /// Returns the positions of a list's elements in the text.
    pub(crate) fn elements(&self, key: &str) -> Option<Vec<Range<usize>>> {
        let list = self.place(key)?;
        let within = elements(self.text[list.clone()].as_bytes())?;
        Some(within.into_iter().map(|it| list.start + it.start..list.start + it.end).collect())
    }

    /// Returns an object in this one.
    pub(crate) fn inner(&self, key: &str) -> Option<Self> {
        self.inner_at(self.place(key)?)
    }

    /// Returns the object at a place in the text.
    pub(crate) fn inner_at(&self, place: Range<usize>) -> Option<Self> {
        match &self.known {
            Some((known, all)) if *known == place => {
                Some(Self { text: &self.text[place], all: all.clone(), known: None })
            }
            _ => Self::of_text(self.text.get(place)?),
        }
    }
}

/// Returns a text, or an empty one for a value of another kind.
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
        let fields = Fields::parse(br#"{"a":1,"b":"x\u00e9","c":{"d":true},"a":2}"#).unwrap();
        assert_eq!((fields.number("a"), fields.text("b").as_deref()), (Some(2), Some("xé")));
        assert!(fields.inner("c").unwrap().is("d", "true") && !fields.is("d", "true"));
        assert_eq!((fields.text("a"), fields.number("b"), fields.place("x")), (None, None, None));
        let both = Fields::with_inner(br#"{"c":{"d":[7]}}"#, "c").unwrap();
        assert_eq!((both.place("c"), both.inner("c").unwrap().get("d")), (Some(5..14), Some(&b"[7]"[..])));
        assert!(
            fields.inner("a").is_none() && Fields::parse(b"[]").is_none() && Fields::parse(b"{").is_none()
        );
    }
}
