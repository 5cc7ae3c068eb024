//! Compaction in three levels (seed 1): tool outputs are cut, older replies collapsed, the middle dropped.
//!
//! [`compact`] runs the passes [`ToolOutput`], [`Collapse`], [`Preview`] and [`DropMiddle`] in this order until the
//! transcript fits. A level starts only while the transcript is over its budget, and goes on down to seven eighths
//! of it, so that the next message does not start it again. What it gives keeps pairs, the task and the latest
//! request; where that is more than the budget it says so as [`Irreducible`], for nothing that the user wrote is
//! ever shortened. Tokens are those of [`LineageTariff::THREE_LEVEL`].
//!
//! ```
//! use wb_message::Message;
//! use wb_passes::three_level::{ContextConfig, compact};
//!
//! let mut messages = vec![Message::user("Why does it fail?")];
//! messages.extend((0..40).map(|n| Message::bash("make", format!("step {n}\n").repeat(300), Some(2))));
//! let config = ContextConfig { max_context_tokens: 12_000, ..ContextConfig::default() };
//!
//! let before = messages.clone();
//! let report = compact(&mut messages, &config);
//! assert_eq!(report.levels, ["tool-output"]);
//! assert!(report.tokens_after <= 8_000 && report.irreducible.is_none());
//!
//! report.undo.revert(&mut messages);
//! assert_eq!(messages, before);
//! ```

use serde::{Deserialize, Serialize};
use wb_budget::{Irreducible, LineageTariff};
use wb_message::Message;

use crate::climb::{Climb, UndoStack};
use crate::collapse::Collapse;
use crate::drop_middle::{DROP_KEEP_FIRST, DROP_KEEP_RECENT, DropMiddle, Floor};
use crate::pass::Pass;
use crate::preview::Preview;
use crate::tool_output::{TOOL_OUTPUT_MAX_LINES, ToolOutput};

pub use crate::tool_output::truncate_head_tail;

/// How a transcript is compacted in three levels; keys that are left out get the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    /// Tokens that the context may have, system prompt included.
    pub max_context_tokens: usize,
    /// Tokens that are reserved for the system prompt.
    pub system_prompt_tokens: usize,
    /// Messages at the end that the second level leaves as they are and the third keeps before others.
    pub keep_recent: usize,
    /// Messages at the start that the third level keeps before older ones.
    pub keep_first: usize,
    /// The most lines of a text of a tool output.
    pub tool_output_max_lines: usize,
}

/// The defaults of the seed (seed 1, `context/config.rs`).
pub const CONTEXT_CONFIG: ContextConfig = ContextConfig {
    max_context_tokens: 100_000,
    system_prompt_tokens: 4_000,
    keep_recent: DROP_KEEP_RECENT,
    keep_first: DROP_KEEP_FIRST,
    tool_output_max_lines: TOOL_OUTPUT_MAX_LINES,
};

impl Default for ContextConfig {
    fn default() -> Self {
        CONTEXT_CONFIG
    }
}

impl ContextConfig {
    /// Returns the tokens that the messages may have: the context less the system prompt, at least 0.
    pub fn budget_tokens(&self) -> usize {
        self.max_context_tokens.saturating_sub(self.system_prompt_tokens)
    }
}

/// What a compaction in three levels did.
#[derive(Debug)]
#[non_exhaustive]
pub struct LevelReport {
    /// The passes that changed something, by name in the order of their first change; none where nothing did.
    pub levels: Vec<&'static str>,
    /// What the transcript weighed before, in tokens.
    pub tokens_before: u64,
    /// What it weighs now, in tokens.
    pub tokens_after: u64,
    /// By how much it is still over its budget: the task, the latest request, pinned messages and calls in flight
    /// weigh that much, or what could still be dropped weighs no more than the mark that would stand for it.
    pub irreducible: Option<Irreducible>,
    /// What takes it all back.
    pub undo: UndoStack,
}

/// Compacts a transcript in place until it weighs at most [`ContextConfig::budget_tokens`].
pub fn compact(messages: &mut Vec<Message>, config: &ContextConfig) -> LevelReport {
    let mut run = Run::of(messages, config.budget_tokens() as u64);
    // What still does not fit may have become lighter in a way that an earlier level can go on from.
    while run.round(config) {}
    let Run { climb, budget_tokens } = run;
    let done = climb.done();
    let mut levels: Vec<&'static str> = Vec::new();
    for step in &done.steps {
        if !levels.contains(&step.name) {
            levels.push(step.name);
        }
    }
    let irreducible = Irreducible::above(budget_tokens, done.tokens_after);
    let (tokens_before, tokens_after) = (done.tokens_before, done.tokens_after);
    LevelReport { levels, tokens_before, tokens_after, irreducible, undo: done.undo }
}

