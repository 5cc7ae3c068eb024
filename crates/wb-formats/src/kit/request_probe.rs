//! Detection of a list's provider or library by what only that one writes.

use wb_record::ProbedValue;

/// Keys of documents that are sessions of an agent, not requests.
const SESSION_KEYS: [&str; 9] = [
    "info",
    "sessionId",
    "session_id",
    "response",
    "loglines",
    "trajectory",
    "history",
    "context_window",
    "raw_messages",
];

/// Roles and keys of messages in our own form.
const OUR_ROLES: [&str; 5] = ["toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"];
const OUR_KEYS: [&str; 2] = ["customType", "toolCallId"];

/// Keys of a message other than its role, which may be lost.
const BODY_KEYS: [&str; 3] = ["content", "tool_calls", "tool_call_id"];

/// Returns the messages at the start of a document that is a list of them, or a request that holds
/// one.
pub(crate) fn messages_of(first: &ProbedValue) -> Vec<&ProbedValue> {
    let list =
        if first.is_list { Some(first) } else { first.inner.as_deref().filter(|_| first.has("messages")) };
    list.into_iter().flat_map(ProbedValue::elements).filter(|message| !message.keys.is_empty()).collect()
}

/// Returns whether a document can be a request: it is a list of messages, or holds one next to keys
/// that no session has.
pub(crate) fn is_request(first: &ProbedValue) -> bool {
    let messages = messages_of(first);
    let is_part = |part: &ProbedValue| !part.has("kind");
    let is_message = |message: &&ProbedValue| {
        let body = message.inner.as_deref();
        let is_foreign = !message.r#type.is_empty() || message.has("message") || message.has("kind");
        let has_lost = !message.has("role") && BODY_KEYS.iter().any(|key| message.has(key));
        (!message.role.is_empty() || has_lost)
            && !is_foreign
            && body.is_none_or(|body| body.elements().all(is_part))
    };
    let is_ours = has_role(&messages, &OUR_ROLES) || has_key(&messages, &OUR_KEYS);
    let is_session = SESSION_KEYS.iter().any(|key| first.has(key));
    let has_roles = messages.iter().any(|message| !message.role.is_empty());
    has_roles && messages.iter().all(is_message) && !is_ours && !is_session
}

/// Returns whether some message has a role of these.
pub(crate) fn has_role(messages: &[&ProbedValue], roles: &[&str]) -> bool {
    messages.iter().any(|message| roles.contains(&message.role.as_str()))
}

/// Returns whether some message has a key of these.
pub(crate) fn has_key(messages: &[&ProbedValue], keys: &[&str]) -> bool {
    messages.iter().any(|message| keys.iter().any(|key| message.has(key)))
}

/// Returns whether some part of a message has a type of these.
pub(crate) fn has_part(messages: &[&ProbedValue], types: &[&str]) -> bool {
    let is_part = |part: &ProbedValue| types.contains(&part.r#type.as_str());
    messages.iter().filter_map(|message| message.inner.as_deref()).any(|body| body.elements().any(is_part))
}
