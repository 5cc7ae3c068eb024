//! The compared strategies: the engine's presets, and simple rivals of the same size.

use std::sync::Arc;

use wb_budget::ModelCard;
use wb_conductor::{Compactor, CondenseOpts, PRESETS, Pipeline, compact_locally};
use wb_facts::Facts;
use wb_message::{Block, Message, ToolVocabulary, markers};

use crate::message_text::size;

/// The number of newest tool results that the masking rivals keep.
const KEPT_RESULTS: usize = 10;

/// A way to shorten a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Strategy {
    /// A named preset of the engine, without a model.
    Preset(&'static str),
    /// The newest messages that fit, without leading tool results.
    SlidingWindow,
    /// The newest messages that fit, after clearing all but the newest ten tool results.
    MaskedWindow,
    /// The whole history, with all but the newest ten tool results cleared.
    MaskLast10,
    /// The whole history.
    Everything,
}

/// Every strategy in table order; the first preset sets the size of the rivals.
pub const STRATEGIES: [Strategy; PRESETS.len() + 4] = {
    let mut all = [Strategy::Everything; PRESETS.len() + 4];
    let mut at = 0;
    while at < PRESETS.len() {
        all[at] = Strategy::Preset(PRESETS[at]);
        at += 1;
    }
    all[at] = Strategy::SlidingWindow;
    all[at + 1] = Strategy::MaskedWindow;
    all[at + 2] = Strategy::MaskLast10;
    all
};

/// The rivals that are given the size of what they are compared with.
pub const RIVALS: [Strategy; 2] = [Strategy::SlidingWindow, Strategy::MaskedWindow];

impl Strategy {
    /// Returns the name in tables and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preset(name) => name,
            Self::SlidingWindow => "sliding-window",
            Self::MaskedWindow => "masked-window",
            Self::MaskLast10 => "mask-last-10",
            Self::Everything => "everything",
        }
    }

    /// Compacts a history; a window may keep `rival_size`, in units of [`crate::total_size`].
    pub(crate) fn compact(self, history: &[Message], engine: &Engine, rival_size: f64) -> Vec<Message> {
        match self {
            Self::Preset(name) => engine.compact(name, history.to_vec()),
            rival => rival.shorten(history, rival_size),
        }
    }

    /// Shortens a history to a size without the engine; a preset leaves it unchanged.
    pub fn shorten(self, history: &[Message], max_size: f64) -> Vec<Message> {
        match self {
            Self::SlidingWindow => slide(history.to_vec(), max_size),
            Self::MaskedWindow => slide(mask(history.to_vec()), max_size),
            Self::MaskLast10 => mask(history.to_vec()),
            Self::Everything | Self::Preset(_) => history.to_vec(),
        }
    }
}

/// The engine with a window and a session's tools; all else has its default.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    compactor: Compactor,
    vocabulary: ToolVocabulary,
}

impl Engine {
    pub(crate) fn new(window: u64, vocabulary: ToolVocabulary) -> Self {
        Self { compactor: Compactor::new().card(ModelCard::with_window(window)), vocabulary }
    }

    /// Returns the limit in tokens above which the engine compacts.
    pub(crate) fn limit_tokens(&self) -> u64 {
        self.compactor.budget().map_or(u64::MAX, |budget| budget.limit)
    }

    /// Compacts with a preset, without a model.
    pub(crate) fn compact(&self, preset: &str, mut messages: Vec<Message>) -> Vec<Message> {
        let pipeline = pipeline(preset, self.vocabulary);
        let compactor = self.compactor.clone().pipeline(pipeline);
        let facts = Facts::without_words().with_messages(&messages, &self.vocabulary);
        let opts = CondenseOpts { facts: Some(Arc::new(facts)), ..CondenseOpts::default() };
        compact_locally(&mut messages, &compactor, &opts);
        messages
    }
}

/// Returns a preset with a session's tools.
pub(crate) fn pipeline(preset: &str, vocabulary: ToolVocabulary) -> Pipeline {
    Pipeline::preset(preset).unwrap_or_default().vocabulary(vocabulary)
}

/// Keeps the newest messages that fit, without leading tool results, whose calls are gone.
pub(crate) fn slide(mut messages: Vec<Message>, max_size: f64) -> Vec<Message> {
    let mut kept = 0.0;
    let fits = |message: &&Message| {
        kept += size(message);
        kept <= max_size
    };
    let n_kept = messages.iter().rev().take_while(fits).count();
    let mut kept = messages.split_off(messages.len() - n_kept);
    let is_result = |message: &&Message| matches!(message, Message::ToolResult { .. });
    let n_loose = kept.iter().take_while(is_result).count();
    kept.split_off(n_loose)
}

/// Clears all but the newest ten tool results.
pub(crate) fn mask(mut messages: Vec<Message>) -> Vec<Message> {
    mask_in_place(&mut messages);
    messages
}

/// Clears all but the newest ten tool results; returns the newly cleared ones, the newest first.
pub(crate) fn mask_in_place(messages: &mut [Message]) -> Vec<usize> {
    let results = messages.iter_mut().enumerate().rev();
    let bodies = results.filter_map(|(at, message)| Some((at, result_body(message)?)));
    let stale = bodies.skip(KEPT_RESULTS).filter(|(_, body)| !markers::is_cleared(body));
    let clear = |(at, body): (usize, &mut Vec<Block>)| {
        *body = markers::cleared_body();
        at
    };
    stale.map(clear).collect()
}

fn result_body(message: &mut Message) -> Option<&mut Vec<Block>> {
    match message {
        Message::ToolResult { content, .. } => Some(content),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(n: usize) -> Vec<Message> {
        (0..n).map(|at| Message::tool_result(format!("c{at}"), "Read", "body")).collect()
    }

    #[test]
    fn every_preset_is_compared() {
        let names: Vec<_> = STRATEGIES.iter().map(|strategy| strategy.name()).collect();
        assert_eq!(names[..PRESETS.len()], PRESETS);
        assert_eq!(names[PRESETS.len()..], ["sliding-window", "masked-window", "mask-last-10", "everything"]);
    }

    #[test]
    fn a_window_keeps_the_newest_messages_without_leading_results() {
        let mut messages = vec![Message::user("aaa"), Message::assistant("aaa")];
        messages.extend(results(2));
        messages.push(Message::user("aaa"));
        // Each message has a size of 13 or 13⅓.
        assert_eq!(slide(messages.clone(), 13.0), [Message::user("aaa")]);
        assert_eq!(slide(messages.clone(), 39.9), [Message::user("aaa")]);
        assert_eq!(slide(messages.clone(), 54.0), messages[1..]);
        assert_eq!(slide(messages, 12.0), []);
    }

    #[test]
    fn masking_keeps_the_newest_ten_results() {
        let masked = mask(results(12));
        let cleared = masked.iter().filter(|message| markers::is_cleared(message.blocks())).count();
        assert_eq!((cleared, markers::is_cleared(masked[1].blocks())), (2, true));
    }
}
