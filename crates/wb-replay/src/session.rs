//! A session as it was: its segments between native compactions, and the messages that it would have without any.

use crate::times::times_of;
use wb_formats::{Document, FormatError};
use wb_message::{Block, Message, ToolVocabulary, markers};
use wb_summarize::Facts;

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
    /// When something was written to its file, in milliseconds since the Unix epoch, in order.
    pub times_ms: Vec<i64>,
}

/// What the model saw between two native compactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// The messages, with what the compaction before had left.
    pub messages: Vec<Message>,
    /// How many of them a segment before has shown already, or stand for such.
    pub n_seen: usize,
}

impl Stretch {
    /// Returns how many messages it begins with that a compaction made.
    pub fn n_synthetic(&self) -> usize {
        n_synthetic(&self.messages)
    }

    /// Returns the messages that no segment before has shown.
    pub(crate) fn new_messages(&self) -> &[Message] {
        &self.messages[self.n_seen..]
    }
}

impl Session {
    /// Reads the conversation of a session that was written last, in any format that `wb-formats` knows.
    pub fn read(name: impl Into<String>, document: &dyn Document) -> Result<Self, FormatError> {
        let conversation = wb_formats::newest(document)?;
        let vocabulary = document.view(&conversation)?.vocabulary;
        Self::of_conversation(name, document, &conversation, vocabulary)
    }

    /// As [`Self::read`], for a conversation whose tools are known, since its view was read.
    pub fn of_conversation(
        name: impl Into<String>,
        document: &dyn Document,
        conversation: &str,
        vocabulary: ToolVocabulary,
    ) -> Result<Self, FormatError> {
        let segments = document.segments(conversation)?.into_iter().map(|segment| segment.messages);
        let segments = stretches(segments);
        let times_ms = times_of(document.parts())?;
        Ok(Self { name: name.into(), format: document.format().name(), segments, vocabulary, times_ms })
    }

    /// Builds a session of one segment.
    pub fn of(name: impl Into<String>, messages: Vec<Message>) -> Self {
        let segments = vec![Stretch { messages, n_seen: 0 }];
        let (vocabulary, times_ms) = (ToolVocabulary::UNIVERSAL, Vec::new());
        Self { name: name.into(), format: "native", segments, vocabulary, times_ms }
    }

    /// Visits what was said in order, as if nothing had ever been compacted.
    pub fn said(&self) -> impl Iterator<Item = &Message> {
        self.segments.iter().flat_map(Stretch::new_messages)
    }

    /// Collects what was said, as if nothing had ever been compacted.
    pub fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        self.said().for_each(|message| facts.take_in(message, &self.vocabulary));
        facts
    }

    /// Returns how often the agent itself has compacted the session, as far as the file tells.
    pub fn n_native(&self) -> usize {
        self.segments.len().saturating_sub(1)
    }
}

fn stretches(segments: impl Iterator<Item = Vec<Message>>) -> Vec<Stretch> {
    let mut all: Vec<Stretch> = Vec::new();
    for messages in segments {
        let n_seen = if all.is_empty() { 0 } else { n_seen(&messages, &all) };
        all.push(Stretch { messages, n_seen });
    }
    all
}

/// Returns how many messages are the digest of earlier ones or were kept: the longest run behind the digest with which
/// what was said before ends. A call that was in flight then may be gone with its message. An agent whose digest cannot be
/// read keeps chosen messages instead, from anywhere.
fn n_seen(messages: &[Message], before: &[Stretch]) -> usize {
    let n_synthetic = n_synthetic(messages);
    let rest = &messages[n_synthetic..];
    let said: Vec<&Message> = before.iter().flat_map(Stretch::new_messages).collect();
    let in_flight = usize::from(said.last().is_some_and(|last| last.calls().next().is_some()));
    let n_last = n_kept(&said, rest).max(n_kept(&said[..said.len() - in_flight], rest));
    let is_said = |new: &&Message| markers::is_pinned(new) || said.iter().any(|old| is_same(old, new));
    let n_chosen = if n_synthetic == 0 { rest.iter().take_while(is_said).count() } else { 0 };
    n_synthetic + n_last.max(n_chosen)
}

/// Returns the length of the longest run with which `said` ends and `rest` begins.
fn n_kept(said: &[&Message], rest: &[Message]) -> usize {
    let is_kept = |n: &usize| said[said.len() - n..].iter().zip(rest).all(|(old, new)| is_same(old, new));
    (1..=said.len().min(rest.len())).rev().find(is_kept).unwrap_or(0)
}

fn n_synthetic(messages: &[Message]) -> usize {
    messages.iter().take_while(|message| markers::is_synthetic(message)).count()
}

