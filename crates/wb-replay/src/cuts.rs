//! The places of a session at which it is compacted.

use wb_message::Message;

/// The places of trials in a transcript: the first at size `first`, then one per `step`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutRule {
    /// The transcript's size at the first place; see [`crate::size`].
    pub first: f64,
    /// The growth between places.
    pub step: f64,
    /// The minimum number of messages after a place.
    pub n_future: usize,
    /// The maximum number of places in one transcript.
    pub max_cuts: usize,
}

/// The share of a window that is full at the first place.
const FULL: f64 = 0.9;
/// The share of a window that is added between places.
const REFILL: f64 = 0.5;

impl CutRule {
    /// Creates the rule for a window: nine tenths of it are full, then another half is added each
    /// time.
    pub fn from_window(window: u64, n_future: usize, max_cuts: usize) -> Self {
        let window = window as f64;
        Self { first: window * FULL, step: window * REFILL, n_future, max_cuts }
    }

    /// Returns the number of messages before each place. No place directly follows an answer, which
    /// may wait for results. The places of the first `n_seen` messages belong to an earlier
    /// segment.
    pub(crate) fn cuts(&self, messages: &[Message], sizes: &[f64], n_seen: usize) -> Vec<usize> {
        let (mut cuts, mut total, mut next) = (Vec::new(), 0.0, self.first);
        for (at, (message, size)) in messages.iter().zip(sizes).enumerate() {
            total += size;
            let may_cut = at.saturating_add(self.n_future) < messages.len()
                && !matches!(message, Message::Assistant { .. });
            if total >= next && may_cut {
                next = total + self.step;
                if at >= n_seen {
                    cuts.push(at + 1);
                }
            }
        }
        cuts.truncate(self.max_cuts);
        cuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_at_a_full_window_and_then_each_half_window() {
        let messages: Vec<Message> =
            (0..20).flat_map(|_| [Message::user("u"), Message::assistant("a")]).collect();
        let sizes = vec![10.0; messages.len()];
        let rule = CutRule::from_window(100, 5, 6);
        // The 9th message, a prompt, reaches 90; 140 and 190 are reached by prompts too.
        assert_eq!(rule.cuts(&messages, &sizes, 0), [9, 15, 21, 27, 33]);
        assert_eq!(CutRule { max_cuts: 2, ..rule }.cuts(&messages, &sizes, 0), [9, 15]);
        assert_eq!(rule.cuts(&messages, &sizes, 20), [21, 27, 33]);
        assert_eq!(CutRule { n_future: 20, ..rule }.cuts(&messages, &sizes, 0), [9, 15]);
        assert!(CutRule { n_future: usize::MAX, ..rule }.cuts(&messages, &sizes, 0).is_empty());
    }
}
