//! Presets beside their rivals at equal parts of the history.

use wb_message::Message;

use crate::cuts::CutRule;
use crate::kept::{Asked, Kept};
use crate::needs::Names;
use crate::replay::{Summary, places, summary_of};
use crate::session::Session;
use crate::strategy::{RIVALS, Strategy, pipeline};
use crate::to_size::{Forced, TOLERANCE};

/// What a preset and its rivals keep at one part of the history.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AtSize {
    /// The part of the history's size that was asked for.
    pub part: f64,
    /// How many places were left out since no budget led near that size.
    pub missed: usize,
    /// How many results are within a hundredth of the history of it.
    pub within: usize,
    /// The preset, then the sliding and the masked window that get the size that it reached; they end at the first
    /// message that does not fit, and so below it.
    pub summaries: Vec<Summary>,
}

/// Compares a preset with windows at equal parts of the history, over all places of all sessions.
pub fn at_sizes(sessions: &[Session], preset: &'static str, parts: &[f64], rule: &CutRule) -> Vec<AtSize> {
    let mut gathered: Vec<Gathered> = parts.iter().map(|part| Gathered::new(*part)).collect();
    for session in sessions {
        let pipeline = pipeline(preset, session.vocabulary);
        let mut kept = vec![Vec::new(); parts.len()];
        for stretch in &session.segments {
            let names = Names::of(&stretch.messages);
            for (_, asked) in places(stretch, &names, rule) {
                let forced = Forced::new(asked.history, &session.vocabulary);
                for (at, kept) in gathered.iter_mut().zip(&mut kept) {
                    kept.extend(at.take(forced.to(at.part, &pipeline), &asked));
                }
            }
        }
        gathered.iter_mut().zip(kept).for_each(|(at, kept)| at.sessions.push(kept));
    }
    gathered.into_iter().map(|at| at.summed_up(preset)).collect()
}

/// What was kept at one size, session by session and place by place: by the preset and by each rival.
struct Gathered {
    part: f64,
    missed: usize,
    within: usize,
    sessions: Vec<Vec<[Kept; 3]>>,
}

impl Gathered {
    fn new(part: f64) -> Self {
        Self { part, missed: 0, within: 0, sessions: Vec::new() }
    }

    fn take(&mut self, compacted: Option<Vec<Message>>, asked: &Asked<'_>) -> Option<[Kept; 3]> {
        self.missed += usize::from(compacted.is_none());
        let ours = asked.kept_in(&compacted?);
        self.within += usize::from((ours.size - self.part).abs() <= TOLERANCE);
        let rival =
            |strategy: Strategy| asked.kept_in(&strategy.at_size(asked.history, ours.size * asked.size));
        let [sliding, masked] = RIVALS.map(rival);
        Some([ours, sliding, masked])
    }

    fn summed_up(self, preset: &'static str) -> AtSize {
        let names = [preset, RIVALS[0].name(), RIVALS[1].name()];
        let of = |nth: usize| -> Vec<Vec<Kept>> {
            self.sessions.iter().map(|places| places.iter().map(|kept| kept[nth]).collect()).collect()
        };
        let summaries = names.into_iter().enumerate().filter_map(|(nth, name)| summary_of(name, &of(nth)));
        AtSize { part: self.part, missed: self.missed, within: self.within, summaries: summaries.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::to_size::tests::history;

    #[test]
    fn rivals_are_no_larger_than_the_preset() {
        let session = Session::of("s", history());
        let rule = CutRule { first: 20_000.0, step: 10_000.0, n_future: 40, max_cuts: 6 };
        let [at] = &at_sizes(&[session], "window-budget", &[0.15], &rule)[..] else { panic!("one part") };
        let [ours, sliding, masked] = &at.summaries[..] else { panic!("three rows") };
        assert_eq!((ours.trials, at.missed), (at.within, 0));
        assert!(sliding.size.mean <= ours.size.mean && masked.size.mean <= ours.size.mean);
    }
}
