//! The turns of one loop, and the block that replaces them.

use std::borrow::Cow;

use wb_message::{Block, Message};

use crate::three_level::{estimate_tokens, summary_line, truncate_head_tail};

/// A message of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopMessage {
    /// The message itself.
    pub message: Message,
    /// The turn of the message, counted from 0; prompts and synthetic messages have none.
    pub turn_index: Option<u32>,
}

/// The loops before the current one to compact and render.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionScope {
    /// A fixed number of loops.
    FixedCount(usize),
    /// The loops whose raw messages fit into the token budget, up to the first that does not.
    TokenBudget,
}

/// The configuration of a compaction of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionConfig {
    /// The loops before the current one.
    pub compaction_scope: CompactionScope,
    /// Turns to keep at the start; 0 still keeps one.
    pub keep_first_turns: usize,
    /// Turns to keep at the end, with their tool outputs cut.
    pub keep_recent_turns: usize,
    /// The most tokens of the lines that replace the middle.
    pub max_summary_tokens: usize,
    /// The most lines of a text of a tool output in the recent turns, its marker not counted.
    pub tool_output_max_lines: usize,
}

impl Default for CompactionConfig {
    fn default() -> Self {
        Self {
            compaction_scope: CompactionScope::FixedCount(3),
            keep_first_turns: 2,
            keep_recent_turns: 10,
            max_summary_tokens: 2_000,
            tool_output_max_lines: 50,
        }
    }
}

/// A range of turns of a [`TurnMap`], both ends included; an end before the start is an empty
/// range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnRange {
    /// The first turn.
    pub start_turn: usize,
    /// The last turn.
    pub end_turn: usize,
}

/// The messages that replace a range of turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactedSection {
    /// The turns.
    pub range: TurnRange,
    /// The messages.
    pub messages: Vec<Message>,
}

/// The rendering of a loop: the first turns verbatim, lines for the middle, the recent turns.
///
/// The published block also has a timestamp.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionBlock {
    /// The first turns; only in the current loop.
    pub keep_first: Option<TurnRange>,
    /// The recent turns; only in the current loop.
    pub keep_recent: Option<CompactedSection>,
    /// The turns of the middle, or all turns of an older loop.
    pub keep_compacted: Option<CompactedSection>,
}

/// The boundaries of a loop's turns.
///
/// Consecutive messages with the same index are a turn, and each message without an index is a
/// separate turn.
///
/// Fault: a message without an index splits the turn around it, even between a call and its result.
/// Use `Pairing` of `wb-message`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnMap {
    /// The first message of each turn, and the one after its last.
    turns: Vec<(usize, usize)>,
}

impl TurnMap {
    /// Finds the turns of a loop.
    pub fn from_messages(messages: &[LoopMessage]) -> Self {
        let same = |a: &LoopMessage, b: &LoopMessage| a.turn_index.is_some() && a.turn_index == b.turn_index;
        let mut start = 0;
        let turns = messages.chunk_by(same).map(|turn| {
            let first = start;
            start += turn.len();
            (first, start)
        });
        Self { turns: turns.collect() }
    }

    /// Returns the number of turns.
    pub fn turn_count(&self) -> usize {
        self.turns.len()
    }

    /// Returns the messages of a range of turns; none if either end is out of range.
    pub fn messages_for_range<'a>(&self, messages: &'a [LoopMessage], range: TurnRange) -> &'a [LoopMessage] {
        let ends = self.turns.get(range.start_turn).zip(self.turns.get(range.end_turn));
        ends.and_then(|((start, _), (_, end))| messages.get(*start..*end)).unwrap_or_default()
    }
}

/// A strategy that compacts a loop to a block; the published trait is async.
pub trait BlockCompactionStrategy {
    /// Returns the first turns to keep.
    fn keep_first(&self, turns: &TurnMap, config: &CompactionConfig) -> Option<TurnRange>;

    /// Returns the recent turns to keep.
    fn keep_recent(
        &self,
        messages: &[LoopMessage],
        turns: &TurnMap,
        config: &CompactionConfig,
    ) -> Option<CompactedSection>;

