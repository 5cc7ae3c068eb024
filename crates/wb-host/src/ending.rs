//! How the last answer of a session ended.

use wb_budget::ModelCard;
use wb_message::Message;
use wb_session::{
    Entry, EntryId, EntryKind, EntryTag, Logged, Node, Request, Session, SessionError, StopReason,
};

use crate::overflow::is_overflow;

/// How an answer ended, as far as the context is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
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
) -> Result<Option<(Entry, Ending)>, SessionError> {
    let Some(node) = back(session, session.leaf()).find(|node| node.tag.is_visible()) else {
        return Ok(None);
    };
    if node.tag != EntryTag::Answer {
        return Ok(None);
    }
    let entry = session.entry(&node.id)?;
    let ending = match &entry.kind {
        EntryKind::Message(logged) => ending(logged, card),
        _ => Ending::Other,
    };
    Ok(Some((entry, ending)))
}

fn ending(logged: &Logged, card: &ModelCard) -> Ending {
    let Some(request) = &logged.request else { return Ending::Answered };
    let error = match &logged.message {
        Message::Assistant { error_message, .. } => error_message.as_deref(),
        _ => None,
    };
    let is_complete = request.stop_reason == StopReason::Stop;
    match request {
        _ if !is_of(request, card) => Ending::Other,
        _ if !is_complete && is_overflow(request, error, card.context_window) => Ending::Overflowed,
        _ if is_squeezed(request, card) => Ending::Overflowed,
        _ if request.stop_reason.is_failure() => Ending::Other,
        _ => Ending::Answered,
    }
}

/// Tells whether a model gave an answer, as far as both are known.
fn is_of(request: &Request, card: &ModelCard) -> bool {
    let is_same = |told: &Option<String>, known: &str| {
        told.as_deref().is_none_or(|told| known.is_empty() || told == known)
    };
    is_same(&request.model, &card.id) && is_same(&request.provider, &card.provider)
}

/// Tells whether an answer was cut off below the model's own limit, since the window was full to its last hundredth.
fn is_squeezed(request: &Request, card: &ModelCard) -> bool {
    let Some(usage) = request.usage.filter(|_| request.stop_reason == StopReason::Length) else {
        return false;
    };
    let is_full = u128::from(usage.context_tokens()) * 100 >= u128::from(card.context_window) * 99;
    card.context_window > 0 && is_full && usage.output_tokens < card.max_output_tokens
}

/// Tells whether nothing the model sees was appended since the last compaction.
pub(crate) fn is_just_compacted(session: &Session) -> bool {
    let last = back(session, session.leaf()).find(|node| node.tag.is_visible());
    last.is_some_and(|node| node.tag == EntryTag::Compaction)
}

/// Tells whether an answer is the given entry, or between that and the answer the user said nothing and no other
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

/// Tells whether a message is the user's, or an answer that did not fail.
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
