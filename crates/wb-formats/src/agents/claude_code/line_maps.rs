//! Maps and sets of line numbers, which need no strong hash.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map by the number of a line.
pub(crate) type ByLine<T> = HashMap<usize, T, BuildHasherDefault<NumberHasher>>;
/// A set of numbers of lines.
pub(crate) type LineSet = HashSet<usize, BuildHasherDefault<NumberHasher>>;

/// A hasher of one number.
#[derive(Debug, Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize((*byte).into());
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