    /// Returns the replacement of the middle, or of all turns of an older loop.
    fn keep_compacted(
        &self,
        messages: &[LoopMessage],
        turns: &TurnMap,
        config: &CompactionConfig,
        is_most_recent: bool,
    ) -> Option<CompactedSection>;

    /// Compacts a loop; only the current one has first and recent turns.
    fn compact(
        &self,
        messages: &[LoopMessage],
        config: &CompactionConfig,
        is_most_recent: bool,
    ) -> CompactionBlock {
        let turns = TurnMap::from_messages(messages);
        let mut block = CompactionBlock {
            keep_compacted: self.keep_compacted(messages, &turns, config, is_most_recent),
            ..CompactionBlock::default()
        };
        if is_most_recent {
            block.keep_first = self.keep_first(&turns, config);
            block.keep_recent = self.keep_recent(messages, &turns, config);
        }
        block
    }
}

const _: fn(&dyn BlockCompactionStrategy) = |_| ();

/// The published strategy.
///
/// Fault: zones can overlap. With fewer turns than `keep_first_turns` and `keep_recent_turns`
/// together they do, and with `keep_first_turns` at 0 the first turn is both kept and summarized.
/// Use a preset of `Pipeline` of `wb-conductor`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultBlockCompaction;

impl BlockCompactionStrategy for DefaultBlockCompaction {
    fn keep_first(&self, turns: &TurnMap, config: &CompactionConfig) -> Option<TurnRange> {
        let n_kept = config.keep_first_turns.min(turns.turn_count()).max(1);
        (turns.turn_count() > 0).then_some(TurnRange { start_turn: 0, end_turn: n_kept - 1 })
    }

    fn keep_recent(
        &self,
        messages: &[LoopMessage],
        turns: &TurnMap,
        config: &CompactionConfig,
    ) -> Option<CompactedSection> {
        let end_turn = turns.turn_count().checked_sub(1)?;
        let start_turn = turns.turn_count().saturating_sub(config.keep_recent_turns);
        let range = TurnRange { start_turn, end_turn };
        let kept = turns.messages_for_range(messages, range).iter();
        let messages = kept.map(|kept| cut(&kept.message, config.tool_output_max_lines)).collect();
        Some(CompactedSection { range, messages })
    }

    fn keep_compacted(
        &self,
        messages: &[LoopMessage],
        turns: &TurnMap,
        config: &CompactionConfig,
        is_most_recent: bool,
    ) -> Option<CompactedSection> {
        let n_turns = turns.turn_count();
        let (start_turn, end) = if is_most_recent {
            (config.keep_first_turns.min(n_turns), n_turns.saturating_sub(config.keep_recent_turns))
        } else {
            (0, n_turns)
        };
        let range =
            TurnRange { start_turn, end_turn: end.checked_sub(1).filter(|last| *last >= start_turn)? };
        let messages = lines(turns.messages_for_range(messages, range), config.max_summary_tokens);
        (!messages.is_empty()).then_some(CompactedSection { range, messages })
    }
}

fn cut(message: &Message, max_lines: usize) -> Message {
    let mut message = message.clone();
    let Message::ToolResult { content, .. } = &mut message else { return message };
    for block in content {
        if let Block::Text { text } = block
            && let Cow::Owned(short) = truncate_head_tail(text, max_lines)
        {
            *text = short;
        }
    }
    message
}

/// Returns a line for each reply, up to the first that does not fit; frames of messages are not
/// charged.
fn lines(messages: &[LoopMessage], max_tokens: usize) -> Vec<Message> {
    let mut remaining = max_tokens;
    let replies = messages.iter().filter_map(|message| match &message.message {
        Message::Assistant { content, .. } => Some(summary_line(content)),
        _ => None,
    });
    let fits = |line: &String| {
        let left = remaining.checked_sub(estimate_tokens(line));
        remaining = left.unwrap_or(remaining);
        left.is_some()
    };
    replies.take_while(fits).map(Message::user).collect()
}
