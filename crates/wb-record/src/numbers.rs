//! Deterministic pseudo-random numbers and ids.

/// The increment of `splitmix64` from one number to the next.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The numbers of `splitmix64`, which visits every one once.
///
/// ```
/// # use wb_record::Numbers;
/// let (mut one, mut same) = (Numbers::new(7), Numbers::new(7));
/// assert_eq!(one.next_number(), same.next_number());
/// assert_ne!(one.uuid(), one.uuid());
/// ```
#[derive(Clone, Debug)]
pub struct Numbers {
    state: u64,
}

impl Numbers {
    /// Starts at a seed.
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Skips `n` numbers.
    pub fn skip(&mut self, n: usize) {
        self.state = self.state.wrapping_add((n as u64).wrapping_mul(STEP));
    }

    /// Returns the next number.
    pub fn next_number(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a UUID of version 4, made of two numbers.
    pub fn uuid(&mut self) -> String {
        let (high, low) = (self.next_number(), self.next_number());
        let (time, version) = (high >> 16, 0x4000 | high & 0x0FFF);
        let (variant, node) = (0x8000 | low >> 48 & 0x3FFF, low & 0xFFFF_FFFF_FFFF);
        format!("{:08x}-{:04x}-{version:04x}-{variant:04x}-{node:012x}", time >> 16, time & 0xFFFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // Its first three numbers for this seed, as its authors print them.
        let mut numbers = Numbers::new(1_234_567);
        let first = [0; 3].map(|_: u64| numbers.next_number());
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
        let mut later = Numbers::new(1_234_567);
        later.skip(2);
        assert_eq!(later.next_number(), first[2]);
    }

    #[test]
    fn a_uuid_names_its_version_and_its_variant() {
        let mut numbers = Numbers::new(3);
        for _ in 0..100 {
            let uuid = numbers.uuid();
            let groups: Vec<&str> = uuid.split('-').collect();
            assert_eq!(groups.iter().map(|it| it.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
            assert!(groups[2].starts_with('4') && groups[3].starts_with(['8', '9', 'a', 'b']), "{uuid}");
        }
    }
}
