//! Means with intervals: what they would be if other sessions like these had been replayed.

use serde::Serialize;

/// How often sessions are drawn anew.
const N_DRAWS: usize = 2000;
/// Where the random numbers begin; it is fixed, so that the same sessions give the same interval.
const START: u64 = 0x5EED;

/// A mean over the places of all sessions, with an interval of 95 % by a bootstrap over sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The lower and the upper end; none of a single session.
    pub range: Option<(f64, f64)>,
}

impl Interval {
    /// Computes the mean of the values of all sessions; none if there is no value.
    pub fn of(sessions: &[Vec<f64>]) -> Option<Self> {
        let sums: Vec<(f64, usize)> = sessions
            .iter()
            .filter(|values| !values.is_empty())
            .map(|values| (values.iter().sum(), values.len()))
            .collect();
        let range = (sums.len() > 1).then(|| range(&sums));
        (!sums.is_empty()).then(|| Self { mean: mean(sums.iter().copied()), range })
    }

    /// Writes the mean in per cent, and the interval behind it in brackets.
    pub fn percent(&self) -> String {
        self.percent_with(" (", ")")
    }

    /// Writes the mean in per cent, and the interval behind it between such texts.
    pub(crate) fn percent_with(&self, open: &str, close: &str) -> String {
        let mean = self.mean * 100.0;
        match self.range {
            Some((low, high)) => format!("{mean:.1}{open}{:.0}–{:.0}{close}", low * 100.0, high * 100.0),
            None => format!("{mean:.1}"),
        }
    }
}

fn mean(sums: impl Iterator<Item = (f64, usize)>) -> f64 {
    let (sum, n) = sums.fold((0.0, 0), |(sum, n), (next, n_next)| (sum + next, n + n_next));
    sum / n as f64
}

fn range(sums: &[(f64, usize)]) -> (f64, f64) {
    let mut random = SplitMix(START);
    let mut means: Vec<f64> =
        (0..N_DRAWS).map(|_| mean((0..sums.len()).map(|_| sums[random.below(sums.len())]))).collect();
    means.sort_unstable_by(f64::total_cmp);
    (means[N_DRAWS / 40], means[N_DRAWS - 1 - N_DRAWS / 40])
}

/// Random numbers that are the same everywhere: a counter whose bits are mixed.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n.max(1) as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_over_all_values_and_its_interval_over_sessions() {
        let sessions = [vec![0.0, 0.0, 0.0], vec![1.0], Vec::new()];
        let interval = Interval::of(&sessions).unwrap();
        assert_eq!((interval.mean, interval.range), (0.25, Some((0.0, 1.0))));
        assert_eq!(Interval::of(&sessions), Some(interval), "the same each time");
    }

    #[test]
    fn equal_sessions_leave_no_doubt_and_one_session_tells_no_interval() {
        let equal = Interval::of(&[vec![0.5], vec![0.5], vec![0.5]]).unwrap();
        assert_eq!((equal.mean, equal.range), (0.5, Some((0.5, 0.5))));
        assert_eq!(Interval::of(&[vec![1.0, 0.0]]), Some(Interval { mean: 0.5, range: None }));
        assert_eq!(Interval::of(&[Vec::new()]), None);
        let shown = Interval { mean: 0.123_4, range: Some((0.1, 0.15)) };
        assert_eq!((shown.percent().as_str(), equal.percent().as_str()), ("12.3 (10–15)", "50.0 (50–50)"));
    }
}
