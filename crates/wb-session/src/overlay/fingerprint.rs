//! Fingerprints of ranges of messages that survive new versions of Rust.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use wb_message::{Message, fingerprint};

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// The most parts that a range of messages is hashed in; a difference is located in one of them.
const MAX_PARTS: usize = 16;

/// A 64-bit hash: the [`fingerprint`](fn@wb_message::fingerprint) of each message, joined in order.
///
/// On the wire it is 16 hexadecimal digits, since readers in other languages round large numbers. It notices
/// changes; it is no defence against somebody who looks for two texts with one hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Hashes texts in order; where one ends and the next begins counts.
    pub(crate) fn of_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut fnv = Fnv(FNV_OFFSET);
        for text in texts {
            fnv.take(text.as_bytes());
            // No UTF-8 text holds this byte.
            fnv.take(&[0xFF]);
        }
        Self(fnv.0)
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(from)?;
        let is_hash = digits.len() == 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let hash = u64::from_str_radix(&digits, 16).ok().filter(|_| is_hash);
        hash.map(Self).ok_or_else(|| D::Error::custom("a fingerprint is 16 hexadecimal digits"))
    }
}

/// FNV-1a.
struct Fnv(u64);

impl Fnv {
    fn take(&mut self, bytes: &[u8]) {
        let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        self.0 = bytes.iter().fold(self.0, mix);
    }
}

/// The hashes of a stretch of a log, each message hashed once; any range in it then costs O(1).
#[derive(Debug)]
pub(crate) struct Hashes {
    start: usize,
    sums: Vec<u64>,
}

impl Hashes {
    /// Hashes the messages of a range, clipped to the log.
    pub(crate) fn of(log: &[Message], range: Range<usize>) -> Self {
        let end = range.end.min(log.len());
        let start = range.start.min(end);
        let mut sums = vec![0_u64];
        sums.reserve_exact(end - start);
        for message in &log[start..end] {
            let sum = sums[sums.len() - 1];
            sums.push(sum.wrapping_mul(FNV_PRIME).wrapping_add(fingerprint(0, message)));
        }
        Self { start, sums }
    }

    fn of_range(&self, range: &Range<usize>) -> Fingerprint {
        let sum = |at: usize| self.sums.get(at.saturating_sub(self.start)).copied().unwrap_or(0);
        let shift = FNV_PRIME.wrapping_pow(u32::try_from(range.len()).unwrap_or(u32::MAX));
        Fingerprint(sum(range.end).wrapping_sub(sum(range.start).wrapping_mul(shift)))
    }

    /// Returns the fingerprints of the parts of a range: one for each message of a short range, else
    /// [`MAX_PARTS`] or fewer.
    pub(crate) fn parts(&self, range: &Range<usize>) -> Vec<Fingerprint> {
        parts(range).map(|part| self.of_range(&part)).collect()
    }

    /// Returns the first part of a range whose fingerprint is not the known one.
    pub(crate) fn first_difference(
        &self,
        range: &Range<usize>,
        known: &[Fingerprint],
    ) -> Option<Range<usize>> {
        if known.len() != parts(range).count() {
            return Some(range.clone());
        }
        parts(range).zip(known).find(|(part, known)| self.of_range(part) != **known).map(|(part, _)| part)
    }
}

fn parts(range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let (end, step) = (range.end, range.len().div_ceil(MAX_PARTS).max(1));
    range.clone().step_by(step).map(move |start| start..end.min(start.saturating_add(step)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_hashed_by_fnv_1a() {
        // A known test vector of FNV-1a, 64 bits.
        let mut fnv = Fnv(FNV_OFFSET);
        fnv.take(b"foobar");
        assert_eq!(fnv.0, 0x8594_4171_f739_67e8);
    }

    #[test]
    fn a_difference_is_told_exactly_in_short_ranges_and_to_a_sixteenth_in_long_ones() {
        let log: Vec<_> = (0..160).map(|n| Message::user(n.to_string())).collect();
        for (range, part) in [(3..12, 7..8), (0..160, 0..10), (5..37, 7..9)] {
            let known = Hashes::of(&log, range.clone()).parts(&range);
            assert!(known.len() <= MAX_PARTS);
            assert_eq!(Hashes::of(&log, 0..160).first_difference(&range, &known), None);
            let mut changed = log.clone();
            changed[7] = Message::user("other");
            assert_eq!(Hashes::of(&changed, range.clone()).first_difference(&range, &known), Some(part));
        }
    }

    #[test]
    fn order_and_place_count() {
        let log = ["a", "b", "a", "b"].map(Message::user);
        let hashes = Hashes::of(&log, 0..4);
        assert_eq!(hashes.of_range(&(0..2)), hashes.of_range(&(2..4)));
        assert_ne!(hashes.of_range(&(0..2)), hashes.of_range(&(1..3)));
        assert_eq!(hashes.of_range(&(1..3)), Hashes::of(&log, 1..4).of_range(&(1..3)));
    }

    #[test]
    fn a_fingerprint_survives_json_and_nothing_else_is_read_as_one() {
        let fingerprint = Fingerprint::of_texts(["a", "b"].into_iter());
        let json = serde_json::to_string(&fingerprint).unwrap();
        assert_eq!(json.len(), 18);
        assert_eq!(serde_json::from_str::<Fingerprint>(&json).unwrap(), fingerprint);
        assert_ne!(Fingerprint::of_texts(["ab"].into_iter()), fingerprint);
        for bad in [r#""12""#, "12", r#""+00000000000000f""#, r#""zzzzzzzzzzzzzzzz""#] {
            assert!(serde_json::from_str::<Fingerprint>(bad).is_err(), "{bad}");
        }
    }
}
