//! An object in a trace, whose members were read once.

use std::ops::Range;

use serde::de::DeserializeOwned;
use wb_record::json::{Member, elements, find, members, text};

/// An object at a place of a document.
pub(crate) struct TraceObject<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(crate) members: Vec<Member<'a>>,
}

impl<'a> TraceObject<'a> {
    /// Reads an object that begins at a place of a document.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Option<Self> {
        Some(Self { bytes, at, members: members(bytes)? })
    }

    /// Returns the place of a member in the document.
    pub(crate) fn place(&self, key: &str) -> Option<Range<usize>> {
        let value = &self.members.iter().rfind(|member| member.key == key)?.value;
        Some(self.at + value.start..self.at + value.end)
    }

    /// Returns the JSON of a member.
    pub(crate) fn get(&self, key: &str) -> Option<&'a [u8]> {
        let value = &self.members.iter().rfind(|member| member.key == key)?.value;
        Some(&self.bytes[value.clone()])
    }

    /// Returns the first value of these paths of keys that is of a type.
    pub(crate) fn first<T: DeserializeOwned>(&self, paths: &[&[&str]]) -> Option<T> {
        let at_path = |path: &&[&str]| {
            let (key, rest) = path.split_first()?;
            let value = self.get(key)?;
            let place = if rest.is_empty() { 0..value.len() } else { find(value, rest)? };
            serde_json::from_slice(&value[place]).ok()
        };
        paths.iter().find_map(at_path)
    }

    /// Returns the attributes under a key: an object, or a list of keys with values.
    pub(crate) fn attributes(&self, key: &str) -> Option<Self> {
        let (bytes, at) = (self.get(key)?, self.place(key)?.start);
        if bytes.starts_with(b"{") {
            return Self::new(bytes, at);
        }
        let member = |place: Range<usize>| {
            let element = &bytes[place.clone()];
            let inner =
                ["stringValue", "intValue"].iter().find_map(|kind| find(element, &["value", kind]))?;
            let value = place.start + inner.start..place.start + inner.end;
            Some(Member { key: text(element, &["key"])?.into(), start: place.start, value })
        };
        Some(Self { bytes, at, members: elements(bytes)?.into_iter().filter_map(member).collect() })
    }
}
