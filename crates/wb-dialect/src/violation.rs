//! What breaks a rule, as data and as a line.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::dialect::Dialect;
use crate::pointer::message_and_part;
use crate::rules::{Finding, Rule};

/// A place in a request that breaks a rule of its provider.
///
/// It prints as one line: the message, the rule, what is so there, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Violation {
    /// The dialect of the rule.
    pub dialect: Dialect,
    /// The name of the rule.
    pub rule: Cow<'static, str>,
    /// The index of the message; nothing where it is not about one.
    ///
    /// Of an [`Encoded`](crate::Encoded) request it counts the turns or messages that it was made of.
    pub message: Option<usize>,
    /// The place in the request, as a JSON pointer.
    pub at: String,
    /// What is so there.
    pub what: String,
    /// What mends it.
    pub fix: Cow<'static, str>,
    /// Where the rule can be read.
    pub source: Cow<'static, str>,
}

impl Violation {
    pub(crate) fn of(rule: &Rule, dialect: Dialect, source: &'static str, finding: Finding) -> Self {
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

    /// Returns by what the same violation is known again elsewhere: without its place, and without the figures of sizes.
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