/// Compacts a transcript as [`compact`] does, for good.
pub fn compact_messages(mut messages: Vec<Message>, config: &ContextConfig) -> Vec<Message> {
    drop(compact(&mut messages, config));
    messages
}

/// Cuts the texts of all tool results and shell outputs to their first and last lines: [`ToolOutput`].
pub fn level1_truncate_tool_outputs(messages: Vec<Message>, max_lines: usize) -> Vec<Message> {
    passed(messages, &ToolOutput { max_lines }, 0)
}

/// Collapses all replies that are older than the newest messages: [`Collapse`].
pub fn level2_summarize_old_turns(messages: Vec<Message>, keep_recent: usize) -> Vec<Message> {
    passed(messages, &Collapse { keep_recent }, 0)
}

/// Drops what does not fit, in tokens of budget: [`DropMiddle`].
pub fn level3_drop_middle(messages: Vec<Message>, config: &ContextConfig, budget: usize) -> Vec<Message> {
    let ContextConfig { keep_first, keep_recent, .. } = *config;
    passed(messages, &DropMiddle { keep_first, keep_recent }, budget as u64)
}

/// Drops what does not fit, in tokens of budget, with no place set aside for the first messages or the last ones:
/// [`DropMiddle`].
pub fn keep_within_budget(messages: Vec<Message>, budget: usize) -> Vec<Message> {
    passed(messages, &DropMiddle { keep_first: 0, keep_recent: 0 }, budget as u64)
}

/// Applies one pass for good.
fn passed(mut messages: Vec<Message>, pass: &dyn Pass, target_tokens: u64) -> Vec<Message> {
    Run::of(&mut messages, target_tokens).level(pass, target_tokens);
    messages
}

/// A transcript on its way through the levels.
#[derive(Debug)]
struct Run<'a> {
    climb: Climb<'a>,
    budget_tokens: u64,
}

const TARIFF: LineageTariff = LineageTariff::THREE_LEVEL;

impl<'a> Run<'a> {
    fn of(messages: &'a mut Vec<Message>, budget_tokens: u64) -> Self {
        Self { climb: Climb::new(messages, &TARIFF), budget_tokens }
    }

    fn floor(&self) -> Floor {
        Floor::of(self.climb.view(), &TARIFF)
    }

    /// Runs all levels; tells whether any changed something.
    fn round(&mut self, config: &ContextConfig) -> bool {
        let tokens_before = self.climb.total_tokens();
        let landing = self.budget_tokens - self.budget_tokens.div_ceil(8);
        let ContextConfig { keep_first, keep_recent, tool_output_max_lines: max_lines, .. } = *config;
        self.level(&ToolOutput { max_lines }, landing);
        self.level(&Collapse { keep_recent }, landing);
        self.preview(landing);
        // What stays at any weight may lie between the landing and the budget.
        let target_tokens = landing.max(self.floor().tokens.min(self.budget_tokens));
        self.level(&DropMiddle { keep_first, keep_recent }, target_tokens);
        self.climb.total_tokens() < tokens_before
    }

    /// Applies a pass where the transcript is over its budget.
    fn level(&mut self, pass: &dyn Pass, target_tokens: u64) {
        if self.climb.total_tokens() > self.budget_tokens {
            self.climb.step(pass, target_tokens);
        }
    }

    /// Shortens bodies that are giants beside the budget, then those of the newest messages as far as these would
    /// not fit beside what stays at any weight.
    fn preview(&mut self, landing: u64) {
        let total = self.climb.total_tokens();
        self.level(&Preview::default(), landing.max(total.saturating_sub(self.surplus())));
        let (floor, total) = (self.floor(), self.climb.total_tokens());
        let excess = floor.tokens.saturating_sub(landing);
        self.level(&Preview { from: floor.start }, total.saturating_sub(excess));
    }

    /// Returns the tokens by which tool outputs exceed a quarter of the budget each.
    fn surplus(&self) -> u64 {
        let view = self.climb.view();
        let is_output =
            |message: &Message| matches!(message, Message::ToolResult { .. } | Message::BashExecution { .. });
        let outputs = (0..view.messages.len()).filter(|&at| is_output(&view.messages[at]));
        let above = outputs.map(|at| view.weight(at).saturating_sub(self.budget_tokens / 4));
        above.fold(0, u64::saturating_add)
    }
}
