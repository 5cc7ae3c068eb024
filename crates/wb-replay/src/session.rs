//! A session as it was: its segments between native compactions, and the messages that it would have without any.

use crate::messages_before::Said;
use crate::times::times_of;
use wb_facts::Facts;
use wb_formats::{Document, FormatError};
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
    pub fn new_messages(&self) -> &[Message] {
        &self.messages[self.n_seen..]
    }
}

impl Session {
    /// Reads the conversation of a session that was written last, in any format that `wb-formats` knows.
    pub fn read(name: impl Into<String>, document: &dyn Document) -> Result<Self, FormatError> {
        let conversation = wb_formats::newest(document)?;
        let vocabulary = document.view(&conversation)?.vocabulary;
        let segments = stretches(document, &conversation)?.collect::<Result<_, _>>()?;
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

    /// Returns how often the agent itself has compacted the session, as far as the file tells.
    pub fn n_native(&self) -> usize {
        self.segments.len().saturating_sub(1)
    }
}

/// Reads a conversation as it was, one stretch after another; of those before no more is held than what tells their messages.
pub fn stretches<'a>(
    document: &'a dyn Document,
    conversation: &str,
) -> Result<impl Iterator<Item = Result<Stretch, FormatError>> + use<'a>, FormatError> {
    let mut said = Said::default();
    let segments = document.segments(conversation)?;
    Ok(segments.map(move |segment| Ok(stretch(segment?.messages, &mut said))))
}

/// Collects what was said in a conversation, as if nothing had ever been compacted; its messages are read one stretch
/// after another.
pub fn facts_of(
    document: &dyn Document,
    conversation: &str,
    vocabulary: &ToolVocabulary,
) -> Result<Facts, FormatError> {
    let mut facts = Facts::default();
    for stretch in stretches(document, conversation)? {
        stretch?.new_messages().iter().for_each(|message| facts.take_in(message, vocabulary));
    }
    Ok(facts)
}

fn stretch(messages: Vec<Message>, said: &mut Said) -> Stretch {
    let n_seen = if said.is_begun() {
        let n_synthetic = n_synthetic(&messages);
        n_synthetic + said.n_seen(&messages[n_synthetic..], n_synthetic > 0)
    } else {
        0
    };
    said.take_in(&messages[n_seen..]);
    Stretch { messages, n_seen }
}

fn n_synthetic(messages: &[Message]) -> usize {
    messages.iter().take_while(|message| markers::is_synthetic(message)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use wb_message::Block;

    fn stretches(segments: impl Iterator<Item = Vec<Message>>) -> Vec<Stretch> {
        let mut said = Said::default();
        segments.map(|messages| stretch(messages, &mut said)).collect()
    }

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
