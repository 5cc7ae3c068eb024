//! Inputs composed by choices: request bodies of any blocks, and damaged logs. Bytes of a fuzzer or
//! random ones choose.

pub mod bodies;
pub mod blocks;
pub mod damages;

/// Choices by bytes; the first of all once they are used up.
#[derive(Clone, Copy, Debug)]
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    /// Returns a number below `n`, 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(*first) % n.max(1)
    }

    /// Returns a number for an offset in a long text.
    fn wide(&mut self, n: usize) -> usize {
        (self.below(256) * 256 + self.below(256)) % n.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}
