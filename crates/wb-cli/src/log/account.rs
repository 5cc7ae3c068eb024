//! What a context weighs, and who wrote a summary: in words and for machines.

use wb_budget::{Ledger, ModelCard};
use wb_host::SummarySource;
use wb_session::{Context, Session, SessionError};
use wb_summarize::NoDigest;

use crate::number::grouped;

/// What a context weighs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) n_messages: usize,
    pub(crate) tokens: u64,
    /// Whether that rests on what the provider counted.
    pub(crate) is_anchored: bool,
}

impl Weight {
    /// Weighs a context as `wb weigh` does: the last count of the provider and an estimate of what came after it.
    pub(crate) fn of(context: &Context) -> Self {
        let mut ledger = Ledger::new();
        let mut current = context.requests.iter().filter(|request| request.is_current).peekable();
        let mut is_anchored = false;
        for (at, message) in context.messages.iter().enumerate() {
            ledger.push(message);
            while let Some(counted) = current.next_if(|request| request.at == at) {
                let card =
                    ModelCard { id: counted.model.clone().unwrap_or_default(), ..ModelCard::default() };
                // A refused count leaves the estimate as it is.
                is_anchored |= ledger.anchor(at, &counted.usage, Some(&card)).is_ok();
            }
        }
        Self { n_messages: context.messages.len(), tokens: ledger.context_tokens(), is_anchored }
    }

    /// Weighs the context at the leaf of a session.
    pub(crate) fn at_leaf(session: &Session) -> Result<Self, SessionError> {
        Ok(Self::of(&session.context(session.leaf())?))
    }

    /// Returns where the figure comes from.
    pub(crate) fn source(self) -> &'static str {
        if self.is_anchored { "counted by the provider up to its last answer" } else { "estimated" }
    }

    /// Returns the way from one weight to another; an estimate knows no system prompt, a count has it in it.
    pub(crate) fn way_to(self, after: Self) -> String {
        let [from, to] = [self, after].map(|it| grouped(it.tokens));
        match (self.is_anchored, after.is_anchored) {
            (false, false) => format!("{from} → {to} tokens, estimated"),
            (true, false) => {
                format!("{from} tokens, {} → {to}, estimated without system prompt and tools", self.source())
            }
            (_, true) => format!("{from} tokens, {} → {to}, {}", self.source(), after.source()),
        }
    }
}

/// Who wrote a summary, and why not the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Author {
    pub(crate) by: &'static str,
    pub(crate) why: Option<String>,
}

impl Author {
    pub(crate) fn of(source: &SummarySource) -> Self {
        let why = |why: &NoDigest| match why {
            NoDigest::NoModel => "no model is set up".to_owned(),
            other => other.to_string(),
        };
        match source {
            SummarySource::Local(no_digest) => Self { by: "local", why: Some(why(no_digest)) },
            SummarySource::Partly(no_digest) => Self { by: "partly_model", why: Some(why(no_digest)) },
            SummarySource::Hook => Self { by: "hook", why: None },
            _ => Self { by: "model", why: None },
        }
    }

    pub(crate) fn words(&self) -> String {
        let by = match self.by {
            "local" => "the local digest",
            "partly_model" => "the model's for one half, the local digest for the other",
            "hook" => "a hook's",
            _ => "the model's",
        };
        self.why.as_ref().map_or_else(|| by.to_owned(), |why| format!("{by}, since {why}"))
    }
}

/// Returns `1 message`, `2 messages`.
pub(crate) fn count(n: usize, one: &str, several: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { several })
}
