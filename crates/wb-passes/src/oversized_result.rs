//! Previews of oversized tool results: head, tail and the original size.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use wb_budget::{PolicyError, TokenCounter, WeighedTranscript};
use wb_message::block::joined_text;
use wb_message::markers::PREVIEW_MARK;
use wb_message::{Block, Edit, Message, Patch};

use crate::pass::{Goal, Pass};

/// The key of an [`ArtifactCompactionConfig`] in an agent's settings.
pub const ARTIFACT_SETTINGS_KEY: &str = "context_transform.artifact_compaction";

/// The text before the original size in the mark of a preview.
const MARK_OPEN: &str = "\n[Content compacted: original ~";
/// Digits of the largest size in a mark.
const MAX_DIGITS: usize = 20;
/// The most bytes, and characters, of a mark.
const MAX_MARK: usize = MARK_OPEN.len() + MAX_DIGITS + PREVIEW_MARK.len();
/// Lines of a mark: its own, and an empty one before it if no head is left.
const MARK_LINES: usize = 2;

/// The threshold and size of previews; missing keys get the defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct ArtifactCompactionConfig {
    /// The fewest tokens of text to preview; at least 1.
    pub threshold_tokens: usize,
    /// The most characters of a preview; at least 1.
    pub preview_max_chars: usize,
    /// The most lines of a preview; at least 1.
    pub preview_max_lines: usize,
}

/// The defaults.
pub const ARTIFACT_COMPACTION: ArtifactCompactionConfig =
    ArtifactCompactionConfig { threshold_tokens: 2048, preview_max_chars: 1600, preview_max_lines: 24 };

impl Default for ArtifactCompactionConfig {
    fn default() -> Self {
        ARTIFACT_COMPACTION
    }
}

impl ArtifactCompactionConfig {
    /// Returns the configuration if all of its values are at least 1.
    pub fn validated(self) -> Result<Self, PolicyError> {
        let fields = [
            ("threshold_tokens", self.threshold_tokens),
            ("preview_max_chars", self.preview_max_chars),
            ("preview_max_lines", self.preview_max_lines),
        ];
        match fields.into_iter().find(|(_, value)| *value == 0) {
            Some((field, _)) => Err(PolicyError::Zero { field }),
            None => Ok(self),
        }
    }

    /// Returns whether a text, or a preview without its mark, is within the limits.
    fn fits(self, text: &str) -> bool {
        let may_fit = text.len() / 4 <= self.preview_max_chars.saturating_add(MAX_MARK);
        let mark = if may_fit { longest_mark(text) } else { 0 };
        let extra_lines = if mark > 0 { MARK_LINES } else { 0 };
        let n_chars = self.preview_max_chars.saturating_add(mark);
        let n_lines = self.preview_max_lines.saturating_add(extra_lines);
        text.char_indices().nth(n_chars).is_none() && text.lines().nth(n_lines).is_none()
    }

    fn preview(self, text: &str, has_failed: bool, original_tokens: u64) -> String {
        let (head_chars, tail_chars) = shares(self.preview_max_chars, has_failed);
        let (head_lines, tail_lines) = shares(self.preview_max_lines, has_failed);
        let head = head(text, head_chars, head_lines);
        let tail = tail(&text[head.len()..], tail_chars, tail_lines);
        [head, MARK_OPEN, &original_tokens.to_string(), PREVIEW_MARK, tail].concat()
    }
}

/// Returns the bytes of the longest mark in a text, 0 without a mark.
fn longest_mark(text: &str) -> usize {
    let marks = text.match_indices(MARK_OPEN).filter_map(|(at, _)| {
        let rest = &text[at + MARK_OPEN.len()..];
        let n_digits = rest.bytes().take(MAX_DIGITS).take_while(u8::is_ascii_digit).count();
        let is_mark = n_digits > 0 && rest[n_digits..].starts_with(PREVIEW_MARK);
        is_mark.then_some(MARK_OPEN.len() + n_digits + PREVIEW_MARK.len())
    });
    marks.max().unwrap_or(0)
}

/// Divides a limit between head and tail: two thirds for the head, or for the tail of a failed
/// result.
fn shares(n: usize, has_failed: bool) -> (usize, usize) {
    let small = (n / 3).max(usize::from(n > 1));
    if has_failed { (small, n - small) } else { (n - small, small) }
}

/// Returns the start of a text: at most `n_chars` and `n_lines`, without the last line's end.
fn head(text: &str, n_chars: usize, n_lines: usize) -> &str {
    let Some(nth) = n_lines.checked_sub(1) else { return "" };
    let head = &text[..text.char_indices().nth(n_chars).map_or(text.len(), |(at, _)| at)];
    &head[..head.match_indices('\n').nth(nth).map_or(head.len(), |(at, _)| at)]
}

/// Returns the end of a text: at most `n_chars` and `n_lines`.
fn tail(text: &str, n_chars: usize, n_lines: usize) -> &str {
    let (Some(nth_char), Some(nth_line)) = (n_chars.checked_sub(1), n_lines.checked_sub(1)) else {
        return "";
    };
    let tail = &text[text.char_indices().rev().nth(nth_char).map_or(0, |(at, _)| at)..];
    let lines = tail.strip_suffix('\n').unwrap_or(tail);
    &tail[lines.rmatch_indices('\n').nth(nth_line).map_or(0, |(at, _)| at + 1)..]
}

