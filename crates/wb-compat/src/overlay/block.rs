//! One loop: its turns, and the block that stands for them.

use std::borrow::Cow;

use wb_message::{Block, Message};

use crate::three_level::{estimate_tokens, summary_line, truncate_head_tail};

/// A message of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopMessage {
    /// What is said.
    pub message: Message,
    /// The turn that it belongs to, counted from 0; prompts and synthetic messages have none.
    pub turn_index: Option<u32>,
}

/// Which loops before the current one are compacted and rendered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionScope {
    /// So many.
    FixedCount(usize),
    /// As many as the tokens of their raw messages fit, up to the first that does not.
    TokenBudget,
}

/// How loops are compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompactionConfig {
    /// Which loops before the current one.
    pub compaction_scope: CompactionScope,
    /// Turns at the start that stay; 0 keeps one all the same.
    pub keep_first_turns: usize,
    /// Turns at the end that stay, with their tool outputs cut.
    pub keep_recent_turns: usize,
    /// The most tokens of the lines that stand for what is between.
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

/// A range of turns of a [`TurnMap`], both ends included; an end before the start is an empty range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnRange {
    /// The first turn.
    pub start_turn: usize,
    /// The last turn.
    pub end_turn: usize,
}

/// The messages that stand for a range of turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactedSection {
    /// The turns.
    pub range: TurnRange,
    /// The messages.
    pub messages: Vec<Message>,
}

/// What a loop is rendered as: the first turns as they are, lines for the middle, the recent turns.
///
/// The published block carries the time of its making too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactionBlock {
    /// The first turns, of the current loop alone.
    pub keep_first: Option<TurnRange>,
    /// The recent turns, of the current loop alone.
    pub keep_recent: Option<CompactedSection>,
    /// The turns between, or all turns of an older loop.
    pub keep_compacted: Option<CompactedSection>,
}

/// Where the turns of a loop begin and end.
///
/// Messages of one index that stand together are a turn, and each message without one is a turn of its own.
///
/// Fault: a message without a turn in the midst of one splits it, calls from results too. Use `Conversation` and
/// `Pairing` of `wb-message`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnMap {
    /// Of each turn its first message and the one after its last.
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

    /// Returns the messages of a range of turns; none if either of its ends is no turn.
    pub fn messages_for_range<'a>(&self, messages: &'a [LoopMessage], range: TurnRange) -> &'a [LoopMessage] {
        let ends = self.turns.get(range.start_turn).zip(self.turns.get(range.end_turn));
        ends.and_then(|((start, _), (_, end))| messages.get(*start..*end)).unwrap_or_default()
    }
}

/// How a loop becomes a block; the published trait is async.
pub trait BlockCompactionStrategy {
    /// Returns the first turns that stay.
    fn keep_first(&self, turns: &TurnMap, config: &CompactionConfig) -> Option<TurnRange>;

    /// Returns the recent turns as they stay.
    fn keep_recent(
        &self,
        messages: &[LoopMessage],
        turns: &TurnMap,
        config: &CompactionConfig,
    ) -> Option<CompactedSection>;

    /// Returns what stands for the turns between, or for all turns of an older loop.
    fn keep_compacted(
        &self,
        messages: &[LoopMessage],
        turns: &TurnMap,
        config: &CompactionConfig,
        is_most_recent: bool,
    ) -> Option<CompactedSection>;

    /// Compacts a loop; one that is not the current one has no first and no recent turns.
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
/// Fault: nothing keeps the zones apart. With fewer turns than `keep_first_turns` and `keep_recent_turns` together they
/// overlap, and with `keep_first_turns` at 0 the first turn stays and is summarized too. Use
/// `DefaultBlockCompaction` of `wb-session`.
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

/// Cuts the texts of a tool output.
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

/// Returns a line for each reply, up to the first that does not fit; the frames of their messages are not charged.
fn lines(messages: &[LoopMessage], max_tokens: usize) -> Vec<Message> {
    let mut remaining = max_tokens;
    let replies = messages.iter().filter_map(|said| match &said.message {
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
