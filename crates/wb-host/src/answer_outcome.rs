//! How the last answer of a session ended.

use wb_budget::ModelCard;
use wb_message::Message;
use wb_session::{
    Entry, EntryId, EntryKind, EntryTag, Logged, Node, Request, Session, SessionError, StopReason,
};

use crate::overflow::{is_full, is_overflow};

/// How an answer ended, as far as the context is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerOutcome {
    /// It answers.
    Answered,
    /// The context was too large to be answered.
    Overflowed,
    /// It failed for another reason, or another model gave it.
    Other,
}

/// Returns the last entry that the model sees, if that is an answer, and how it ended.
pub(crate) fn last_answer(
    session: &Session,
    card: &ModelCard,
) -> Result<Option<(Entry, AnswerOutcome)>, SessionError> {
    let Some(node) = last_visible(session).filter(|node| node.tag == EntryTag::Answer) else {
        return Ok(None);
    };
    let entry = session.entry(&node.id)?;
    let outcome = match &entry.kind {
        EntryKind::Message(logged) => answer_outcome(logged, card),
        _ => AnswerOutcome::Other,
    };
    Ok(Some((entry, outcome)))
}

fn answer_outcome(logged: &Logged, card: &ModelCard) -> AnswerOutcome {
    let Some(request) = &logged.request else { return AnswerOutcome::Answered };
    let error = match &logged.message {
        Message::Assistant { error_message, .. } => error_message.as_deref(),
        _ => None,
    };
    let is_complete = request.stop_reason == StopReason::Stop;
    match request {
        _ if !is_of(request, card) => AnswerOutcome::Other,
        _ if !is_complete && is_overflow(request, error, card.context_window) => AnswerOutcome::Overflowed,
        _ if is_squeezed(request, card) => AnswerOutcome::Overflowed,
        _ if request.stop_reason.is_failure() => AnswerOutcome::Other,
        _ => AnswerOutcome::Answered,
    }
}

/// Returns whether a model gave an answer, as far as both are known.
fn is_of(request: &Request, card: &ModelCard) -> bool {
    let is_same =
        |named: &Option<String>, known: &str| named.as_deref().is_none_or(|named| names_same(named, known));
    is_same(&request.model, &card.id) && is_same(&request.provider, &card.provider)
}

/// Returns whether two names stand for the same: they are equal, one is blank, or one is the other with a release.
fn names_same(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    short.is_empty() || long.strip_prefix(short).is_some_and(is_release)
}

/// Returns whether the end of a model's name says which release it is: a date or a number like `002`, with a version
/// like `v2:0` after it, or `latest`. A single digit, as in `-1`, is another model, and so is a word.
fn is_release(end: &str) -> bool {
    let is_separator = |it: char| matches!(it, '-' | '@' | ':');
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    let mut words = end.split(is_separator);
    if words.next() != Some("") {
        return false;
    }
    match words.next() {
        None | Some("latest") => words.next().is_none(),
        Some(first) => {
            is_number(first)
                && first.len() >= 3
                && words.all(|word| is_number(word.strip_prefix('v').unwrap_or(word)))
        }
    }
}

/// Returns whether an answer was cut off below the model's own limit, since the window was full to its last hundredth.
fn is_squeezed(request: &Request, card: &ModelCard) -> bool {
    let Some(usage) = request.usage.filter(|_| request.stop_reason == StopReason::Length) else {
        return false;
    };
    is_full(usage.context_tokens(), card.context_window) && usage.output_tokens < card.max_output_tokens
}

/// Returns whether nothing the model sees was appended since the last compaction.
pub(crate) fn is_just_compacted(session: &Session) -> bool {
    last_visible(session).is_some_and(|node| node.tag == EntryTag::Compaction)
}

/// Returns the last entry at the leaf that the model may see.
fn last_visible(session: &Session) -> Option<Node> {
    back(session, session.leaf()).find(|node| node.tag.is_visible())
}

/// Returns whether an answer is the given entry, or between that and the answer the user said nothing and no other
/// answer came.
pub(crate) fn is_same_request(
    session: &Session,
    since: Option<&EntryId>,
    entry: &Entry,
) -> Result<bool, SessionError> {
    if Some(&entry.id) == since {
        return Ok(true);
    }
    for node in back(session, entry.parent_id.as_ref()) {
        if Some(&node.id) == since {
            return Ok(true);
        }
        if matches!(node.tag, EntryTag::Answer | EntryTag::Message)
            && let EntryKind::Message(logged) = session.entry(&node.id)?.kind
            && is_news(&logged)
        {
            return Ok(false);
        }
    }
    Ok(false)
}