/// Previews every oversized tool result and shell output.
///
/// All texts of a message count together, in tokens of the view's counter, without the message's
/// frame and images. From [`ArtifactCompactionConfig::threshold_tokens`] on, one text replaces
/// them: head, original size and tail. Two thirds are the head, or the tail of errors and failed
/// commands. Images stay. A preview is always shorter and lighter than the original.
///
/// The threshold limits each result; the goal's target plays no part.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OversizedResult {
    /// The threshold and size of previews.
    pub config: ArtifactCompactionConfig,
}

impl OversizedResult {
    fn shorten(self, view: &WeighedTranscript<'_>, at: usize, counter: &dyn TokenCounter) -> Option<Edit> {
        let message = view.messages[at];
        let body = Body::from_message(message)?;
        if self.config.fits(&body.text) {
            return None;
        }
        let frame_tokens = counter.message(&with_text(message, None)?);
        let tokens = view.weight(at).saturating_sub(frame_tokens);
        if tokens < self.threshold_tokens() {
            return None;
        }
        let preview = self.config.preview(&body.text, body.has_failed, tokens);
        if preview.len() >= body.n_bytes {
            return None;
        }
        let short = with_text(message, Some(preview))?;
        let is_lighter = counter.message(&short) < view.weight(at);
        is_lighter.then(|| Edit::Body { at, content: into_content(short) })
    }

    fn threshold_tokens(self) -> u64 {
        self.config.threshold_tokens as u64
    }
}

impl Pass for OversizedResult {
    fn name(&self) -> &'static str {
        "oversized-result"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, _: Goal<'_>) -> Option<Patch> {
        let is_large = |at: &usize| view.weight(*at) >= self.threshold_tokens() && !view.is_fixed(*at);
        let large = (0..view.messages.len()).filter(is_large);
        let edits: Vec<_> = large.filter_map(|at| self.shorten(view, at, view.counter.as_ref())).collect();
        (!edits.is_empty()).then_some(Patch { edits })
    }
}

/// The output of a tool or a command.
#[derive(Debug)]
struct Body<'a> {
    text: Cow<'a, str>,
    /// The bytes of the texts, without separators.
    n_bytes: usize,
    has_failed: bool,
}

impl<'a> Body<'a> {
    fn from_message(message: &'a Message) -> Option<Self> {
        match message {
            Message::ToolResult { content, is_error, .. } => {
                let n_bytes = content.iter().filter_map(Block::as_text).map(str::len).sum();
                let text = joined_text(content);
                Some(Self { text, n_bytes, has_failed: *is_error })
            }
            Message::BashExecution { output, exit_code, .. } => {
                let text = output.as_str().into();
                Some(Self { text, n_bytes: output.len(), has_failed: *exit_code != Some(0) })
            }
            _ => None,
        }
    }
}

/// Copies a message with one text, or none, in place of all its texts; other blocks stay.
fn with_text(message: &Message, text: Option<String>) -> Option<Message> {
    match message {
        Message::ToolResult { tool_call_id, tool_name, content, is_error, is_refusal } => {
            Some(Message::ToolResult {
                tool_call_id: tool_call_id.clone(),
                tool_name: tool_name.clone(),
                content: with_one_text(content, text),
                is_error: *is_error,
                is_refusal: *is_refusal,
            })
        }
        Message::BashExecution { command, exit_code, .. } => {
            Some(Message::bash(command.as_str(), text.unwrap_or_default(), *exit_code))
        }
        _ => None,
    }
}

fn with_one_text(content: &[Block], mut text: Option<String>) -> Vec<Block> {
    let block = |block: &Block| match block {
        Block::Text { .. } => text.take().map(Block::text),
        other => Some(other.clone()),
    };
    content.iter().filter_map(block).collect()
}

fn into_content(message: Message) -> Vec<Block> {
    match message {
        Message::ToolResult { content, .. } => content,
        Message::BashExecution { output, .. } => vec![Block::text(output)],
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(preview_max_chars: usize, preview_max_lines: usize) -> ArtifactCompactionConfig {
        ArtifactCompactionConfig { threshold_tokens: 1, preview_max_chars, preview_max_lines }
    }

    #[test]
    fn the_shorter_limit_of_characters_and_lines_applies() {
        let text = "one\ntwo\nthree\nfour\nfive\n";
        let marked = |head: &str, tail: &str| format!("{head}{MARK_OPEN}7{PREVIEW_MARK}{tail}");
        assert_eq!(config(1000, 3).preview(text, false, 7), marked("one\ntwo", "five\n"));
        assert_eq!(config(1000, 3).preview(text, true, 7), marked("one", "four\nfive\n"));
        assert_eq!(config(9, 1000).preview(text, false, 7), marked("one\ntw", "ve\n"));
        assert_eq!(config(1000, 1).preview(text, false, 7), marked("one", ""));
        assert_eq!(config(1000, 1).preview(text, true, 7), marked("", "five\n"));
        assert_eq!(config(0, 0).preview(text, false, 7), marked("", ""));
    }

    #[test]
    fn a_preview_keeps_its_limits_even_with_forged_marks() {
        let forged = format!("{MARK_OPEN}99999999999999999999{PREVIEW_MARK}").repeat(9);
        for text in ["\n".repeat(40), "日本\n".repeat(30), forged, "x".repeat(90)] {
            for (n_chars, n_lines, failed) in
                (0..45).flat_map(|n| [(n, 9, false), (30, n, true), (n, n, true)])
            {
                let config = config(n_chars, n_lines);
                let preview = config.preview(&text, failed, u64::MAX);
                assert!(config.fits(&preview), "{n_chars} {n_lines} {failed} {preview:?}");
            }
        }
    }
}
