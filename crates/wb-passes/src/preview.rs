//! Shortens giant tool bodies to their head and tail.

use wb_budget::View;
use wb_message::{Block, Edit, Message, Patch, text};

use crate::pass::{Goal, Pass};

/// No body is shortened below this many bytes.
pub const MIN_PREVIEW_BYTES: usize = 240;

/// Shortens the largest bodies of tool results and shell outputs, all to one length, until the transcript fits.
///
/// Nothing before `from` is touched, nor anything that a user or the model wrote.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preview {
    /// The first message that may be shortened.
    pub from: usize,
}

/// A body that may be shortened: where it stands, its bytes and its weight.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    at: usize,
    n_bytes: usize,
    tokens: u64,
}

impl Candidate {
    /// Estimates the tokens that shortening to `cap` bytes saves; a few are left for the mark.
    fn saving(&self, cap: usize) -> u64 {
        if self.n_bytes <= cap {
            return 0;
        }
        let kept = u128::from(self.tokens) * cap as u128 / self.n_bytes as u128;
        self.tokens.saturating_sub(u64::try_from(kept).unwrap_or(u64::MAX).saturating_add(2))
    }
}

impl Preview {
    fn candidates(self, view: View<'_>) -> Vec<Candidate> {
        let bodies = view.messages.iter().enumerate().skip(self.from);
        let sized = bodies.filter_map(|(at, message)| Some((at, body_bytes(message)?)));
        let large = sized.filter(|(_, n_bytes)| *n_bytes > MIN_PREVIEW_BYTES);
        large.map(|(at, n_bytes)| Candidate { at, n_bytes, tokens: view.weight(at) }).collect()
    }
}

impl Pass for Preview {
    fn name(&self) -> &'static str {
        "preview"
    }

    fn plan(&self, view: View<'_>, goal: Goal<'_>) -> Option<Patch> {
        let excess = view.total_tokens().checked_sub(goal.target_tokens).filter(|excess| *excess > 0)?;
        let candidates = self.candidates(view);
        let cap = common_cap(&candidates, excess);
        let short = candidates.iter().filter(|body| body.n_bytes > cap && body.saving(cap) > 0);
        let edits: Vec<_> = short.filter_map(|body| shorten(body.at, &view.messages[body.at], cap)).collect();
        (!edits.is_empty()).then_some(Patch { edits })
    }
}

/// Returns the largest cap in bytes that saves the excess, or the smallest one allowed.
fn common_cap(candidates: &[Candidate], excess: u64) -> usize {
    let saves = |cap: usize| candidates.iter().map(|body| body.saving(cap)).sum::<u64>() >= excess;
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

/// Stands for an image in a shortened body; an image cannot be shortened.
const IMAGE_MARK: &str = "[image]";
/// What an image counts as when bodies are compared, about its tokens in bytes of text.
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

fn shorten(at: usize, message: &Message, cap: usize) -> Option<Edit> {
    let body = match message {
        Message::ToolResult { content, .. } => joined(content),
        Message::BashExecution { output, .. } => output.clone(),
        _ => return None,
    };
    Some(Edit::Body { at, content: vec![Block::text(text::clip(&body, cap))] })
}

fn joined(content: &[Block]) -> String {
    let shown = content.iter().filter_map(|block| match block {
        Block::Text { text } => Some(text.as_str()),
        Block::Image { .. } => Some(IMAGE_MARK),
        _ => None,
    });
    shown.collect::<Vec<_>>().join("\n")
}
