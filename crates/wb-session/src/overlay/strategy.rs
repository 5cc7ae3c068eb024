//! How a projection is compacted: the seam, and the default.

use serde::{Deserialize, Serialize};
use wb_budget::TokenCounter;
use wb_message::{Block, Edit, Message, Patch};
use wb_passes::truncate_head_tail;

use super::projection::Projection;
use super::summary::condense;
use super::zones::{Zones, turns};

/// Plans the next block of an overlay.
///
/// A plan is pure: same projection, same patch. What it makes is strictly lighter, and planning again on that gives
/// nothing.
pub trait BlockCompactionStrategy: Send + Sync {
    /// Returns the strategy's name, as the [author](super::Author) of its blocks is called.
    fn name(&self) -> &str;

    /// Plans a patch on a projection; nothing if nothing can be gained.
    fn plan(&self, projection: &Projection<'_>, weigher: &dyn TokenCounter) -> Option<Patch>;
}

const _: fn(&dyn BlockCompactionStrategy) = |_| ();

/// How the default strategy compacts; keys that are left out get the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BlockCompactionConfig {
    /// Turns at the start that stay as they are.
    pub keep_first_turns: usize,
    /// Turns at the end that stay, with long outputs cut; 0 is read as 1.
    pub keep_recent_turns: usize,
    /// The most tokens of the digest of the turns between.
    pub max_summary_tokens: u64,
    /// The most lines of a tool output in the recent turns.
    pub tool_output_max_lines: usize,
}

/// The defaults.
pub const BLOCK_COMPACTION_CONFIG: BlockCompactionConfig = BlockCompactionConfig {
    keep_first_turns: 2,
    keep_recent_turns: 10,
    max_summary_tokens: 2_000,
    tool_output_max_lines: 50,
};

impl Default for BlockCompactionConfig {
    fn default() -> Self {
        BLOCK_COMPACTION_CONFIG
    }
}

/// Keeps the first turns, folds the turns between to one digest that is written by rule, and cuts long tool outputs in
/// the recent ones.
///
/// Each short prompt of the middle has a line of its own in the digest; a longer one, and one with pictures, stays as
/// it is. An earlier digest is merged line by line, and replies lose their lines before prompts do. Calls stay with
/// their results. An output that the model has not answered yet is not cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefaultBlockCompaction {
    /// The settings.
    pub config: BlockCompactionConfig,
}

impl DefaultBlockCompaction {
    /// Divides a projection as this strategy does.
    pub fn zones(&self, projection: &Projection<'_>) -> Zones {
        let BlockCompactionConfig { keep_first_turns, keep_recent_turns, .. } = self.config;
        Zones::of(&turns(projection.iter()), projection.len(), keep_first_turns, keep_recent_turns)
    }

    fn cut(&self, message: &Message) -> Option<Vec<Block>> {
        let short = |text: &str| match truncate_head_tail(text, self.config.tool_output_max_lines) {
            std::borrow::Cow::Owned(short) => Some(Block::text(short)),
            std::borrow::Cow::Borrowed(_) => None,
        };
        match message {
            Message::BashExecution { output, .. } => Some(vec![short(output)?]),
            Message::ToolResult { content, .. } => {
                let cuts: Vec<_> = content.iter().map(|block| block.as_text().and_then(short)).collect();
                let any = cuts.iter().any(Option::is_some);
                let blocks = cuts.into_iter().zip(content);
                any.then(|| blocks.map(|(cut, block)| cut.unwrap_or_else(|| block.clone())).collect())
            }
            _ => None,
        }
    }
}

impl BlockCompactionStrategy for DefaultBlockCompaction {
    fn name(&self) -> &'static str {
        "block-compaction"
    }

    fn plan(&self, projection: &Projection<'_>, weigher: &dyn TokenCounter) -> Option<Patch> {
        let zones = self.zones(projection);
        let digest = condense(projection, &zones.middle, self.config.max_summary_tokens, weigher);
        let mut edits = digest.unwrap_or_default();
        let is_reply = |message: &Message| matches!(message, Message::Assistant { .. });
        let n_read =
            projection.len() - projection.iter().rev().take_while(|message| !is_reply(message)).count();
        for at in zones.keep_recent.start..n_read.max(zones.keep_recent.start) {
            let message = &projection.messages[at];
            let cut = self.cut(message);
            edits.extend(
                cut.filter(|cut| is_lighter(message, cut, weigher)).map(|content| Edit::Body { at, content }),
            );
        }
        (!edits.is_empty()).then(|| Patch::new(edits))
    }
}

fn is_lighter(message: &Message, body: &[Block], weigher: &dyn TokenCounter) -> bool {
    weigher.message(&super::skeleton::with_body(message, body)) < weigher.message(message)
}
