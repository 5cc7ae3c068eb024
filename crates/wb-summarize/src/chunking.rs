//! Fits the summarizer's input into its own window: bodies clipped first, then several requests.

use std::borrow::Borrow;
use std::ops::Range;

use wb_budget::{ModelCard, TokenHeuristic};
use wb_message::Message;
use wb_message::text::clip_lines;

use crate::flatten::{Flattener, MIN_BODY_BYTES};

/// The window, in tokens, that is assumed if a summarizer's is unknown.
pub const ASSUMED_WINDOW_TOKENS: u64 = 128_000;

/// The part of a window that an estimate may fill: real text of code and logs was measured at about
/// 2.6 bytes per token where the estimate says 3.6.
const SAFE_RATIO: (u64, u64) = (7, 10);

/// Bytes of the brief, the framing, the fences and the headings, rounded up.
const FRAME_BYTES: usize = 2_000;

/// Longest bodies in bytes that are tried in turn before a transcript is sent in several requests.
const BODY_STEPS: [usize; 5] = [usize::MAX, 16_000, 8_000, 4_000, 2_000];

/// The bytes of input that one request may carry: a transcript, and what is carried from before it.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    bytes: usize,
}

impl Room {
    /// Measures the room of the model's window next to a reply; without a card a window is assumed.
    pub fn new(card: Option<&ModelCard>, max_output_tokens: u64) -> Self {
        let window = card.map(|card| card.context_window).filter(|window| *window > 0);
        let window = window.unwrap_or(ASSUMED_WINDOW_TOKENS);
        let tokens = window.saturating_sub(max_output_tokens) / SAFE_RATIO.1 * SAFE_RATIO.0;
        Self { bytes: TokenHeuristic::DEFAULT.chars_within(tokens).saturating_sub(FRAME_BYTES) }
    }

    /// Returns the room for the transcript next to `carried` bytes; it is never zero.
    pub fn transcript_bytes(self, carried_bytes: usize) -> usize {
        self.bytes.saturating_sub(carried_bytes).max(MIN_BODY_BYTES)
    }

    /// Returns the most bytes that may be carried: half of the room.
    pub fn half(self) -> usize {
        self.transcript_bytes(0) / 2
    }

    /// Returns the room reserved for the text that each part carries: the larger of the first
    /// part's and a reply's bytes, but at most half of the room.
    pub fn carried_bytes(self, carried: Option<&str>, reply_bytes: usize) -> usize {
        carried.map_or(0, str::len).max(reply_bytes.min(self.half()))
    }
}

/// Renders messages for a summarizer as one text, or as several if they do not fit into one request
/// of `max_bytes` bytes even with clipped bodies.
pub fn transcript_parts<M: Borrow<Message>>(messages: &[M], max_bytes: usize) -> Vec<String> {
    for max_body in BODY_STEPS {
        let flattener = Flattener::guarded(max_body.min(max_bytes));
        let hint = flattener.rendered_hint(messages);
        if hint <= max_bytes {
            let mut whole = String::with_capacity(hint);
            flattener.flatten(&mut whole, messages);
            if whole.len() <= max_bytes {
                return vec![whole];
            }
        }
    }
    let flattener = Flattener::guarded(BODY_STEPS[4].min(max_bytes));
    let render = |range: Range<usize>| {
        let messages = &messages[range];
        let mut part = String::with_capacity(flattener.rendered_hint(messages));
        flattener.flatten(&mut part, messages);
        clip_lines(part, max_bytes)
    };
    chunks(messages, flattener, max_bytes).into_iter().map(render).collect()
}

/// Divides messages into runs that render to about `max_bytes` bytes each.
fn chunks<M: Borrow<Message>>(messages: &[M], flattener: Flattener, max_bytes: usize) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut size) = (0, 0);
    for (at, message) in messages.iter().enumerate() {
        let hint = flattener.rendered_hint(std::slice::from_ref(message));
        if size + hint > max_bytes && at > start {
            ranges.push(start..at);
            (start, size) = (at, 0);
        }
        size += hint;
    }
    ranges.push(start..messages.len());
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_sent_whole_in_one_request() {
        let messages = [Message::user("hello"), Message::assistant("hi")];
        assert_eq!(transcript_parts(&messages, 10_000), ["» you: hello\n» agent: hi"]);
    }

    #[test]
    fn giant_bodies_are_clipped_before_the_transcript_is_divided() {
        let messages = [Message::tool_result("c", "bash", "x".repeat(2_000_000)), Message::user("and?")];
        let texts = transcript_parts(&messages, 100_000);
        assert_eq!(texts.len(), 1);
        assert!(texts[0].len() <= 100_000 && texts[0].ends_with("» you: and?"));
    }

    #[test]
    fn every_request_fits_and_every_message_is_sent() {
        let messages: Vec<_> =
            (0..300).map(|n| Message::user(format!("{n:04} {}", "y".repeat(3_600)))).collect();
        let texts = transcript_parts(&messages, 50_000);
        assert!(texts.len() > 1 && texts.iter().all(|text| text.len() <= 50_000));
        let joined = texts.concat();
        assert!((0..300).all(|n| joined.contains(&format!("» you: {n:04} "))));
    }

    #[test]
    fn an_unknown_window_is_assumed_and_a_tiny_one_leaves_room_for_something() {
        assert!(Room::new(None, 2_000).transcript_bytes(0) > 300_000);
        assert_eq!(Room::new(Some(&ModelCard::with_window(100)), 2_000).transcript_bytes(0), MIN_BODY_BYTES);
    }
}
