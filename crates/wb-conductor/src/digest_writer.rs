//! [`DigestWriter`] renders a digest within its bound, so that the steps planned after it stay
//! right.

use std::borrow::Cow;
use std::sync::Arc;

use wb_budget::{TokenCounter, TokenHeuristic};
use wb_digest::redact;
use wb_facts::Facts;
use wb_message::Message;
use wb_message::markers::{is_opaque, is_synthetic};
use wb_summarize::{CondenseScope, digest_message};

/// The bound of a digest, and what its message needs.
#[derive(Clone)]
pub(crate) struct DigestWriter {
    pub(crate) max_tokens: u64,
    /// The characters of the floor: words may be sparse, and more of them fit than estimated.
    pub(crate) floor_chars: usize,
    pub(crate) timestamp: i64,
    pub(crate) counter: Arc<dyn TokenCounter>,
    pub(crate) credentials: Credentials,
}

/// The treatment of credentials in a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// Each becomes a mark.
    Marked,
    Kept,
}

/// The characters of the headings and of what each digest says of itself, rounded up.
const FRAME_CHARS: usize = 400;

impl DigestWriter {
    /// Renders shorter and shorter until the message is within its bound; returns it with the
    /// number of redacted credentials.
    pub(crate) fn fit(&self, render: impl Fn(usize) -> String) -> (Message, usize) {
        let with_floor = if self.floor_chars > 0 { self.floor_chars + FRAME_CHARS } else { 0 };
        let mut max_chars = TokenHeuristic::DEFAULT.chars_within(self.max_tokens).max(with_floor);
        loop {
            let (text, n_redacted) = self.redacted(render(max_chars));
            let message = digest_message(CondenseScope::Session, text, self.timestamp);
            if max_chars < 16 || self.counter.message(&message) <= self.max_tokens {
                return (message, n_redacted);
            }
            max_chars -= max_chars / 16 + 1;
        }
    }

    fn redacted(&self, text: String) -> (String, usize) {
        if self.credentials == Credentials::Kept {
            return (text, 0);
        }
        let found = redact(&text);
        let (redacted, n) = (matches!(found.text, Cow::Owned(_)).then(|| found.text.into_owned()), found.n);
        (redacted.unwrap_or(text), n)
    }
}

/// Maps message numbers of `Facts` to transcript indices (both end at the same message), for a
/// question about the line of a message.
///
/// If the facts include messages of before a compaction, only what follows that compaction has the
/// same order in both; a request that it left in front of its digest is known by its
/// text.
pub(crate) fn by_message_number<'s>(
    facts: &Facts,
    messages: &[&Message],
    has_line: &'s dyn Fn(usize, &str) -> bool,
) -> impl Fn(u32, &str) -> bool + use<'s> {
    let n_before = i64::from(facts.n_messages()) - i64::try_from(messages.len()).unwrap_or(i64::MAX);
    let is_compacted = |message: &&Message| is_synthetic(message) || is_opaque(message);
    let last = if n_before > 0 { messages.iter().rposition(is_compacted) } else { None };
    let first = last.map_or(0, |last| last + 1);
    let in_front: Vec<(u32, usize)> =
        (0..first).filter_map(|at| Some((facts.number_of(messages[at])?, at))).collect();
    move |message, line| {
        let at = usize::try_from(i64::from(message) - n_before);
        at.is_ok_and(|at| at >= first && has_line(at, line))
            || in_front.iter().any(|(number, at)| *number == message && has_line(*at, line))
    }
}

#[cfg(test)]
mod tests {
    use wb_message::ToolVocabulary;
    use wb_message::markers::OPAQUE_TYPE;

    use super::*;

    #[test]
    fn messages_before_a_compaction_are_found_by_their_text_alone() {
        let read: Vec<Message> = (0..6).map(|n| Message::user(format!("Part {n}."))).collect();
        let facts = Facts::without_words().with_messages(&read, &ToolVocabulary::default());
        let has_line = |_: usize, _: &str| true;
        let found = |messages: &[&Message]| -> Vec<u32> {
            let shows = by_message_number(&facts, messages, &has_line);
            (0..6).filter(|at| shows(*at, "")).collect()
        };
        let all: Vec<&Message> = read.iter().collect();
        assert_eq!(found(&all), [0, 1, 2, 3, 4, 5]);
        // The host kept what was asked, put its rules in between, and went on.
        let (rules, data) = (Message::custom("developer", "Be brief."), Message::custom(OPAQUE_TYPE, "..."));
        assert_eq!(found(&[&read[3], &rules, &data, &read[4], &read[5]]), [3, 4, 5]);
    }
}
