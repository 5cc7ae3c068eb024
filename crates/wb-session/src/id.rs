//! The name of an entry, and where new names come from.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The id of an entry in a session log: eight hexadecimal digits in files of pi, any text elsewhere.
///
/// A copy shares the text, so that an entry, its children and an index hold it once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryId(Arc<str>);

impl EntryId {
    /// Returns the id as it stands in the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Builds the id that migration gives to the record at an index, the header being record 0.
    pub(crate) fn of_record(index: usize) -> Self {
        Self(format!("{index:08x}").into())
    }
}

impl From<&str> for EntryId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for EntryId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl Borrow<str> for EntryId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl Serialize for EntryId {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EntryId {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from).map(Self::from)
    }
}

/// Tries at an id of eight digits before a longer one is taken, as many as pi makes.
const MAX_TRIES: usize = 100;
/// How far splitmix64 goes from one number to the next.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// Makes the ids of new entries: eight hexadecimal digits each, from a counter that a seed scatters.
///
/// There is no clock and no randomness in it: one seed always gives the same ids. A session leaves out those that it
/// has, so one seed serves every run that writes to it.
#[derive(Clone, Debug)]
pub struct IdSource {
    state: u64,
}

impl IdSource {
    /// Starts at a seed.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Leaves out as many ids as a log has records, so that one seed serves every run that writes to it.
    pub(crate) fn skip(&mut self, n_ids: usize) {
        self.state = self.state.wrapping_add((n_ids as u64).wrapping_mul(STEP));
    }

    /// Returns an id that is not taken; after a hundred tries it is one of 32 digits.
    pub(crate) fn next_id(&mut self, is_taken: impl Fn(&str) -> bool) -> EntryId {
        for _ in 0..MAX_TRIES {
            let id = format!("{:08x}", self.scattered() >> 32);
            if !is_taken(&id) {
                return id.into();
            }
        }
        loop {
            // No log holds so many that this would not end.
            let id = format!("{:016x}{:016x}", self.scattered(), self.scattered());
            if !is_taken(&id) {
                return id.into();
            }
        }
    }

    /// Returns the next number of splitmix64, which visits every one once.
    fn scattered(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

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
