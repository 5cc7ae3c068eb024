//! Compacts histories to a given share of their size, so that strategies compare at equal sizes.

use std::sync::Arc;

use wb_budget::{
    AUTO_CONDENSE_POLICY, Budget, BudgetPolicy, TokenCounter, TokenHeuristic, WeighedTranscript,
};
use wb_conductor::{PRESETS, Pipeline, PlanInput, Step, Trigger};
use wb_facts::Facts;
use wb_message::{Message, ToolVocabulary};

use crate::message_text::total_size;
use crate::strategy::pipeline;

/// The accepted deviation from the requested share.
pub const TOLERANCE: f64 = 0.01;
/// The maximum number of bisection steps.
const MAX_TRIES: usize = 12;
/// The share of a budget's limit that is its target.
const TARGET_SHARE: f64 = 7.0 / 8.0;

/// Returns the presets that write a digest.
pub fn digest_presets() -> Vec<&'static str> {
    let digests = |name: &&str| {
        pipeline(name, ToolVocabulary::UNIVERSAL).steps.iter().any(|step| matches!(step, Step::Digest(_)))
    };
    PRESETS.into_iter().filter(digests).collect()
}

/// A history to compact to several sizes.
#[derive(Debug)]
pub struct ResizedHistory<'a> {
    history: &'a [Message],
    view: WeighedTranscript<'a>,
    facts: Facts,
    size: f64,
}

impl<'a> ResizedHistory<'a> {
    /// Weighs a history with the agent's tools.
    pub fn new(history: &'a [Message], vocabulary: &ToolVocabulary) -> Self {
        let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
        let facts = Facts::from_messages(history, vocabulary);
        Self { history, view: WeighedTranscript::new(history, &counter), facts, size: total_size(history) }
    }

    /// Compacts the history to about a share of its size, without a model; `None` if no result is
    /// near.
    ///
    /// Budgets are bisected until the result is within a hundredth of the history; else the nearest
    /// is returned. The token caps of tail, digest and restored files are lifted, so only the
    /// budget's shares divide the room. Where this jumps from too small to too large, restored
    /// files get less. All else has its default.
    pub fn to(&self, part: f64, pipeline: &Pipeline) -> Option<Vec<Message>> {
        self.search(part, pipeline).filter(|(missed, _)| *missed < part / 2.0).map(|(_, compacted)| compacted)
    }

    /// Compacts the history as near as possible to a share of its size.
    pub(crate) fn nearest(&self, part: f64, pipeline: &Pipeline) -> Vec<Message> {
        self.search(part, pipeline).map_or_else(|| self.history.to_vec(), |(_, compacted)| compacted)
    }

    /// Returns the nearest result and its deviation.
    fn search(&self, part: f64, pipeline: &Pipeline) -> Option<(f64, Vec<Message>)> {
        let total = self.view.total_tokens() as f64;
        let mut search = Search { part, nearest: None };
        let large = search.halve((0.0, total), total * part / TARGET_SHARE, |limit| {
            self.measured(self.within(limit, limit, pipeline))
        });
        if search.is_missed() {
            search
                .halve((0.0, large), large / 2.0, |files| self.measured(self.within(large, files, pipeline)));
        }
        search.nearest
    }

    fn measured(&self, compacted: Vec<Message>) -> (f64, Vec<Message>) {
        (total_size(&compacted) / self.size, compacted)
    }

    /// Compacts the history under a limit, with a cap for restored files, in tokens.
    fn within(&self, limit: f64, files: f64, pipeline: &Pipeline) -> Vec<Message> {
        let policy = BudgetPolicy { keep_recent: u64::MAX, ..AUTO_CONDENSE_POLICY };
        let mut budget = Budget::from_limit(floor(limit), &policy, 0);
        (budget.digest, budget.restored) = (u64::MAX, floor(files));
        let mut messages = self.history.to_vec();
        let input = PlanInput::new(budget, Trigger::Auto).facts(&self.facts);
        if let Ok(plan) = pipeline.plan(self.view.clone(), input) {
            plan.without_guard().local().apply(&mut messages);
        }
        messages
    }
}

/// A bisection for a share of the size, with the nearest result so far.
struct Search {
    part: f64,
    nearest: Option<(f64, Vec<Message>)>,
}

impl Search {
    fn is_missed(&self) -> bool {
        self.nearest.as_ref().is_none_or(|(missed, _)| *missed > TOLERANCE)
    }

    /// Bisects a range until a value leads to the share; returns the least value that led above it.
    fn halve(
        &mut self,
        (mut low, mut high): (f64, f64),
        first: f64,
        try_out: impl Fn(f64) -> (f64, Vec<Message>),
    ) -> f64 {
        let mut value = first;
        for _ in 0..MAX_TRIES {
            let (reached, compacted) = try_out(value);
            let missed = (reached - self.part).abs();
            if self.nearest.as_ref().is_none_or(|(best, _)| missed < *best) {
                self.nearest = Some((missed, compacted));
            }
            if !self.is_missed() {
                break;
            }
            (low, high) = if reached < self.part { (value, high) } else { (low, value) };
            value = f64::midpoint(low, high);
        }
        high
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a limit is not negative")]
fn floor(limit: f64) -> u64 {
    limit as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wb_message::{Block, ToolRole};

    fn history() -> Vec<Message> {
        let step = |n: usize| {
            let (id, file) = (format!("c{n}"), format!("src/part_{}.rs", n % 60));
            let call = Block::call(&id, "Bash", json!({"command": format!("make {file}")}));
            let text = Block::text(format!("Now I make {file}, since others need it. ").repeat(20));
            let output = format!("{file} is made\n").repeat(30);
            let answer = Message::assistant_blocks(vec![text, call]);
            [Message::user(format!("Make part {n}.")), answer, Message::tool_result(id, "Bash", output)]
        };
        [Message::user("Make all parts.")].into_iter().chain((0..200).flat_map(step)).collect()
    }

    #[test]
    fn a_history_is_compacted_to_the_requested_share() {
        let history = history();
        let forced = ResizedHistory::new(&history, &ToolVocabulary::UNIVERSAL);
        for preset in digest_presets() {
            for part in [0.10, 0.15, 0.25] {
                let compacted = forced.to(part, &pipeline(preset, ToolVocabulary::UNIVERSAL)).unwrap();
                let reached = total_size(&compacted) / forced.size;
                assert!((reached - part).abs() <= TOLERANCE, "{preset} at {part}: {reached}");
            }
        }
    }

    #[test]
    fn the_presets_with_a_digest_are_known() {
        assert_eq!(digest_presets(), ["window-budget", "ladder"]);
    }
    #[test]
    fn custom_tools_of_an_agent_are_recognized() {
        let own =
            ToolVocabulary { tools: &[("put", ToolRole::Write)], path_keys: &["target"], part_keys: &[] };
        let step = |n: usize| {
            let call = Block::call(format!("c{n}"), "put", json!({"target": format!("src/part_{n}.rs")}));
            let text = Block::text("Others need it. ".repeat(20));
            [
                Message::assistant_blocks(vec![text, call]),
                Message::tool_result(format!("c{n}"), "put", "done"),
            ]
        };
        let history: Vec<Message> =
            [Message::user("Make all.")].into_iter().chain((0..200).flat_map(step)).collect();
        let compacted = |vocabulary| {
            ResizedHistory::new(&history, vocabulary).nearest(0.2, &pipeline("window-budget", own))
        };
        assert_ne!(compacted(&own), compacted(&ToolVocabulary::UNIVERSAL));
    }
}
