//! Numbers by chance that are the same for the same seed, for tests that change what proptest has no strategy for.

/// Numbers by chance, from a seed that is not zero (xorshift64).
#[derive(Clone, Debug)]
pub struct Chance(pub u64);

impl Chance {
    /// Returns a number below `n`, 0 where `n` is.
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap_or(0) % n.max(1)
    }
}
