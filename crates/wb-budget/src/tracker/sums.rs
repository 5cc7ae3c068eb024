//! Running sums of the weights of a transcript.

/// Weights in tokens as running sums, one entry more than weights.
///
/// Reads are O(1) or a binary search; a change in the middle updates every later sum.
#[derive(Clone, Debug)]
pub(super) struct Sums(Vec<u64>);

impl Default for Sums {
    fn default() -> Self {
        Self(vec![0])
    }
}

impl Sums {
    pub(super) fn len(&self) -> usize {
        self.0.len() - 1
    }

    pub(super) fn total(&self) -> u64 {
        self.prefix(self.len())
    }

    pub(super) fn weight(&self, at: usize) -> Option<u64> {
        Some(self.0.get(at + 1)? - self.0[at])
    }

    /// Returns the sums of the first 0, 1, 2, … weights.
    pub(super) fn prefixes(&self) -> &[u64] {
        &self.0
    }

    pub(super) fn push(&mut self, weight: u64) {
        self.0.push(self.total().saturating_add(weight));
    }

    pub(super) fn truncate(&mut self, n: usize) {
        self.0.truncate(n + 1);
    }

    /// Replaces the weight at `at`, which must exist, and returns the old one.
    pub(super) fn set(&mut self, at: usize, weight: u64) -> u64 {
        let old = self.0[at + 1] - self.0[at];
        for sum in &mut self.0[at + 1..] {
            *sum = (*sum - old).saturating_add(weight);
        }
        old
    }

    /// Returns the sum of the first `n` weights, or of all if there are fewer.
    pub(super) fn prefix(&self, n: usize) -> u64 {
        self.0[n.min(self.len())]
    }

    /// Returns the smallest `n` whose sum is at least `target`, else the length plus one.
    pub(super) fn first_reaching(&self, target: u64) -> usize {
        self.0.partition_point(|sum| *sum < target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::prefix_sums;

    fn check(sums: &Sums, weights: &[u64]) {
        assert_eq!(sums.prefixes(), prefix_sums(weights.iter().copied()));
        let total = sums.total();
        assert_eq!(total, weights.iter().sum::<u64>());
        for target in 0..=total + 1 {
            let least = (0..=weights.len()).find(|&n| weights[..n].iter().sum::<u64>() >= target);
            assert_eq!(sums.first_reaching(target), least.unwrap_or(weights.len() + 1), "{target}");
        }
    }

    #[test]
    fn sums_and_searches_agree_with_a_plain_list() {
        let mut sums = Sums::default();
        let mut plain = Vec::new();
        check(&sums, &plain);
        for n in 0..40_u64 {
            let weight = n * n % 7;
            sums.push(weight);
            plain.push(weight);
            check(&sums, &plain);
        }
        for at in [0, 39, 7, 16, 31] {
            assert_eq!(sums.set(at, 11), std::mem::replace(&mut plain[at], 11));
            check(&sums, &plain);
        }
        sums.truncate(17);
        plain.truncate(17);
        check(&sums, &plain);
        assert_eq!((sums.weight(16), sums.weight(17)), (Some(11), None));
    }
}