/// Returns whether a message is the user's, or an answer that did not fail.
fn is_news(logged: &Logged) -> bool {
    match &logged.message {
        Message::User { .. } => true,
        Message::Assistant { .. } => {
            logged.request.as_ref().is_none_or(|request| !request.stop_reason.is_failure())
        }
        _ => false,
    }
}

/// Walks from an entry back to its root.
fn back<'a>(session: &'a Session, from: Option<&'a EntryId>) -> impl Iterator<Item = Node> + 'a {
    from.into_iter().flat_map(|id| session.tree().ancestors(id))
}

#[cfg(test)]
mod tests {
    use wb_budget::Usage;

    use super::*;

    fn card() -> ModelCard {
        ModelCard { id: "opus-4".into(), max_output_tokens: 8_000, ..ModelCard::with_window(100_000) }
    }

    fn ended(
        stop_reason: StopReason,
        (input_tokens, output_tokens): (u64, u64),
        error: Option<&str>,
    ) -> AnswerOutcome {
        let usage = Some(Usage { input_tokens, output_tokens, ..Usage::EMPTY });
        let request = Request { usage, stop_reason, model: Some("opus-4".into()), ..Request::default() };
        let error_message = error.map(str::to_owned);
        let message = Message::Assistant { content: Vec::new(), error_message };
        answer_outcome(&Logged { message, request: Some(request), is_excluded: false }, &card())
    }

    #[test]
    fn an_answer_that_was_cut_off_where_the_window_ends_overflowed_and_one_at_its_own_limit_did_not() {
        assert_eq!(ended(StopReason::Length, (98_000, 1_500), None), AnswerOutcome::Overflowed);
        assert_eq!(
            ended(StopReason::Length, (60_000, 1_500), None),
            AnswerOutcome::Answered,
            "the host's own limit"
        );
        assert_eq!(
            ended(StopReason::Length, (98_000, 8_000), None),
            AnswerOutcome::Answered,
            "the model's limit"
        );
        assert_eq!(ended(StopReason::Length, (99_500, 0), None), AnswerOutcome::Overflowed, "no room at all");
    }

    #[test]
    fn a_complete_answer_is_one_however_large_its_context_was() {
        assert_eq!(ended(StopReason::Stop, (140_000, 10), None), AnswerOutcome::Answered);
        assert_eq!(ended(StopReason::ToolUse, (140_000, 10), None), AnswerOutcome::Answered);
    }

    #[test]
    fn errors_overflow_by_their_words_alone() {
        let large = Some("prompt is too long: 213462 tokens > 200000 maximum");
        assert_eq!(ended(StopReason::Error, (0, 0), large), AnswerOutcome::Overflowed);
        assert_eq!(ended(StopReason::Error, (140_000, 0), Some("529 overloaded")), AnswerOutcome::Other);
        assert_eq!(ended(StopReason::Aborted, (140_000, 0), large), AnswerOutcome::Other);
    }

    #[test]
    fn a_model_is_known_by_a_name_with_a_date_and_not_by_another() {
        let request = |model: &str| Request { model: Some(model.to_owned()), ..Request::default() };
        assert!(is_of(&request("opus-4-20250929"), &card()) && is_of(&Request::default(), &card()));
        assert!(is_of(&request("anything"), &ModelCard::default()));
        assert!(!is_of(&request("haiku-4"), &card()));
    }

    #[test]
    fn a_smaller_or_a_later_model_is_another_one_and_a_release_is_not() {
        let same = [
            ("gpt-5", "gpt-5"),
            ("gpt-5", "gpt-5-2025-08-07"),
            ("gpt-4", "gpt-4-0613"),
            ("opus-4", "opus-4@20250514"),
            ("sonnet-3-5", "sonnet-3-5-20241022-v2:0"),
            ("sonnet-3-5", "sonnet-3-5-latest"),
            ("gemini-1.5-pro", "gemini-1.5-pro-002"),
            ("", "gpt-5"),
        ];
        let others = [
            ("gpt-5", "gpt-5-mini"),
            ("gpt-5", "gpt-5-mini-2025-08-07"),
            ("gpt-5", "gpt-5.1"),
            ("gpt-4", "gpt-4-32k"),
            ("gpt-4", "gpt-4o"),
            ("opus-4", "opus-4-1"),
            ("opus-4", "opus-4-1-20250805"),
            ("o1", "o1-pro"),
            ("opus-4-20250514", "opus-4-20250929"),
        ];
        for (a, b) in same {
            assert!(names_same(a, b) && names_same(b, a), "{a} {b}");
        }
        for (a, b) in others {
            assert!(!names_same(a, b) && !names_same(b, a), "{a} {b}");
        }
    }
}
