//! The search for the budget that reaches a given size.

/// The deviation from the requested size at which the search ends.
const TOLERANCE: f64 = 0.01;
/// The deviation up to which a transcript has the requested size.
const FITS: f64 = 0.05;
/// The factor by which a result above the requested size counts as farther away.
const ABOVE: f64 = 4.0;
/// The most steps of a bisection.
const MAX_TRIES: usize = 12;

/// A budget of a given size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TargetBudget {
    pub(crate) target: u64,
    /// The most tokens of restored files.
    pub(crate) restored: u64,
}

/// Returns whether a transcript is as small as requested; `size` is in units of the requested one.
pub(crate) fn is_reached(size: f64) -> bool {
    size <= 1.0 + FITS
}

/// Returns the budget whose result is nearest to the requested size: of those within a range,
/// `first` before others, where the size jumps also of those with fewer restored files, and where
/// all are above it also of those below the range. `try_out` returns the size of a result, in units
/// of the requested one.
pub(crate) fn nearest_budget(
    (least, most): (f64, f64),
    first: f64,
    try_out: impl Fn(TargetBudget) -> f64,
) -> Option<TargetBudget> {
    let mut search = Search { nearest: None, is_above: true };
    let all = |target| TargetBudget { target, restored: target };
    let large = search.bisect((least, most.max(first)), first, |target| (all(target), try_out(all(target))));
    if search.is_missed() {
        let with = |restored| TargetBudget { target: large, restored };
        let (range, first) = ((0.0, large as f64), large as f64 / 2.0);
        search.bisect(range, first, |files| (with(files), try_out(with(files))));
    }
    if search.is_above {
        search.bisect((0.0, least), least / 2.0, |target| (all(target), try_out(all(target))));
    }
    search.nearest.map(|(_, budget)| budget)
}

/// A bisection, with the nearest budget so far and its deviation.
struct Search {
    nearest: Option<(f64, TargetBudget)>,
    /// Is true while all results were above the size.
    is_above: bool,
}

impl Search {
    fn is_missed(&self) -> bool {
        self.nearest.as_ref().is_none_or(|(missed, _)| *missed > TOLERANCE)
    }

    /// Bisects a range until a value leads to the size; returns the least value that led above it.
    fn bisect(
        &mut self,
        (mut low, mut high): (f64, f64),
        first: f64,
        try_out: impl Fn(u64) -> (TargetBudget, f64),
    ) -> u64 {
        let mut value = first.min(high);
        for _ in 0..MAX_TRIES {
            let (budget, reached) = try_out(floor(value));
            let missed = if reached > 1.0 + FITS { (reached - 1.0) * ABOVE } else { (reached - 1.0).abs() };
            self.is_above &= !is_reached(reached);
            if self.nearest.is_none_or(|(best, _)| missed < best) {
                self.nearest = Some((missed, budget));
            }
            if !self.is_missed() {
                break;
            }
            (low, high) = if reached < 1.0 { (value, high) } else { (low, value) };
            value = f64::midpoint(low, high);
        }
        floor(high)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a limit is not negative")]
fn floor(limit: f64) -> u64 {
    limit as u64
}
