//! Means with confidence intervals over sessions.

use serde::Serialize;
use wb_record::Numbers;

/// The number of bootstrap samples.
const N_DRAWS: usize = 2000;
/// The fixed seed, so that the same sessions give the same interval.
const SEED: u64 = 0x5EED;

/// A mean over all places, with a 95 % interval from a bootstrap over sessions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// The ends of the interval; `None` for a single session.
    pub range: Option<(f64, f64)>,
}

impl Interval {
    /// Computes the mean of the values of all sessions; `None` without a value.
    pub fn from_sessions(sessions: &[Vec<f64>]) -> Option<Self> {
        let sums: Vec<(f64, usize)> = sessions
            .iter()
            .filter(|values| !values.is_empty())
            .map(|values| (values.iter().sum(), values.len()))
            .collect();
        let range = (sums.len() > 1).then(|| range(&sums));
        (!sums.is_empty()).then(|| Self { mean: mean(sums.iter().copied()), range })
    }

    /// Returns the mean in percent, with the interval in brackets.
    pub fn percent(&self) -> String {
        let mean = self.mean * 100.0;
        match self.range {
            Some((low, high)) => format!("{mean:.1} ({:.0}–{:.0})", low * 100.0, high * 100.0),
            None => format!("{mean:.1}"),
        }
    }
}

fn mean(sums: impl Iterator<Item = (f64, usize)>) -> f64 {
    let (sum, n) = sums.fold((0.0, 0), |(sum, n), (next, n_next)| (sum + next, n + n_next));
    sum / n as f64
}

fn range(sums: &[(f64, usize)]) -> (f64, f64) {
    let mut random = Numbers::new(SEED);
    let mut place = || usize::try_from(random.next_number() % sums.len() as u64).unwrap_or(0);
    let mut means: Vec<f64> = (0..N_DRAWS).map(|_| mean((0..sums.len()).map(|_| sums[place()]))).collect();
    means.sort_unstable_by(f64::total_cmp);
    (means[N_DRAWS / 40], means[N_DRAWS - 1 - N_DRAWS / 40])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_over_values_and_the_interval_over_sessions() {
        let sessions = [vec![0.0, 0.0, 0.0], vec![1.0], Vec::new()];
        let interval = Interval::from_sessions(&sessions).unwrap();
        assert_eq!((interval.mean, interval.range), (0.25, Some((0.0, 1.0))));
        assert_eq!(Interval::from_sessions(&sessions), Some(interval), "the same each time");
    }

    #[test]
    fn equal_sessions_have_a_zero_interval_and_one_session_none() {
        let equal = Interval::from_sessions(&[vec![0.5], vec![0.5], vec![0.5]]).unwrap();
        assert_eq!((equal.mean, equal.range), (0.5, Some((0.5, 0.5))));
        assert_eq!(Interval::from_sessions(&[vec![1.0, 0.0]]), Some(Interval { mean: 0.5, range: None }));
        assert_eq!(Interval::from_sessions(&[Vec::new()]), None);
        let shown = Interval { mean: 0.123_4, range: Some((0.1, 0.15)) };
        assert_eq!((shown.percent().as_str(), equal.percent().as_str()), ("12.3 (10–15)", "50.0 (50–50)"));
    }
}
