//! Weights of text features in 1/4096 tokens; written by `cargo xtask fit-estimators`, not by hand.

/// The day of the fit.
pub const FITTED_ON: &str = "2026-11-22";

/// By family, in the order of [`super::fitted::FEATURES`].
#[rustfmt::skip]
pub(super) const WEIGHTS: [[u32; 16]; 3] = [
    [918, 221, 732, 1404, 521, 163, 563, 232, 0, 1154, 463, 6632, 2616, 4257, 2942, 2711],
    [1165, 281, 929, 1782, 662, 207, 714, 295, 0, 1465, 587, 8416, 3320, 5402, 3733, 3440],
    [1049, 253, 836, 1604, 596, 186, 643, 265, 0, 1319, 529, 7577, 2989, 4863, 3361, 3097],
];

/// The margin above an estimate that 95 of 100 texts stay below, by family, in thousandths.
pub(super) const MARGINS: [u64; 3] = [147, 147, 147];
