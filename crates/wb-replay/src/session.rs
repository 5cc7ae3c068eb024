//! Past sessions: their segments between native compactions, and their messages without any.

use crate::message_log::MessageLog;
use crate::times::read_times;
use wb_facts::Facts;
use wb_formats::{Document, FormatError};
use wb_message::Aside;
use wb_message::{Message, ToolVocabulary, markers};

/// A past session.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Session {
    /// The name given by the caller.
    pub name: String,
    /// The format of its file.
    pub format: &'static str,
    /// The segments in order; a session that was never compacted has one.
    pub segments: Vec<Segment>,
    /// The names of the agent's tools.
    pub vocabulary: ToolVocabulary,
    /// The times of writes to its file, in milliseconds since the Unix epoch, in order.
    pub times_ms: Vec<i64>,
}

/// The context between two native compactions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// The messages, starting with those that the last compaction left.
    pub messages: Vec<Message>,
    /// The number of leading messages that repeat or replace those of earlier segments.
    pub n_seen: usize,
    /// The user's words that no message has, in order.
    pub asides: Vec<Aside>,
}

impl Segment {
    /// Takes in the words that no message has between two messages.
    pub fn observe_asides(&self, n_before: usize, facts: &mut Facts) {
        let asides = self.asides.iter().filter(|aside| aside.n_before == n_before);
        asides.for_each(|aside| facts.observe_aside(&aside.words));
    }

    /// Returns the number of leading messages that a compaction generated.
    pub fn n_synthetic(&self) -> usize {
        n_synthetic(&self.messages)
    }

    /// Returns the messages that no earlier segment contains.
    pub fn new_messages(&self) -> &[Message] {
        &self.messages[self.n_seen..]
    }
}

impl Session {
    /// Reads the newest conversation of a session, in any format of `wb-formats`.
    pub fn read(name: impl Into<String>, document: &dyn Document) -> Result<Self, FormatError> {
        let conversation = wb_formats::newest(document)?;
        let vocabulary = document.view(&conversation)?.vocabulary;
        let segments = segments(document, &conversation)?.collect::<Result<_, _>>()?;
        let times_ms = read_times(document.parts())?;
        Ok(Self { name: name.into(), format: document.format().name(), segments, vocabulary, times_ms })
    }

    /// Creates a session of one segment.
    pub fn new(name: impl Into<String>, messages: Vec<Message>) -> Self {
        let segments = vec![Segment { messages, ..Segment::default() }];
        let (vocabulary, times_ms) = (ToolVocabulary::UNIVERSAL, Vec::new());
        Self { name: name.into(), format: "native", segments, vocabulary, times_ms }
    }

    /// Returns the messages in order, as if nothing had ever been compacted.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.segments.iter().flat_map(Segment::new_messages)
    }

    /// Returns the number of native compactions that the file shows.
    pub fn n_native(&self) -> usize {
        self.segments.len().saturating_sub(1)
    }
}

/// Reads the segments of a conversation one at a time; only fingerprints of earlier messages are
/// held.
pub fn segments<'a>(
    document: &'a dyn Document,
    conversation: &str,
) -> Result<impl Iterator<Item = Result<Segment, FormatError>> + use<'a>, FormatError> {
    let mut log = MessageLog::default();
    let segments = document.segments(conversation)?;
    Ok(segments.map(move |segment| {
        let segment = segment?;
        Ok(Segment { asides: segment.asides, ..next_segment(segment.messages, &mut log) })
    }))
}

/// Adds those of a conversation to the facts, as if nothing had ever been compacted; segments are
/// read one at a time.
pub fn collect_facts(
    mut facts: Facts,
    document: &dyn Document,
    conversation: &str,
    vocabulary: &ToolVocabulary,
) -> Result<Facts, FormatError> {
    for segment in segments(document, conversation)? {
        let segment = segment?;
        for (at, message) in segment.messages.iter().enumerate() {
            segment.observe_asides(at, &mut facts);
            if at >= segment.n_seen {
                facts.observe(message, vocabulary);
            } else if let Some(summary) = markers::digest_body(message) {
                facts.observe_host_summary(&summary);
            }
        }
        segment.observe_asides(segment.messages.len(), &mut facts);
    }
    Ok(facts)
}

fn next_segment(messages: Vec<Message>, log: &mut MessageLog) -> Segment {
    let n_seen = if log.is_begun() {
        // Some agents repeat system texts before the digest.
        let n_before = if n_synthetic(&messages) > 0 { 0 } else { log.n_known(&messages) };
        let n_synthetic = n_synthetic(&messages[n_before..]);
        let n_before = if n_synthetic > 0 { n_before + n_synthetic } else { 0 };
        n_before + log.n_seen(&messages[n_before..], n_before > 0)
    } else {
        0
    };
    log.add(&messages[n_seen..]);
    Segment { messages, n_seen, asides: Vec::new() }
}

