//! The name of an entry, and where new names come from.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wb_record::Numbers;

/// The id of an entry in a session log: eight hexadecimal digits in files of pi, any text
/// elsewhere.
///
/// The struct has 16 bytes. A text of eight bytes is inline; copies of any other text share one
/// allocation.
#[derive(Clone, PartialEq, Eq)]
pub struct EntryId(Text);

/// One text has one form, so that equal texts are equal forms.
#[derive(Clone, PartialEq, Eq)]
enum Text {
    Eight([u8; 8]),
    Other(Arc<str>),
}

impl EntryId {
    /// Returns the id verbatim.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // The file had it as text.
            Text::Eight(bytes) => std::str::from_utf8(bytes).unwrap_or_default(),
            Text::Other(text) => text,
        }
    }

    /// Builds the id that migration gives to the record at an index, the header being record 0.
    pub(crate) fn of_record(index: usize) -> Self {
        format!("{index:08x}").into()
    }

    /// Builds the id whose eight digits write a number.
    pub(crate) fn of_digits(number: u32) -> Self {
        let digit = |at| b"0123456789abcdef"[(number >> (28 - 4 * at)) as usize & 15];
        Self(Text::Eight(std::array::from_fn(digit)))
    }
}

/// Returns the number of an id of eight small hexadecimal digits.
pub(crate) fn digits(id: &str) -> Option<u32> {
    let is_digit = |byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let are_digits = id.len() == 8 && id.bytes().all(is_digit);
    if are_digits { u32::from_str_radix(id, 16).ok() } else { None }
}

impl From<&str> for EntryId {
    fn from(id: &str) -> Self {
        let eight = <[u8; 8]>::try_from(id.as_bytes()).map(Text::Eight);
        Self(eight.unwrap_or_else(|_| Text::Other(id.into())))
    }
}

impl From<String> for EntryId {
    fn from(id: String) -> Self {
        id.as_str().into()
    }
}

impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

impl Hash for EntryId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl Ord for EntryId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl PartialOrd for EntryId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EntryId").field(&self.as_str()).finish()
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(AnyText)
    }
}

/// Keeps the text as read, without a copy.
struct AnyText;

impl Visitor<'_> for AnyText {
    type Value = EntryId;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, id: &str) -> Result<EntryId, E> {
        Ok(id.into())
    }
}

/// Tries at an id of eight digits before a longer one is taken, as many as pi makes.
const MAX_TRIES: usize = 100;

/// Makes the ids of new entries: eight hexadecimal digits each, from a counter that a seed
/// scatters.
///
/// It uses no clock and no randomness: one seed always gives the same ids. A session skips the ids
/// that it has, so one seed serves every run that writes to it.
#[derive(Clone, Debug)]
pub struct IdSource {
    numbers: Numbers,
}

impl IdSource {
    /// Starts at a seed.
    pub fn new(seed: u64) -> Self {
        Self { numbers: Numbers::new(seed) }
    }

    /// Leaves out as many ids as a log has records, so that one seed serves every run that writes
    /// to it.
    pub(crate) fn skip(&mut self, n_ids: usize) {
        self.numbers.skip(n_ids);
    }

    /// Returns an id that is not taken; after a hundred tries it is one of 32 digits.
    pub(crate) fn next_id(&mut self, is_taken: impl Fn(&str) -> bool) -> EntryId {
        for _ in 0..MAX_TRIES {
            let id = EntryId::of_digits((self.numbers.next_number() >> 32) as u32);
            if !is_taken(id.as_str()) {
                return id;
            }
        }
        loop {
            // No log holds enough ids for this to loop forever.
            let id = format!("{:016x}{:016x}", self.numbers.next_number(), self.numbers.next_number());
            if !is_taken(&id) {
                return id.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn an_id_is_small_and_is_its_text_whatever_its_length() {
        assert_eq!(size_of::<EntryId>(), 16);
        let texts =
            ["", "a", "0123abcd", "0123ABCD", "+123abcd", "\u{e9}\u{e9}\u{e9}\u{e9}", "123456789", "root"];
        let mut ids = texts.map(EntryId::from).to_vec();
        for (id, text) in ids.iter().zip(texts) {
            assert_eq!((id.as_str(), id.to_string().as_str()), (text, text));
            assert_eq!(serde_json::from_str::<EntryId>(&format!("{text:?}")).unwrap(), *id);
            assert!(ids.iter().filter(|other| *other == id).count() == 1, "{id:?}");
        }
        let by_text: HashSet<EntryId> = ids.iter().cloned().collect();
        assert!(texts.iter().all(|text| by_text.contains(*text)));
        let mut sorted = texts;
        sorted.sort_unstable();
        ids.sort();
        assert_eq!(ids.iter().map(EntryId::as_str).collect::<Vec<_>>(), sorted);
        assert_eq!(format!("{:?}", ids[0]), "EntryId(\"\")");
    }

    #[test]
    fn eight_small_digits_are_a_number_and_nothing_else_is() {
        for number in [0, 1, 0x0123_abcd, u32::MAX] {
            assert_eq!(digits(EntryId::of_digits(number).as_str()), Some(number));
            assert_eq!(EntryId::of_digits(number).as_str(), format!("{number:08x}"));
        }
        assert!(
            ["", "123", "0123ABCD", "+123abcd", "0123abcg", "0123abcd0"]
                .iter()
                .all(|id| digits(id).is_none())
        );
    }

    #[test]
    fn a_seed_gives_the_same_ids_each_time_and_another_seed_others() {
        let three = |seed| {
            let mut ids = IdSource::new(seed);
            [(); 3].map(|()| ids.next_id(|_| false))
        };
        assert_eq!(three(7), three(7));
        assert_ne!(three(7), three(8));
        assert!(three(7).iter().all(|id| id.as_str().len() == 8));
    }

    #[test]
    fn taken_ids_are_left_out() {
        let mut taken: HashSet<EntryId> = HashSet::new();
        for seed in [1, 1, 1] {
            let mut ids = IdSource::new(seed);
            for _ in 0..30 {
                let id = ids.next_id(|id| taken.contains(id));
                assert!(taken.insert(id));
            }
        }
        assert_eq!(taken.len(), 90);
    }

    #[test]
    fn skipped_ids_are_those_that_would_have_come() {
        let (mut walked, mut skipped) = (IdSource::new(5), IdSource::new(5));
        for _ in 0..9 {
            walked.next_id(|_| false);
        }
        skipped.skip(9);
        assert_eq!(walked.next_id(|_| false), skipped.next_id(|_| false));
    }

    #[test]
    fn where_every_short_id_is_taken_it_is_a_long_one() {
        assert_eq!(IdSource::new(0).next_id(|id| id.len() == 8).as_str().len(), 32);
    }
}
