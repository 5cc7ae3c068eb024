//! Shortens the largest tool bodies to their head and tail.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use wb_budget::{TokenCounter, WeighedTranscript};
use wb_message::block::shown_text;
use wb_message::{Block, Edit, Message, Patch, text};

use crate::pass::{Goal, Pass};

/// The least bytes of a shortened body.
pub const MIN_PREVIEW_BYTES: usize = 240;

/// Shortens the largest bodies of tool results and shell outputs, all to one length, until the
/// transcript fits.
///
/// Messages before `from` and texts of the user or the model are never touched.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Preview {
    /// The first message that may be shortened.
    pub from: usize,
}

/// A body that may be shortened.
#[derive(Debug)]
struct Candidate<'a> {
    at: usize,
    message: &'a Message,
    body: Cow<'a, str>,
    n_bytes: usize,
    tokens: u64,
}

impl Candidate<'_> {
    /// Returns the tokens saved by shortening to `cap` bytes; 0 if the mark costs more.
    fn saving(&self, cap: usize, counter: &dyn TokenCounter) -> u64 {
        if self.n_bytes <= cap {
            return 0;
        }
        let clipped = text::clip(&self.body, cap).into_owned();
        let short = match self.message {
            Message::BashExecution { command, exit_code, .. } => {
                Message::bash(command.as_str(), clipped, *exit_code)
            }
            Message::ToolResult { tool_call_id, tool_name, .. } => {
                Message::tool_result(tool_call_id.as_str(), tool_name.as_str(), clipped)
            }
            _ => return 0,
        };
        self.tokens.saturating_sub(counter.message(&short))
    }
}

impl Preview {
    fn candidates<'a>(self, view: &WeighedTranscript<'a>) -> Vec<Candidate<'a>> {
        let bodies = view.messages.iter().enumerate().skip(self.from).filter(|(at, _)| !view.is_fixed(*at));
        let sized = bodies.filter_map(|(at, message)| Some((at, message, body_bytes(message)?)));
        let large = sized.filter(|(_, _, n_bytes)| *n_bytes > MIN_PREVIEW_BYTES);
        let known = large.filter_map(|(at, message, n_bytes)| {
            Some(Candidate { at, message, body: body(message)?, n_bytes, tokens: view.weight(at) })
        });
        known.collect()
    }
}

impl Pass for Preview {
    fn name(&self) -> &'static str {
        "preview"
    }

    fn plan(&self, view: &WeighedTranscript<'_>, goal: Goal<'_>) -> Option<Patch> {
        let excess = view.total_tokens().checked_sub(goal.target_tokens).filter(|excess| *excess > 0)?;
        let candidates = self.candidates(view);
        let cap = common_cap(&candidates, excess, view.counter.as_ref());
        let short = candidates.iter().filter(|candidate| candidate.saving(cap, view.counter.as_ref()) > 0);
        let edits: Vec<_> = short.map(|candidate| shorten(candidate, cap)).collect();
        (!edits.is_empty()).then_some(Patch { edits })
    }
}

/// Returns the largest cap in bytes that saves the excess, else the smallest allowed one.
///
/// Each try weighs the result, so that a second plan finds nothing to do.
fn common_cap(candidates: &[Candidate<'_>], excess: u64, counter: &dyn TokenCounter) -> usize {
    let saves = |cap: usize| candidates.iter().map(|body| body.saving(cap, counter)).sum::<u64>() >= excess;
    let (mut low, mut high) =
        (MIN_PREVIEW_BYTES, candidates.iter().map(|body| body.n_bytes).max().unwrap_or(0));
    if !saves(low) {
        return MIN_PREVIEW_BYTES;
    }
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if saves(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

/// The size of an image when bodies are compared: about its tokens in bytes of text.
const IMAGE_BYTES: usize = 3600;

fn body_bytes(message: &Message) -> Option<usize> {
    match message {
        Message::ToolResult { content, .. } => Some(content.iter().map(block_bytes).sum()),
        Message::BashExecution { output, .. } => Some(output.len()),
        _ => None,
    }
}

fn block_bytes(block: &Block) -> usize {
    match block {
        Block::Text { text } => text.len(),
        Block::Image { .. } => IMAGE_BYTES,
        _ => 0,
    }
}

fn shorten(candidate: &Candidate<'_>, cap: usize) -> Edit {
    Edit::Body { at: candidate.at, content: vec![Block::text(text::clip(&candidate.body, cap))] }
}

fn body(message: &Message) -> Option<Cow<'_, str>> {
    match message {
        Message::ToolResult { content, .. } => Some(shown_text(content)),
        Message::BashExecution { output, .. } => Some(Cow::Borrowed(output)),
        _ => None,
    }
}