fn n_synthetic(messages: &[Message]) -> usize {
    messages.iter().take_while(|message| markers::is_synthetic(message)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use wb_message::Block;

    fn segments(segments: impl Iterator<Item = Vec<Message>>) -> Vec<Segment> {
        let mut log = MessageLog::default();
        segments.map(|messages| next_segment(messages, &mut log)).collect()
    }

    fn step(id: &str) -> [Message; 2] {
        let call = Block::call(id, "Read", json!({}));
        [Message::assistant_blocks(vec![call]), Message::tool_result(id, "Read", "body")]
    }

    #[test]
    fn messages_kept_by_a_native_compaction_are_seen() {
        let summary = Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let first = [vec![Message::user("go")], step("a").into(), step("b").into()].concat();
        let second =
            [vec![summary], step("b").into(), vec![Message::user("more")], step("c").into()].concat();
        let segments = segments([first.clone(), second.clone()].into_iter());
        assert_eq!((segments[0].n_seen, segments[1].n_seen), (0, 3));
        let session = Session { segments, ..Session::new("s", Vec::new()) };
        let messages: Vec<Message> = session.messages().cloned().collect();
        assert_eq!(messages, [first, second[3..].to_vec()].concat());
        assert_eq!(session.n_native(), 1);
    }

    #[test]
    fn an_answer_that_was_completed_after_a_compaction_is_one_message() {
        let summary = Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let answer =
            |calls: Vec<Block>| Message::assistant_blocks([vec![Block::text("I read on.")], calls].concat());
        let first = [vec![Message::user("go")], step("a").into(), vec![answer(Vec::new())]].concat();
        let call = answer(vec![Block::call("b", "Read", json!({}))]);
        let rest = vec![call, Message::tool_result("b", "Read", "body"), Message::user("more")];
        let second = [vec![summary], step("a").into(), rest].concat();
        let third = [second.clone(), step("c").into()].concat();
        let segments = segments([first, second.clone(), third].into_iter());
        assert_eq!((segments[1].n_seen, segments[2].n_seen), (3, second.len()));
    }

    #[test]
    fn kept_results_that_a_compaction_shortened_are_seen() {
        let summary = Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let last = [vec![Message::user("more")], step("b").into(), step("c").into()].concat();
        let first = [vec![Message::user("go")], step("a").into(), last.clone()].concat();
        let mut kept = last;
        kept[2] = Message::tool_result("b", "Read", format!("body{}end", markers::CLIP_MARK));
        let second = [vec![summary], kept, vec![Message::assistant("Done.")]].concat();
        let segments = segments([first, second].into_iter());
        assert_eq!(segments[1].n_seen, 6);
    }

    #[test]
    fn messages_kept_behind_repeated_system_texts_and_a_digest_are_seen() {
        let system = || Message::custom("developer", "Be brief.");
        let rules = || Message::user("The rules of the project.");
        let summary = Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let first =
            [vec![system(), rules(), Message::user("go")], step("a").into(), step("b").into()].concat();
        let second =
            [vec![system(), rules(), summary], step("b").into(), vec![Message::user("more")]].concat();
        let segments = segments([first, second].into_iter());
        assert_eq!(segments[1].n_seen, 5);
    }

    #[test]
    fn messages_kept_without_a_digest_are_seen() {
        let first =
            [vec![Message::user("one")], step("a").into(), vec![Message::user("two")], step("b").into()];
        let system = Message::custom("developer", "Be brief.");
        let second = [Message::user("two"), Message::user("one"), system, Message::user("three")];
        let segments = segments([first.concat(), second.to_vec()].into_iter());
        assert_eq!(segments[1].n_seen, 3);
    }

    #[test]
    fn messages_with_cleared_results_are_seen() {
        let first = [vec![Message::user("go")], step("a").into()].concat();
        let mut second = [first.clone(), step("b").into()].concat();
        second[2] = Message::tool_result("a", "Read", markers::CLEARED_TOOL_RESULT);
        let segments = segments([first, second].into_iter());
        assert_eq!(segments[1].n_seen, 3);
    }
    /// A pi session whose compaction keeps the entries from `kept` on.
    fn pi(before: &[Value], kept: usize, after: &[Value]) -> Session {
        let entry = |(at, message): (usize, &Value)| json!({"type": "message", "id": format!("m{at}"), "parentId": parent(at), "message": message});
        let n = before.len();
        let header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2025-01-01T00:00:00.000Z", "cwd": "/"});
        let compaction = json!({"type": "compaction", "id": format!("m{n}"), "parentId": parent(n), "summary": "Done.",
            "firstKeptEntryId": format!("m{kept}"), "tokensBefore": 9});
        let all = before.iter().enumerate().map(entry);
        let rest = after.iter().enumerate().map(|(at, message)| entry((n + 1 + at, message)));
        let lines = std::iter::once(header).chain(all).chain([compaction]).chain(rest);
        let file = lines.map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
        let document = wb_formats::open(Box::new(wb_record::MemoryParts::from_bytes(file))).unwrap();
        Session::read("s", document.as_ref()).unwrap()
    }

    fn parent(at: usize) -> Option<String> {
        at.checked_sub(1).map(|before| format!("m{before}"))
    }

    fn user(text: &str) -> Value {
        json!({"role": "user", "content": text, "timestamp": 0})
    }

    /// A call and its result, with an id that the agent reuses.
    fn call_0(file: &str) -> [Value; 2] {
        let call = json!({"type": "toolCall", "id": "call_0", "name": "read", "arguments": {"path": file}});
        let result = json!([{"type": "text", "text": file}]);
        [
            json!({"role": "assistant", "content": [call], "timestamp": 0}),
            json!({"role": "toolResult", "toolCallId": "call_0", "toolName": "read", "content": result, "timestamp": 0}),
        ]
    }

    #[test]
    fn a_reused_call_id_does_not_make_a_new_prompt_seen() {
        let before = [vec![user("old")], call_0("a").into()].concat();
        let after = [vec![user("brand new")], call_0("b").into()].concat();
        let session = pi(&before, 99, &after);
        assert_eq!((session.segments[1].messages.len(), session.segments[1].n_seen), (4, 1));
    }

    #[test]
    fn a_kept_message_without_tool_calls_is_returned_once() {
        let session = pi(&[user("old"), user("kept one")], 1, &[user("new")]);
        let messages: Vec<_> = session.messages().map(crate::body).collect();
        assert_eq!(messages, ["old", "kept one", "new"]);
    }

    #[test]
    fn messages_kept_by_two_compactions_are_seen() {
        let summary = || Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let first = [Message::user("one"), Message::user("two")];
        let second = [summary(), first[1].clone(), Message::user("three")];
        let third = [summary(), first[1].clone(), second[2].clone(), Message::user("four")];
        let segments = segments([first.to_vec(), second.to_vec(), third.to_vec()].into_iter());
        assert_eq!((segments[1].n_seen, segments[2].n_seen, segments[2].n_synthetic()), (2, 3, 1));
    }

    #[test]
    fn messages_that_an_agent_chose_are_seen_in_front_of_the_run_that_was_kept() {
        let summary = || Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let system = Message::custom("developer", "Be brief.");
        let go = Message::user("go");
        let first = [vec![system.clone(), go.clone()], step("a").into(), step("b").into()].concat();
        let kept = [vec![summary(), system, go.clone()], step("b").into()].concat();
        let found = segments([first.clone(), kept.clone()].into_iter());
        assert_eq!(found[1].n_seen, kept.len());
        let again = vec![summary(), go, Message::assistant("Gone.")];
        assert_eq!(segments([first, again].into_iter())[1].n_seen, 1, "the user says the same again");
    }

    #[test]
    fn messages_before_an_answer_that_was_not_complete_are_seen() {
        let summary = Message::CompactionSummary { summary: "They read.".into(), tokens_before: 9 };
        let [call, result] = step("a");
        let thought = Block::Thinking { text: "Hm.".into(), signature: None };
        let whole = Message::assistant_blocks([std::slice::from_ref(&thought), call.blocks()].concat());
        let begun = [Message::user("go"), Message::assistant_blocks(vec![thought])];
        let segments = segments(
            [begun.to_vec(), vec![summary, begun[0].clone(), whole, result, Message::user("more")]]
                .into_iter(),
        );
        assert_eq!(segments[1].n_seen, 2);
    }
    #[test]
    fn a_kept_answer_may_have_lost_a_call_that_was_in_flight() {
        let call = Block::call("a", "Read", json!({}));
        let answer = |blocks: &[Block]| Message::assistant_blocks(blocks.to_vec());
        let (full, bare) = (answer(&[Block::text("Well."), call.clone()]), answer(&[Block::text("Well.")]));
        for (last, left) in [(full, vec![bare]), (answer(&[call]), vec![])] {
            let first = vec![Message::user("go"), last];
            let second = [vec![Message::user("go")], left, vec![Message::user("and?")]].concat();
            let segments = segments([first, second.clone()].into_iter());
            assert_eq!(segments[1].n_seen, second.len() - 1);
        }
    }
}
