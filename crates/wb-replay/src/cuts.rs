//! The places of a session at which it is compacted for trial.

use wb_message::Message;

/// Where trials are made in a transcript: the first when `first` is reached, then one each `step`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutRule {
    /// The size that the transcript has at the first place; see [`crate::size`].
    pub first: f64,
    /// What it has grown by at the next one.
    pub step: f64,
    /// The fewest messages that must come after a place.
    pub n_future: usize,
    /// The most places in one transcript.
    pub max_cuts: usize,
}

/// The part of a window that is full at the first place.
const FULL: f64 = 0.9;
/// The part of a window that comes in before the next one.
const REFILL: f64 = 0.5;

impl CutRule {
    /// Builds the rule of a window: nine tenths of it are full, then another half of it has come in.
    pub fn of_window(window: u64, n_future: usize, max_cuts: usize) -> Self {
        let window = window as f64;
        Self { first: window * FULL, step: window * REFILL, n_future, max_cuts }
    }

    /// Returns how many messages stand before each place. None is right after a message of the model, which waits for
    /// the results of its calls. The first `n_seen` messages had their places in an earlier transcript.
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
    fn a_place_is_where_the_window_would_be_full_and_then_each_half_window() {
        let messages: Vec<Message> =
            (0..20).flat_map(|_| [Message::user("u"), Message::assistant("a")]).collect();
        let sizes = vec![10.0; messages.len()];
        let rule = CutRule::of_window(100, 5, 6);
        // 90 are reached with the 9th message, a prompt; then 140 and 190 stand at prompts too.
        assert_eq!(rule.cuts(&messages, &sizes, 0), [9, 15, 21, 27, 33]);
        assert_eq!(CutRule { max_cuts: 2, ..rule }.cuts(&messages, &sizes, 0), [9, 15]);
        assert_eq!(rule.cuts(&messages, &sizes, 20), [21, 27, 33]);
        assert_eq!(CutRule { n_future: 20, ..rule }.cuts(&messages, &sizes, 0), [9, 15]);
        assert!(CutRule { n_future: usize::MAX, ..rule }.cuts(&messages, &sizes, 0).is_empty());
    }
}
