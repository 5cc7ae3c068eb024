//! Checks whether the provider of a session would accept its messages.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use wb_dialect::{Dialect, Violation};
use wb_formats::{Document, SentAs, View};
use wb_message::{Message, content_fingerprints};

use crate::terminal::escape::file_word;
use crate::terminal::user_error::UserError;

/// The content of messages, and the violations in them.
#[derive(Clone, Debug)]
pub(crate) struct Validity {
    contents: Vec<u64>,
    violations: Vec<Violation>,
}

impl Validity {
    pub(crate) fn new(messages: &[Message], sent: &SentAs<'_>) -> Self {
        Self::with_violations(messages, sent.violations(messages))
    }

    /// Reads a session, with the blocks that its messages show as texts.
    pub(crate) fn read(document: &dyn Document, view: &View, sent: &SentAs<'_>) -> Self {
        Self::with_violations(&view.messages, sent.violations_in(document, view))
    }

    pub(crate) fn with_violations(messages: &[Message], violations: Vec<Violation>) -> Self {
        Self { contents: content_fingerprints(messages), violations }
    }

    /// Returns the same validity for other messages of the view, regardless of generated call ids:
    /// reading the written file back generates new ones.
    pub(crate) fn by_order(self, view: &View, messages: &[Message], sent: &SentAs<'_>) -> Self {
        match view.provenance.with_ids_by_order(messages) {
            Cow::Borrowed(_) => self,
            Cow::Owned(messages) => Self::new(&messages, sent),
        }
    }

    pub(crate) fn violations(&self) -> &[Violation] {
        &self.violations
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the violations here that were not there before.
    pub(crate) fn new_since(&self, before: &Self) -> Vec<&Violation> {
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

    /// Refuses what providers would refuse here and would not have refused before.
    pub(crate) fn refuse_new(
        &self,
        file: &str,
        before: impl FnOnce() -> Result<Self, UserError>,
        hint: &str,
    ) -> Result<(), UserError> {
        if self.is_valid() {
            return Ok(());
        }
        let before = before()?;
        let new = self.new_since(&before);
        let Some(first) = new.first() else { return Ok(()) };
        let what = format!("the provider would reject the result: {first}");
        let hint = match before.violations.first() {
            Some(_) => {
                let file = file_word(Path::new(file));
                format!("nothing was written; the session already has problems, see: wb doctor {file}")
            }
            None => format!("nothing was written; please report this{hint}"),
        };
        Err(UserError::of_file(file, what, hint))
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

/// Reports the number of calls without a result that the session's agent answers itself.
pub(crate) fn answered_by_agent(view: &View, sent: &SentAs<'_>) -> Option<String> {
    let n = sent.n_answered(&view.messages);
    let format = view.format;
    (n > 0).then(|| format!("tool calls without a result, answered by {format} when it resumes: {n}"))
}

/// Explains why a write, real or planned, is discarded.
pub(crate) fn otherwise(file: &str, what_now: &str) -> UserError {
    let hint = format!("{what_now}; please report this with the version of the agent");
    UserError::of_file(file, "what was written read otherwise than planned", hint)
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
    fn an_invalid_session_is_to_be_repaired_first() {
        let refusal = |before: &[Message]| {
            let before = validity(before, "copilot-cli");
            let refused = validity(&with_call("c1"), "copilot-cli").refuse_new("s.jsonl", || Ok(before), "");
            format!("{:?}", refused.unwrap_err())
        };
        assert!(refusal(&with_call("c2")).contains("wb doctor s.jsonl"));
        assert!(refusal(&[]).contains("please report this"));
    }

    #[test]
    fn an_agent_of_one_provider_is_held_to_its_rules_alone() {
        assert_eq!(validity(&with_call("c1"), "claude-code").violations.len(), 1);
        assert_eq!(validity(&with_call("c1"), "gemini-cli").violations[0].dialect, Dialect::Gemini);
    }
}
