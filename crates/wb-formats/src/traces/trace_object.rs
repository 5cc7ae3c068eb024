//! An object in a trace, whose members were read once.

use std::ops::Range;

use serde::de::DeserializeOwned;
use wb_record::json::{Member, elements, find, members, text};

/// An object at a place of a document.
pub(crate) struct TraceObject<'a> {
    bytes: &'a [u8],
    at: usize,
    pub(crate) members: Vec<Member<'a>>,
    /// The end of each member: of its value, or of the element that holds key and value.
    ends: Vec<usize>,
}

impl<'a> TraceObject<'a> {
    /// Reads an object that begins at a place of a document.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Option<Self> {
        let members = members(bytes)?;
        let ends = members.iter().map(|member| member.value.end).collect();
        Some(Self { bytes, at, members, ends })
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
            let member = Member { key: text(element, &["key"])?.into(), start: place.start, value };
            Some((member, place.end))
        };
        let (members, ends) = elements(bytes)?.into_iter().filter_map(member).unzip();
        Some(Self { bytes, at, members, ends })
    }

    /// Returns whether it is a list of keys with values.
    pub(crate) fn is_list(&self) -> bool {
        self.bytes.starts_with(b"[")
    }

    /// Returns its place in the document.
    pub(crate) fn whole(&self) -> Range<usize> {
        self.at..self.at + self.bytes.len()
    }

    /// Visits the members: the key, and the place of key and value in the document.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let place = |(member, end): (_, &usize)| {
            let Member { key, start, .. }: &Member<'_> = member;
            (&**key, self.at + start..self.at + end)
        };
        self.members.iter().zip(&self.ends).map(place)
    }

    /// Returns the place in the document of the value at the end of a path of keys.
    pub(crate) fn place_at(&self, path: &[&str]) -> Option<Range<usize>> {
        let inner = find(self.bytes, path).filter(|_| !self.is_list())?;
        Some(self.at + inner.start..self.at + inner.end)
    }

    /// Returns the part of the document at a place in it.
    pub(crate) fn part(&self, place: &Range<usize>) -> Option<&'a [u8]> {
        self.bytes.get(place.start.checked_sub(self.at)?..place.end.checked_sub(self.at)?)
    }
}
