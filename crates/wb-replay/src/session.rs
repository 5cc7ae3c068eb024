//! A session as it was: its segments between native compactions, and the messages that it would have without any.

use std::collections::HashSet;

use wb_formats::FormatError;
use wb_message::{Message, ToolVocabulary, markers};

/// A session that was read whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Session {
    /// The name that the caller gave it.
    pub name: String,
    /// The format of its file.
    pub format: &'static str,
    /// Its segments in order; a session that was never compacted has one.
    pub segments: Vec<Stretch>,
    /// How its agent calls its tools.
    pub vocabulary: ToolVocabulary,
}

/// What the model saw between two native compactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The messages, with what the compaction before had left.
    pub messages: Vec<Message>,
    /// How many of them a segment before has shown already, or stand for such.
    pub n_seen: usize,
}

impl Session {
    /// Reads a session of any format that `wb-formats` knows from the bytes of its file.
    pub fn read(name: impl Into<String>, bytes: &[u8]) -> Result<Self, FormatError> {
        let whole = wb_formats::read(&mut &*bytes)?;
        let segments = wb_formats::segments(&mut &*bytes)?;
        let segments = stretches(segments.map(|segment| segment.messages));
        Ok(Self { name: name.into(), format: whole.format, segments, vocabulary: whole.vocabulary })
    }

    /// Builds a session of one segment.
    pub fn of(name: impl Into<String>, messages: Vec<Message>) -> Self {
        let segments = vec![Stretch { messages, n_seen: 0 }];
        Self { name: name.into(), format: "native", segments, vocabulary: ToolVocabulary::UNIVERSAL }
    }

    /// Visits what was said in order, as if nothing had ever been compacted.
    pub fn said(&self) -> impl Iterator<Item = &Message> {
        self.segments.iter().flat_map(|segment| &segment.messages[segment.n_seen..])
    }

    /// Returns how often the agent itself has compacted the session, as far as the file tells.
    pub fn n_native(&self) -> usize {
        self.segments.len().saturating_sub(1)
    }
}

fn stretches(segments: impl Iterator<Item = Vec<Message>>) -> Vec<Stretch> {
    let (mut all, mut known) = (Vec::new(), HashSet::new());
    for messages in segments {
        let n_seen = if all.is_empty() { 0 } else { n_seen(&messages, &known) };
        known.extend(messages.iter().flat_map(ids).map(str::to_owned));
        all.push(Stretch { messages, n_seen });
    }
    all
}

/// Returns how many messages stand up to the last one that was there before, or the digest of such.
fn n_seen(messages: &[Message], known: &HashSet<String>) -> usize {
    let n_digests = messages.iter().take_while(|message| markers::digest_body(message).is_some()).count();
    let was_there = |message: &Message| ids(message).any(|id| known.contains(id));
    messages.iter().rposition(was_there).map_or(n_digests, |at| n_digests.max(at + 1))
}

/// Visits the ids of the calls that a message makes or answers.
fn ids(message: &Message) -> impl Iterator<Item = &str> {
    message.calls().map(|(id, _, _)| id).chain(message.answered_ids())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wb_message::Block;

    fn step(id: &str) -> [Message; 2] {
        let call = Block::call(id, "Read", json!({}));
        [Message::assistant_blocks(vec![call]), Message::tool_result(id, "Read", "body")]
    }

    #[test]
    fn what_a_native_compaction_left_was_seen_before() {
        let summary = Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let first = [vec![Message::user("go")], step("a").into(), step("b").into()].concat();
        let second =
            [vec![summary], step("b").into(), vec![Message::user("more")], step("c").into()].concat();
        let segments = stretches([first.clone(), second.clone()].into_iter());
        assert_eq!((segments[0].n_seen, segments[1].n_seen), (0, 3));
        let session = Session { segments, ..Session::of("s", Vec::new()) };
        let said: Vec<Message> = session.said().cloned().collect();
        assert_eq!(said, [first, second[3..].to_vec()].concat());
        assert_eq!(session.n_native(), 1);
    }

    #[test]
    fn a_segment_whose_results_were_cleared_begins_with_what_was_seen() {
        let first = [vec![Message::user("go")], step("a").into()].concat();
        let mut second = [first.clone(), step("b").into()].concat();
        second[2] = Message::tool_result("a", "Read", markers::CLEARED_TOOL_RESULT);
        let segments = stretches([first, second].into_iter());
        assert_eq!(segments[1].n_seen, 3);
    }
}