/// Returns whether a message is an earlier one; since then a result may have been cleared, or a call without a result
/// may have been left out.
fn is_same(old: &Message, new: &Message) -> bool {
    let is_cleared = || markers::is_cleared(old.blocks()) || markers::is_cleared(new.blocks());
    old == new
        || match (old, new) {
            (Message::ToolResult { .. }, Message::ToolResult { .. }) => {
                old.answered_ids().eq(new.answered_ids()) && is_cleared()
            }
            // A copy of a prompt may have lost its time.
            (Message::User { content: old, .. }, Message::User { content: new, .. }) => old == new,
            (Message::Assistant { .. }, Message::Assistant { .. }) => {
                let without_calls = old.blocks().iter().filter(|it| !matches!(it, Block::ToolCall { .. }));
                without_calls.eq(new.blocks())
            }
            _ => false,
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

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
    fn chosen_messages_that_an_agent_kept_without_a_digest_were_seen_before() {
        let first =
            [vec![Message::user("one")], step("a").into(), vec![Message::user("two")], step("b").into()];
        let system = Message::custom("developer", "Be brief.");
        let second = [Message::user("two"), Message::user("one"), system, Message::user("three")];
        let segments = stretches([first.concat(), second.to_vec()].into_iter());
        assert_eq!(segments[1].n_seen, 3);
    }

    #[test]
    fn a_segment_whose_results_were_cleared_begins_with_what_was_seen() {
        let first = [vec![Message::user("go")], step("a").into()].concat();
        let mut second = [first.clone(), step("b").into()].concat();
        second[2] = Message::tool_result("a", "Read", markers::CLEARED_TOOL_RESULT);
        let segments = stretches([first, second].into_iter());
        assert_eq!(segments[1].n_seen, 3);
    }
    /// A session file of pi whose compaction keeps all from the entry `kept` on.
    fn pi(before: &[Value], kept: usize, after: &[Value]) -> Session {
        let said = |(at, message): (usize, &Value)| json!({"type": "message", "id": format!("m{at}"), "parentId": parent(at), "message": message});
        let n = before.len();
        let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/"});
        let compaction = json!({"type": "compaction", "id": format!("m{n}"), "parentId": parent(n), "summary": "Done.",
            "firstKeptEntryId": format!("m{kept}"), "tokensBefore": 9});
        let all = before.iter().enumerate().map(said);
        let rest = after.iter().enumerate().map(|(at, message)| said((n + 1 + at, message)));
        let lines = std::iter::once(header).chain(all).chain([compaction]).chain(rest);
        let file = lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
        let document = wb_formats::open(Box::new(wb_record::MemoryParts::of(file))).unwrap();
        Session::read("s", document.as_ref()).unwrap()
    }

    fn parent(at: usize) -> Option<String> {
        at.checked_sub(1).map(|before| format!("m{before}"))
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text, "timestamp": 0})
    }

    /// A call and its result, with an id that the agent uses again for each.
    fn call_0(file: &str) -> [Value; 2] {
        let call = json!({"type": "toolCall", "id": "call_0", "name": "read", "arguments": {"path": file}});
        let result = json!([{"type": "text", "text": file}]);
        [
            json!({"role": "assistant", "content": [call], "timestamp": 0}),
            json!({"role": "toolResult", "toolCallId": "call_0", "toolName": "read", "content": result, "timestamp": 0}),
        ]
    }

    #[test]
    fn a_call_id_that_is_used_again_does_not_make_a_new_prompt_seen() {
        let before = [vec![user("old")], call_0("a").into()].concat();
        let after = [vec![user("brand new")], call_0("b").into()].concat();
        let session = pi(&before, 99, &after);
        assert_eq!((session.segments[1].messages.len(), session.segments[1].n_seen), (4, 1));
    }

    #[test]
    fn a_kept_message_without_tool_calls_is_said_once() {
        let session = pi(&[user("old"), user("kept one")], 1, &[user("new")]);
        let said: Vec<_> = session.said().map(crate::body).collect();
        assert_eq!(said, ["old", "kept one", "new"]);
    }

    #[test]
    fn what_was_kept_of_two_compactions_was_seen_before() {
        let summary = || Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let first = [Message::user("one"), Message::user("two")];
        let second = [summary(), first[1].clone(), Message::user("three")];
        let third = [summary(), first[1].clone(), second[2].clone(), Message::user("four")];
        let segments = stretches([first.to_vec(), second.to_vec(), third.to_vec()].into_iter());
        assert_eq!((segments[1].n_seen, segments[2].n_seen, segments[2].n_synthetic()), (2, 3, 1));
    }
    #[test]
    fn a_kept_answer_may_have_lost_a_call_that_was_in_flight() {
        let call = Block::call("a", "Read", json!({}));
        let said = |blocks: &[Block]| Message::assistant_blocks(blocks.to_vec());
        let (full, bare) = (said(&[Block::text("Well."), call.clone()]), said(&[Block::text("Well.")]));
        for (last, left) in [(full, vec![bare]), (said(&[call]), vec![])] {
            let first = vec![Message::user("go"), last];
            let second = [vec![Message::user("go")], left, vec![Message::user("and?")]].concat();
            let segments = stretches([first, second.clone()].into_iter());
            assert_eq!(segments[1].n_seen, second.len() - 1);
        }
    }
}
