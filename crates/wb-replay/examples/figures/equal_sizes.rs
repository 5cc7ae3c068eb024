//! Compares presets with their rivals at equal sizes.

use wb_conductor::Pipeline;
use wb_message::Message;
use wb_replay::{
    CutRule, Names, RIVALS, Reference, ResizedHistory, Retention, Session, Strategy, Summary, TOLERANCE,
    places, summarize_strategy,
};

/// The results of a preset and its rivals at one share of the history.
#[derive(Clone, Debug)]
pub(crate) struct SizeComparison {
    /// The requested share of the history's size.
    pub(crate) part: f64,
    /// The number of places without a budget that leads near that size.
    pub(crate) missed: usize,
    /// The number of results within a hundredth of the history.
    pub(crate) within: usize,
    /// The preset, then the sliding and the masked window of at most the size that it reached.
    pub(crate) summaries: Vec<Summary>,
}

/// Compares a preset with windows at equal sizes, over all places of all sessions.
pub(crate) fn compare_at_sizes(
    sessions: &[Session],
    preset: &'static str,
    parts: &[f64],
    rule: &CutRule,
) -> Vec<SizeComparison> {
    let mut gathered: Vec<SizeTotals> = parts.iter().map(|part| SizeTotals::new(*part)).collect();
    for session in sessions {
        let pipeline = Pipeline::preset(preset).unwrap_or_default().vocabulary(session.vocabulary);
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
