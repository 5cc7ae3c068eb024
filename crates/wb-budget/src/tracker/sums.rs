//! Running sums that can be changed in the middle: a Fenwick tree over weights.

/// Weights in tokens; a change, a sum and a search cost O(log n), the total O(1).
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    weights: Vec<u64>,
    /// Entry `i` is the sum of the `lowest_bit(i + 1)` weights that end at `i`.
    tree: Vec<u64>,
    total: u64,
}

fn lowest_bit(n: usize) -> usize {
    n & n.wrapping_neg()
}

impl Sums {
    pub(super) fn len(&self) -> usize {
        self.weights.len()
    }

    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn weight(&self, at: usize) -> Option<u64> {
        self.weights.get(at).copied()
    }

    /// Visits the sums of the first 0, 1, 2, … weights.
    pub(super) fn prefixes(&self) -> impl Iterator<Item = u64> {
        let sums = self.weights.iter().scan(0_u64, |sum, weight| {
            *sum = sum.saturating_add(*weight);
            Some(*sum)
        });
        std::iter::once(0).chain(sums)
    }

    pub(super) fn push(&mut self, weight: u64) {
        let n = self.weights.len() + 1;
        let mut sum = weight;
        let mut step = 1;
        while step < lowest_bit(n) {
            sum += self.tree[n - 1 - step];
            step <<= 1;
        }
        self.weights.push(weight);
        self.tree.push(sum);
        self.total += weight;
    }

    pub(super) fn pop(&mut self) -> Option<u64> {
        let weight = self.weights.pop()?;
        self.tree.pop();
        self.total -= weight;
        Some(weight)
    }

    pub(super) fn truncate(&mut self, n: usize) {
        if n < self.len() {
            self.total = self.prefix(n);
            self.weights.truncate(n);
            self.tree.truncate(n);
        }
    }

    /// Replaces the weight at `at`, which must exist, and returns the old one.
    pub(super) fn set(&mut self, at: usize, weight: u64) -> u64 {
        let old = std::mem::replace(&mut self.weights[at], weight);
        let mut n = at + 1;
        while n <= self.tree.len() {
            self.tree[n - 1] = self.tree[n - 1] - old + weight;
            n += lowest_bit(n);
        }
        self.total = self.total - old + weight;
        old
    }

    /// Returns the sum of the first `n` weights, of all if there are fewer.
    pub(super) fn prefix(&self, n: usize) -> u64 {
        let mut n = n.min(self.len());
        let mut sum = 0;
        while n > 0 {
            sum += self.tree[n - 1];
            n -= lowest_bit(n);
        }
        sum
    }

    /// Returns the smallest `n` whose prefix is at least `target`; the length plus one if none is.
    pub(super) fn first_reaching(&self, target: u64) -> usize {
        if target == 0 {
            return 0;
        }
        let (mut n, mut rest) = (0, target);
        let mut step = (self.len() + 1).next_power_of_two();
        while step > 0 {
            let next = n + step;
            if next <= self.len() && self.tree[next - 1] < rest {
                n = next;
                rest -= self.tree[next - 1];
            }
            step >>= 1;
        }
        n + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::count::prefix_sums;

    fn check(sums: &Sums, weights: &[u64]) {
        let prefix = prefix_sums(weights.iter().copied());
        let sums_of: Vec<u64> = (0..=weights.len()).map(|n| sums.prefix(n)).collect();
        assert_eq!(sums_of, prefix);
        assert_eq!(sums.total(), prefix[weights.len()]);
        for target in 0..=sums.total() + 1 {
            assert_eq!(sums.first_reaching(target), prefix.partition_point(|&sum| sum < target), "{target}");
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
        assert_eq!(sums.pop(), plain.pop());
        sums.truncate(17);
        plain.truncate(17);
        check(&sums, &plain);
        assert_eq!(sums.weight(16), Some(11));
        assert_eq!(sums.weight(17), None);
    }
}
