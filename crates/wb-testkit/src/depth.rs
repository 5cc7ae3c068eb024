//! The depth of a test run: a part of the cases for each commit, and all of them where `WB_DEEP` is
//! set.
//!
//! `cargo xtask ci --deep` sets the variable.

/// The part of the cases that a short run has: one of this number.
const ONE_OF: u32 = 10;
/// The distance of places that a short run looks at: a prime, so that no pattern of the data hides
/// the others.
const STRIDE: usize = 11;

/// Returns whether this is a deep run.
#[expect(clippy::disallowed_methods, reason = "a test is at the edge")]
pub fn is_deep() -> bool {
    std::env::var_os("WB_DEEP").is_some()
}

/// Returns how many cases of a property are tried, of `n` in a deep run.
pub fn cases(n: u32) -> u32 {
    if is_deep() { n } else { n.div_ceil(ONE_OF) }
}

/// Returns how many compactions follow each other, of `n` in a deep run.
pub fn rounds(n: usize) -> usize {
    if is_deep() { n } else { n.div_ceil(ONE_OF as usize) }
}

/// Returns the places that are tried: all in a deep run.
pub fn places<T>(all: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if is_deep() { 1 } else { STRIDE })
}
