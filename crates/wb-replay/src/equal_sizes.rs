//! Compares presets with their rivals at equal sizes.

use wb_message::Message;

use crate::cuts::CutRule;
use crate::needs::Names;
use crate::replay::{Summary, places, summarize_strategy};
use crate::resized_history::{ResizedHistory, TOLERANCE};
use crate::retention::{Reference, Retention};
use crate::session::Session;
use crate::strategy::{RIVALS, Strategy, pipeline};

/// The results of a preset and its rivals at one share of the history.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SizeComparison {
    /// The requested share of the history's size.
    pub part: f64,
    /// The number of places without a budget that leads near that size.
    pub missed: usize,
    /// The number of results within a hundredth of the history.
    pub within: usize,
    /// The preset, then the sliding and the masked window of at most the size that it reached.
    pub summaries: Vec<Summary>,
}

/// Compares a preset with windows at equal sizes, over all places of all sessions.
pub fn compare_at_sizes(
    sessions: &[Session],
    preset: &'static str,
    parts: &[f64],
    rule: &CutRule,
) -> Vec<SizeComparison> {
    let mut gathered: Vec<SizeTotals> = parts.iter().map(|part| SizeTotals::new(*part)).collect();
    for session in sessions {
        let pipeline = pipeline(preset, session.vocabulary);
        let mut kept = vec![Vec::new(); parts.len()];
        for segment in &session.segments {
            let names = Names::new(&segment.messages);
            for (_, reference) in places(segment, &names, rule) {
                let resized = ResizedHistory::new(reference.history, &session.vocabulary);
                for (at, kept) in gathered.iter_mut().zip(&mut kept) {
                    kept.extend(at.add(resized.to(at.part, &pipeline), &reference));
                }
            }
        }
        gathered.iter_mut().zip(kept).for_each(|(at, kept)| at.sessions.push(kept));
    }
    gathered.into_iter().map(|at| at.into_comparison(preset)).collect()
}

/// The results of the preset and each rival at one size, by session and place.
struct SizeTotals {
    part: f64,
    missed: usize,
    within: usize,
    sessions: Vec<Vec<[Retention; 3]>>,
}

impl SizeTotals {
    fn new(part: f64) -> Self {
        Self { part, missed: 0, within: 0, sessions: Vec::new() }
    }

    fn add(&mut self, compacted: Option<Vec<Message>>, reference: &Reference<'_>) -> Option<[Retention; 3]> {
        self.missed += usize::from(compacted.is_none());
        let ours = reference.measure(&compacted?);
        self.within += usize::from((ours.size - self.part).abs() <= TOLERANCE);
        let rival = |strategy: Strategy| {
            reference.measure(&strategy.shorten(reference.history, ours.size * reference.size))
        };
        let [sliding, masked] = RIVALS.map(rival);
        Some([ours, sliding, masked])
    }

    fn into_comparison(self, preset: &'static str) -> SizeComparison {
        let names = [preset, RIVALS[0].name(), RIVALS[1].name()];
        let kept_by = |nth: usize| -> Vec<Vec<Retention>> {
            self.sessions.iter().map(|places| places.iter().map(|kept| kept[nth]).collect()).collect()
        };
        let summaries =
            names.into_iter().enumerate().filter_map(|(nth, name)| summarize_strategy(name, &kept_by(nth)));
        SizeComparison {
            part: self.part,
            missed: self.missed,
            within: self.within,
            summaries: summaries.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resized_history::tests::history;

    #[test]
    fn rivals_are_at_most_as_large_as_the_preset() {
        let session = Session::new("s", history());
        let rule = CutRule { first: 20_000.0, step: 10_000.0, n_future: 40, max_cuts: 6 };
        let [at] = &compare_at_sizes(&[session], "window-budget", &[0.15], &rule)[..] else {
            panic!("one part")
        };
        let [ours, sliding, masked] = &at.summaries[..] else { panic!("three rows") };
        assert_eq!((ours.trials, at.missed), (at.within, 0));
        assert!(sliding.size.mean <= ours.size.mean && masked.size.mean <= ours.size.mean);
    }
}
