//! Compacts histories to a given share of their size, so that strategies compare at equal sizes.

use std::sync::Arc;

use wb_budget::{TokenCounter, TokenHeuristic, WeighedTranscript};
use wb_conductor::{CompactionReport, Compactor, CondenseOpts, PRESETS, Pipeline, Step};
use wb_facts::Facts;
use wb_message::{Message, ToolVocabulary};

use crate::message_text::total_size;
use crate::strategy::pipeline;

/// The accepted deviation from the requested share.
pub const TOLERANCE: f64 = 0.01;

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
    facts: Arc<Facts>,
    size: f64,
}

impl<'a> ResizedHistory<'a> {
    /// Weighs a history with the agent's tools.
    pub fn new(history: &'a [Message], vocabulary: &ToolVocabulary) -> Self {
        let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
        let facts = Arc::new(Facts::default().with_messages(history, vocabulary));
        Self { history, view: WeighedTranscript::new(history, &counter), facts, size: total_size(history) }
    }

    /// Compacts the history to about a share of its size, without a model, as `wb compact --target`
    /// does; `None` if no result is near.
    pub fn to(&self, part: f64, pipeline: &Pipeline) -> Option<Vec<Message>> {
        let compacted = self.nearest(part, pipeline);
        let missed = (total_size(&compacted) / self.size - part).abs();
        (missed < part / 2.0).then_some(compacted)
    }

    /// Compacts the history as near as possible to a share of its size.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "tokens are not negative")]
    pub(crate) fn nearest(&self, part: f64, pipeline: &Pipeline) -> Vec<Message> {
        let opts = CondenseOpts { facts: Some(self.facts.clone()), ..CondenseOpts::default() };
        let compactor = Compactor::new().pipeline(pipeline.clone());
        let tokens = (self.view.total_tokens() as f64 * part) as u64;
        let reached = |messages: &[Message], _: &CompactionReport| total_size(messages) / self.size / part;
        let compactor = compactor.with_target_size(tokens, &self.view, &opts, reached);
        let mut messages = self.history.to_vec();
        if let Ok(plan) = compactor.plan(self.view.clone(), &opts) {
            plan.without_guard().local().apply(&mut messages);
        }
        messages
    }
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
