//! Whether the provider of a session would take its messages.

use std::borrow::Cow;
use std::collections::BTreeMap;

use wb_dialect::{Dialect, Encoded, Violation};
use wb_message::Message;

/// What the user says next in a session that waits for it.
const NEXT_PROMPT: &str = "Go on.";

/// Returns the dialects in which sessions of a format are sent: that of the agent, or all where it asks several providers.
pub(crate) fn dialects_of(format: &str) -> &'static [Dialect] {
    match format {
        "claude-code" => &[Dialect::Anthropic],
        "codex" => &[Dialect::OpenaiResponses],
        _ => &Dialect::ALL,
    }
}

/// Returns what providers would refuse of the next request of a session; the violations name its messages.
pub(crate) fn violations(messages: &[Message], dialects: &[Dialect]) -> Vec<Violation> {
    let next = matches!(messages.last(), Some(Message::Assistant { .. })).then(|| Message::user(NEXT_PROMPT));
    let messages: Cow<'_, [Message]> = match next {
        Some(next) => messages.iter().cloned().chain([next]).collect(),
        None => messages.into(),
    };
    dialects.iter().flat_map(|dialect| Encoded::of_messages(&messages, *dialect).validate()).collect()
}

/// A violation without the place, by which the same one is known again.
type Key = (Dialect, String, String);

/// How many messages there are, and what providers would refuse of them.
#[derive(Clone, Debug)]
pub(crate) struct Validity {
    n_messages: usize,
    violations: Vec<Violation>,
}

impl Validity {
    pub(crate) fn of(messages: &[Message], format: &str) -> Self {
        Self { n_messages: messages.len(), violations: violations(messages, dialects_of(format)) }
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns what is refused here and was not before.
    pub(crate) fn new_since(&self, before: &Self) -> Vec<&Violation> {
        let mut known = before.keys();
        let is_new = |violation: &&Violation| match known.get_mut(&key(violation)) {
            Some(n) if *n > 0 => {
                *n -= 1;
                false
            }
            _ => true,
        };
        self.violations.iter().filter(is_new).collect()
    }

    fn keys(&self) -> BTreeMap<Key, usize> {
        let mut keys = BTreeMap::new();
        for violation in &self.violations {
            *keys.entry(key(violation)).or_insert(0) += 1;
        }
        keys
    }
}

impl PartialEq for Validity {
    fn eq(&self, other: &Self) -> bool {
        self.n_messages == other.n_messages && self.keys() == other.keys()
    }
}

/// Figures, as in what is said of sizes, do not make another violation.
fn key(violation: &Violation) -> Key {
    let is_size = ["picture-", "request-"].iter().any(|start| violation.rule.starts_with(start));
    let what = if is_size { String::new() } else { violation.what.clone() };
    (violation.dialect, violation.rule.to_string(), what)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::Block;

    use super::*;

    fn with_call(id: &str) -> Vec<Message> {
        let call = Block::call(id, "ls", json!({}));
        vec![Message::user("Look."), Message::assistant_blocks(vec![call]), Message::user("Well?")]
    }

    #[test]
    fn a_session_that_waits_for_its_user_is_valid() {
        let messages = [Message::user("Hello."), Message::assistant("Hi.")];
        assert!(Validity::of(&messages, "pi").is_valid());
        assert!(Validity::of(&[], "pi").is_valid());
    }

    #[test]
    fn what_was_refused_before_is_not_new_wherever_it_stands() {
        let before = Validity::of(&with_call("c1"), "pi");
        let mut later = with_call("c1");
        later.insert(0, Message::user("Digest."));
        assert_eq!(before.violations.len(), 4);
        assert!(Validity::of(&later, "pi").new_since(&before).is_empty());
        assert_eq!(Validity::of(&with_call("c2"), "pi").new_since(&before).len(), 4);
        assert_ne!(before, Validity::of(&later, "pi"));
    }

    #[test]
    fn an_agent_of_one_provider_is_held_to_its_rules_alone() {
        assert_eq!(Validity::of(&with_call("c1"), "claude-code").violations.len(), 1);
        assert_eq!(Validity::of(&with_call("c1"), "codex").violations[0].dialect, Dialect::OpenaiResponses);
    }
}
