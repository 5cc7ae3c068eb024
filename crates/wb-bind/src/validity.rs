//! Checks whether the provider of a session would accept its messages.

use std::borrow::Cow;
use std::collections::BTreeMap;

use wb_dialect::{Dialect, Violation};
use wb_formats::{Document, SentAs, View};
use wb_message::{Message, content_fingerprints};

/// The content of messages, and the violations in them.
#[derive(Clone, Debug)]
pub struct Validity {
    contents: Vec<u64>,
    violations: Vec<Violation>,
}

impl Validity {
    /// Checks messages as they are sent.
    pub fn new(messages: &[Message], sent: &SentAs<'_>) -> Self {
        Self::with_violations(messages, sent.violations(messages))
    }

    /// Reads a session, with the blocks that its messages show as texts.
    pub fn read(document: &dyn Document, view: &View, sent: &SentAs<'_>) -> Self {
        Self::with_violations(&view.messages, sent.violations_in(document, view))
    }

    /// Takes violations that are known.
    pub fn with_violations(messages: &[Message], violations: Vec<Violation>) -> Self {
        Self { contents: content_fingerprints(messages), violations }
    }

    /// Returns the same validity for other messages of the view, regardless of generated call ids:
    /// reading the written file back generates new ones.
    #[must_use]
    pub fn by_order(self, view: &View, messages: &[Message], sent: &SentAs<'_>) -> Self {
        match view.provenance.with_ids_by_order(messages) {
            Cow::Borrowed(_) => self,
            Cow::Owned(messages) => Self::new(&messages, sent),
        }
    }

    /// Returns the violations.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns whether there are none.
    pub fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the violations here that were not there before.
    pub fn new_since(&self, before: &Self) -> Vec<&Violation> {
        let mut known = before.kinds();
        let mut new = Vec::new();
        for violation in &self.violations {
            match known.get_mut(&violation.kind()) {
                Some(n) if *n > 0 => *n -= 1,
                _ => new.push(violation),
            }
        }
        new
    }

    fn kinds(&self) -> BTreeMap<(Dialect, &str, &str), usize> {
        let mut kinds = BTreeMap::new();
        for violation in &self.violations {
            *kinds.entry(violation.kind()).or_insert(0) += 1;
        }
        kinds
    }
}

impl PartialEq for Validity {
    fn eq(&self, other: &Self) -> bool {
        self.contents == other.contents && self.kinds() == other.kinds()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::Block;

    use super::*;

    fn validity(messages: &[Message], agent: &str) -> Validity {
        Validity::new(messages, &SentAs::from_format(agent, None))
    }

    fn with_call(id: &str) -> Vec<Message> {
        let call = Block::call(id, "ls", json!({}));
        vec![Message::user("Look."), Message::assistant_blocks(vec![call]), Message::user("Well?")]
    }

    #[test]
    fn a_session_that_waits_for_its_user_is_valid() {
        let messages = [Message::user("Hello."), Message::assistant("Hi.")];
        assert!(validity(&messages, "copilot-cli").is_valid());
        assert!(validity(&[], "copilot-cli").is_valid());
    }

    #[test]
    fn a_violation_from_before_is_new_at_no_position() {
        let before = validity(&with_call("c1"), "copilot-cli");
        let mut later = with_call("c1");
        later.insert(0, Message::user("Digest."));
        assert_eq!(before.violations.len(), 4);
        assert!(validity(&later, "copilot-cli").new_since(&before).is_empty());
        assert_eq!(validity(&with_call("c2"), "copilot-cli").new_since(&before).len(), 4);
        assert_ne!(before, validity(&later, "copilot-cli"));
    }

    #[test]
    fn an_agent_of_one_provider_is_held_to_its_rules_alone() {
        assert_eq!(validity(&with_call("c1"), "claude-code").violations.len(), 1);
        assert_eq!(validity(&with_call("c1"), "gemini-cli").violations[0].dialect, Dialect::Gemini);
    }
}
