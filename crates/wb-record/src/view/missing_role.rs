//! Messages whose role is missing.

use crate::parts::change::{Bytes, Change};
use crate::parts::span::Span;

/// A record that is a message in all but its role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingRole {
    /// The record, an object.
    pub record: Span,
    /// Its line, counted from 1.
    pub line: usize,
    /// The role that it had, if its content or the records around it reveal it.
    pub role: Option<&'static str>,
}

impl MissingRole {
    /// Returns the smallest change that restores the role of the record, before all its other
    /// members.
    ///
    /// ```
    /// use wb_record::{Change, MissingRole, Span};
    ///
    /// let record = Span { at: 7, len: 2, ..Span::default() };
    /// let lost = MissingRole { record, line: 1, role: Some("user") };
    /// let Some(Change::Splice { at, new, .. }) = lost.change() else { unreachable!() };
    /// assert_eq!((at, &new.0[..]), (8, &b"\"role\":\"user\","[..]));
    /// ```
    pub fn change(&self) -> Option<Change> {
        let new = format!("\"role\":\"{}\",", self.role?);
        Some(Change::Splice { at: self.record.at + 1, old: Bytes::default(), new: Bytes(new.into_bytes()) })
    }
}
