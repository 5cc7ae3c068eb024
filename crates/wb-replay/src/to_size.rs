//! Histories compacted to a given part of their size, so that strategies compare at equal sizes.

use std::sync::Arc;

use wb_budget::{
    AUTO_CONDENSE_POLICY, Budget, BudgetPolicy, TokenCounter, TokenHeuristic, WeighedTranscript,
};
use wb_conductor::{PRESETS, Pipeline, PlanInput, Step, Trigger};
use wb_message::{Message, ToolVocabulary};
use wb_summarize::Facts;

use crate::message_text::total_size;
use crate::strategy::pipeline;

/// How far a result may be from the size that it was to have, as a part of the history.
pub(crate) const TOLERANCE: f64 = 0.01;
/// How often a range is halved before the nearest result is taken.
const MAX_TRIES: usize = 12;
/// A budget's target is this part of its limit.
const LANDS_AT: f64 = 7.0 / 8.0;

/// Returns the presets that write a digest.
pub fn digesting() -> Vec<&'static str> {
    let digests = |name: &&str| {
        pipeline(name, ToolVocabulary::UNIVERSAL).steps.iter().any(|step| matches!(step, Step::Digest(_)))
    };
    PRESETS.into_iter().filter(digests).collect()
}

/// A history that is compacted to several sizes.
#[derive(Debug)]
pub struct Forced<'a> {
    history: &'a [Message],
    view: WeighedTranscript<'a>,
    facts: Facts,
    size: f64,
}

impl<'a> Forced<'a> {
    /// Weighs a history of an agent that calls its tools like this.
    pub fn new(history: &'a [Message], vocabulary: &ToolVocabulary) -> Self {
        let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
        let facts = Facts::of(history, vocabulary);
        Self { history, view: WeighedTranscript::new(history, &counter), facts, size: total_size(history) }
    }

    /// Compacts the history to about a part of its size, without a model; none if nothing near it can be reached.
    ///
    /// Budgets are tried until the result is within a hundredth of the history; else the nearest is returned. The caps in tokens of
    /// tail, digest and restored files are lifted, so that the budget's shares alone divide the room. Where that leads
    /// from too small to too large at once, files take less than their share. Everything else has its default.
    pub fn to(&self, part: f64, pipeline: &Pipeline) -> Option<Vec<Message>> {
        self.search(part, pipeline).filter(|(missed, _)| *missed < part / 2.0).map(|(_, compacted)| compacted)
    }

    /// Compacts the history to what is nearest to a part of its size, however far that is.
    pub(crate) fn nearest(&self, part: f64, pipeline: &Pipeline) -> Vec<Message> {
        self.search(part, pipeline).map_or_else(|| self.history.to_vec(), |(_, compacted)| compacted)
    }

    /// Returns the result that is nearest to a size, and by how much that is missed.
    fn search(&self, part: f64, pipeline: &Pipeline) -> Option<(f64, Vec<Message>)> {
        let total = self.view.total_tokens() as f64;
        let mut search = Search { part, nearest: None };
        let large = search.halve((0.0, total), total * part / LANDS_AT, |limit| {
            self.tried(self.within(limit, limit, pipeline))
        });
        if search.is_missed() {
            search.halve((0.0, large), large / 2.0, |files| self.tried(self.within(large, files, pipeline)));
        }
        search.nearest
    }

    fn tried(&self, compacted: Vec<Message>) -> (f64, Vec<Message>) {
        (total_size(&compacted) / self.size, compacted)
    }

    /// Compacts the history under a limit, and files to what they may take, in tokens.
    fn within(&self, limit: f64, files: f64, pipeline: &Pipeline) -> Vec<Message> {
        let policy = BudgetPolicy { keep_recent: u64::MAX, ..AUTO_CONDENSE_POLICY };
        let mut budget = Budget::of_limit(floor(limit), &policy, 0);
        (budget.digest, budget.restored) = (u64::MAX, floor(files));
        let mut messages = self.history.to_vec();
        let input = PlanInput::new(budget, Trigger::Auto).facts(&self.facts);
        if let Ok(plan) = pipeline.plan(self.view.clone(), input) {
            plan.without_guard().local().apply(&mut messages);
        }
        messages
    }
}

/// The search for a size, and the result that was nearest to it.
struct Search {
    part: f64,
    nearest: Option<(f64, Vec<Message>)>,
}

impl Search {
    fn is_missed(&self) -> bool {
        self.nearest.as_ref().is_none_or(|(missed, _)| *missed > TOLERANCE)
    }

    /// Halves a range until a value leads to the size; returns the least value that has led above it.
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
pub(crate) mod tests {
    use super::*;
    use serde_json::json;
    use wb_message::{Block, ToolRole};

    pub(crate) fn history() -> Vec<Message> {
        let step = |n: usize| {
            let (id, file) = (format!("c{n}"), format!("src/part_{}.rs", n % 60));
            let call = Block::call(&id, "Bash", json!({"command": format!("make {file}")}));
            let said = Block::text(format!("Now I make {file}, since others need it. ").repeat(20));
            let output = format!("{file} is made\n").repeat(30);
            let answer = Message::assistant_blocks(vec![said, call]);
            [Message::user(format!("Make part {n}.")), answer, Message::tool_result(id, "Bash", output)]
        };
        [Message::user("Make all parts.")].into_iter().chain((0..200).flat_map(step)).collect()
    }

    #[test]
    fn a_history_is_compacted_to_the_part_that_is_asked_for() {
        let history = history();
        let forced = Forced::new(&history, &ToolVocabulary::UNIVERSAL);
        for preset in digesting() {
            for part in [0.10, 0.15, 0.25] {
                let compacted = forced.to(part, &pipeline(preset, ToolVocabulary::UNIVERSAL)).unwrap();
                let reached = total_size(&compacted) / forced.size;
                assert!((reached - part).abs() <= TOLERANCE, "{preset} at {part}: {reached}");
            }
        }
    }

    #[test]
    fn the_presets_with_a_digest_are_known() {
        assert_eq!(digesting(), ["window-budget", "ladder"]);
    }
    #[test]
    fn what_an_agents_own_tools_did_is_told() {
        let own =
            ToolVocabulary { tools: &[("put", ToolRole::Write)], path_keys: &["target"], part_keys: &[] };
        let step = |n: usize| {
            let call = Block::call(format!("c{n}"), "put", json!({"target": format!("src/part_{n}.rs")}));
            let said = Block::text("Others need it. ".repeat(20));
            [
                Message::assistant_blocks(vec![said, call]),
                Message::tool_result(format!("c{n}"), "put", "done"),
            ]
        };
        let history: Vec<Message> =
            [Message::user("Make all.")].into_iter().chain((0..200).flat_map(step)).collect();
        let told =
            |vocabulary| Forced::new(&history, vocabulary).nearest(0.2, &pipeline("window-budget", own));
        assert_ne!(told(&own), told(&ToolVocabulary::UNIVERSAL));
    }
}
