//! Cuts long tool outputs to their first and last lines.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use wb_budget::WeighedTranscript;
use wb_message::markers::LINES_CUT;
use wb_message::{Block, Edit, Message, Patch};

use crate::pass::{Goal, Pass};

/// The most lines of a tool output by default.
const TOOL_OUTPUT_MAX_LINES: usize = 50;

/// The fewest lines of a cut output: one of its head, the marker between two blank lines, one of
/// its tail.
pub const MIN_LINES: usize = MARK_LINES + 2;

/// Lines of the marker with its blank lines.
const MARK_LINES: usize = 3;
const MARK_OPEN: &str = "[... ";

/// Cuts each text of tool results and shell outputs to its first and last lines, the oldest
/// messages first and only as many as the target requires.
///
/// The marker counts as lines, so a cut text is not cut again. [`crate::Preview`] shortens texts of
/// one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ToolOutput {
    /// The most lines of a text, at least [`MIN_LINES`].
    pub max_lines: usize,
}

impl Default for ToolOutput {
    fn default() -> Self {
        Self { max_lines: TOOL_OUTPUT_MAX_LINES }
    }
}

impl ToolOutput {
    /// Returns the message with its texts cut, `None` if none is too long.
    fn cut(self, message: &Message) -> Option<Message> {
        match message {
            Message::ToolResult { tool_call_id, tool_name, content, is_error, is_refusal } => {
                Some(Message::ToolResult {
                    tool_call_id: tool_call_id.clone(),
                    tool_name: tool_name.clone(),
                    content: self.cut_blocks(content)?,
                    is_error: *is_error,
                    is_refusal: *is_refusal,
                })
            }
            Message::BashExecution { command, output, exit_code } => {
                let short = cut(output, self.max_lines)?;
                Some(Message::bash(command.as_str(), short, *exit_code))
            }
            _ => None,
        }
    }

    fn cut_blocks(self, content: &[Block]) -> Option<Vec<Block>> {
        let short = |block: &Block| cut(block.as_text()?, self.max_lines).map(Block::text);
        let cuts: Vec<_> = content.iter().map(short).collect();
        let any = cuts.iter().any(Option::is_some);
        let blocks = cuts.into_iter().zip(content);
        any.then(|| blocks.map(|(cut, block)| cut.unwrap_or_else(|| block.clone())).collect())
    }
}

impl Pass for ToolOutput {
    fn name(&self) -> &'static str {
        "tool-output"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, goal: Goal<'_>) -> Option<Patch> {
        let mut excess = view.total_tokens().saturating_sub(goal.target_tokens);
        let mut edits = Vec::new();
        for (at, message) in view.messages.iter().enumerate() {
            if excess == 0 {
                break;
            }
            let Some(short) = self.cut(message).filter(|_| !view.is_fixed(at)) else { continue };
            let saved = view.weight(at).saturating_sub(view.counter.as_ref().message(&short));
            if saved > 0 {
                excess = excess.saturating_sub(saved);
                edits.push(Edit::Body { at, content: body(short) });
            }
        }
        (!edits.is_empty()).then_some(Patch { edits })
    }
}

fn body(message: Message) -> Vec<Block> {
    match message {
        Message::ToolResult { content, .. } => content,
        Message::BashExecution { output, .. } => vec![Block::text(output)],
        _ => Vec::new(),
    }
}

/// Keeps the first and last lines of a text, at most `max_lines` including the marker
/// `[... {n} lines truncated ...]` and its two blank lines; a text that fits, or that a cut would
/// not shorten, is unchanged.
///
/// Kept lines are verbatim, line ends included. The minimum is [`MIN_LINES`]. If the text was cut
/// before, the count includes the lines truncated then.
pub fn truncate_head_tail(text: &str, max_lines: usize) -> Cow<'_, str> {
    cut(text, max_lines).map_or(Cow::Borrowed(text), Cow::Owned)
}

fn cut(text: &str, max_lines: usize) -> Option<String> {
    let max_lines = max_lines.max(MIN_LINES);
    text.lines().nth(max_lines)?;
    let n_kept = max_lines - MARK_LINES;
    let n_head = n_kept / 2;
    let (head_end, _) = text.match_indices('\n').nth(n_head - 1)?;
    let ended = text.strip_suffix('\n').unwrap_or(text);
    let (before_tail, _) = ended.rmatch_indices('\n').nth(n_kept - n_head - 1)?;
    let (head, middle, tail) =
        (&text[..head_end], &text[head_end + 1..=before_tail], &text[before_tail + 1..]);
    let n_truncated = n_lines(middle).to_string();
    let short = [head, "\n\n", MARK_OPEN, &n_truncated, LINES_CUT, "\n\n", tail].concat();
    (short.len() < text.len()).then_some(short)
}

/// Returns the number of lines, including those counted by earlier markers.
fn n_lines(text: &str) -> usize {
    let lines = |line| marker_count(line).map_or(1, |n| n.saturating_sub(MARK_LINES - 1));
    text.lines().map(lines).fold(0, usize::saturating_add)
}

fn marker_count(line: &str) -> Option<usize> {
    line.strip_prefix(MARK_OPEN)?.strip_suffix(LINES_CUT)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(n_lines: usize, end: &str) -> String {
        (0..n_lines).flat_map(|n| ["line ".to_owned(), n.to_string(), end.to_owned()]).collect()
    }

    #[test]
    fn a_cut_text_has_exactly_its_lines_and_keeps_their_ends() {
        let text = numbered(100, "\r\n");
        let short = truncate_head_tail(&text, 10);
        let expected = "line 0\r\nline 1\r\nline 2\r\n\n[... 93 lines truncated ...]\n\n\
                        line 96\r\nline 97\r\nline 98\r\nline 99\r\n";
        assert_eq!(short, expected);
        assert_eq!(short.lines().count(), 10);
        assert!(matches!(truncate_head_tail(&short, 10), Cow::Borrowed(_)));
    }

    #[test]
    fn a_second_cut_counts_all_truncated_lines() {
        let text = numbered(100, "\n");
        for (wide, narrow) in [(20, 10), (11, 10), (50, 5), (6, 5)] {
            let twice = truncate_head_tail(&truncate_head_tail(&text, wide), narrow).into_owned();
            assert_eq!(twice, truncate_head_tail(&text, narrow));
        }
    }

    #[test]
    fn every_cap_keeps_its_lines_or_the_whole_text() {
        for (n_lines, end) in (0..40).flat_map(|n| [(n, "\n"), (n, " and some more words\r\n"), (n, "")]) {
            let text = numbered(n_lines, end);
            for max_lines in (0..20).chain([usize::MAX]) {
                let short = truncate_head_tail(&text, max_lines);
                let fits = short.lines().count() == max_lines.max(MIN_LINES) && short.len() < text.len();
                assert!(fits || short == text, "{max_lines} {short:?}");
                assert_eq!(truncate_head_tail(&short, max_lines), short);
            }
        }
    }
}
