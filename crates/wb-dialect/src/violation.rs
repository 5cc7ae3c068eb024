//! A violation of a rule, as data and as a line of text.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;
use crate::pointer::message_and_part;
use crate::rules::{Finding, Rule};

/// A place in a request that breaks a rule of its provider.
///
/// [`Display`](fmt::Display) prints one line: the message, the rule, the problem and the fix.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Violation {
    /// The dialect of the rule.
    pub dialect: Dialect,
    /// The id of the rule.
    pub rule: Cow<'static, str>,
    /// The index of the message, if the violation concerns one.
    ///
    /// For an [`EncodedRequest`](crate::EncodedRequest) it counts the source turns or messages.
    pub message: Option<usize>,
    /// The JSON pointer into the request.
    pub at: String,
    /// The problem found there.
    pub what: String,
    /// The fix.
    pub fix: Cow<'static, str>,
    /// The URL of the rule's documentation or of a report that quotes the refusal.
    pub source: Cow<'static, str>,
}

impl Violation {
    pub(crate) fn new(rule: &Rule, dialect: Dialect, source: &'static str, finding: Finding) -> Self {
        Self {
            dialect,
            rule: rule.id.into(),
            message: message_and_part(&finding.at).0,
            at: finding.at,
            what: finding.what,
            fix: rule.fix.into(),
            source: source.into(),
        }
    }

    /// Returns a key that identifies the same violation elsewhere: without its place, and without
    /// the figures of size rules.
    pub fn kind(&self) -> (Dialect, &str, &str) {
        let is_size = ["picture-", "request-"].iter().any(|start| self.rule.starts_with(start));
        (self.dialect, &self.rule, if is_size { "" } else { &self.what })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message {
            Some(message) => write!(f, "message {message}: ")?,
            None => f.write_str("request: ")?,
        }
        write!(f, "{}: {}; {} [{}]", self.rule, self.what, self.fix, self.dialect)
    }
}
