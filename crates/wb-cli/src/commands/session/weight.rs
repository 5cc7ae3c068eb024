//! Shows the weight of a context, and a digest with its author, as text and as JSON.

use std::io;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_budget::{ModelCard, estimate_text};
use wb_session::SummarySource;
use wb_session::{Context, FileLists, Session, SessionError};
use wb_summarize::NoDigest;

use super::find::first_of;
use crate::terminal::number::grouped;
use crate::terminal::wrap::Page;
use wb_bind::tracker_of;

/// The most files of each list to show.
const SHOWN_FILES: usize = 5;

/// The weight of a context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(crate) n_messages: usize,
    pub(crate) tokens: u64,
    /// Indicates that the weight is based on the provider's count.
    pub(crate) is_anchored: bool,
}

impl Weight {
    /// Weighs a context as `wb weigh` does: the provider's last count plus an estimate of what
    /// follows.
    pub(crate) fn new(context: &Context) -> Self {
        let mut tracker = tracker_of(context.model.as_deref());
        let mut current = context.requests.iter().filter(|request| request.is_current).peekable();
        let mut is_anchored = false;
        for (at, message) in context.messages.iter().enumerate() {
            tracker.push(message);
            while let Some(counted) = current.next_if(|request| request.at == at) {
                let card =
                    ModelCard { id: counted.model.clone().unwrap_or_default(), ..ModelCard::default() };
                // A refused count leaves the estimate as it is.
                is_anchored |= tracker.anchor(at, &counted.usage, Some(&card)).is_ok();
            }
        }
        Self { n_messages: context.messages.len(), tokens: tracker.context_tokens(), is_anchored }
    }

    /// Weighs the context at the leaf of a session.
    pub(crate) fn at_leaf(session: &Session) -> Result<Self, SessionError> {
        Ok(Self::new(&session.context(session.leaf())?))
    }

    /// Returns the source of the figure.
    pub(crate) fn source(self) -> &'static str {
        if self.is_anchored { "counted by the provider up to its last answer" } else { "estimated" }
    }

    /// Returns the way from one weight to another; an estimate knows no system prompt, a count has
    /// it in it.
    pub(crate) fn way_to(self, after: Self) -> String {
        let [from, to] = [self, after].map(|it| grouped(it.tokens));
        if self.n_messages == 0 || after.n_messages == 0 || self.is_anchored == after.is_anchored {
            let one = if self.n_messages == 0 { after } else { self };
            return format!("{from} → {to} tokens, {}", one.source());
        }
        let source = |it: Self| {
            if it.is_anchored { it.source() } else { "estimated without system prompt and tools" }
        };
        format!("{from} tokens, {} → {to}, {}", source(self), source(after))
    }
}

/// The weight of a context before and after, as in the JSON output.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Weights {
    messages_before: usize,
    messages_after: usize,
    tokens_before: u64,
    tokens_after: u64,
    anchored_before: bool,
    anchored_after: bool,
}

impl Weights {
    pub(crate) fn new(before: Weight, after: Weight) -> Self {
        Self {
            messages_before: before.n_messages,
            messages_after: after.n_messages,
            tokens_before: before.tokens,
            tokens_after: after.tokens,
            anchored_before: before.is_anchored,
            anchored_after: after.is_anchored,
        }
    }
}

/// A digest that was appended, as the JSON output has it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Summary {
    digest_by: &'static str,
    /// The reason why the digest is not the model's.
    why: Option<String>,
    digest_tokens: u64,
    digest: String,
    read_files: Vec<String>,
    modified_files: Vec<String>,
}

impl Summary {
    pub(crate) fn new(summary: &str, source: &SummarySource, details: Option<&Value>) -> Self {
        let (digest_by, why) = match source {
            SummarySource::Local(why) => ("local", Some(why)),
            SummarySource::Partly(why) => ("partly_model", Some(why)),
            SummarySource::Hook => ("hook", None),
            _ => ("model", None),
        };
        let why = why.map(|why| match why {
            NoDigest::NoModel => "no model is set up".to_owned(),
            other => other.to_string(),
        });
        let files = details.and_then(|details| FileLists::deserialize(details).ok()).unwrap_or_default();
        Self {
            digest_by,
            why,
            digest_tokens: estimate_text(summary),
            digest: summary.to_owned(),
            read_files: files.read_files,
            modified_files: files.modified_files,
        }
    }

    /// Writes the author, length and files of the digest.
    pub(crate) fn write_facts(&self, page: &mut Page<'_>) -> io::Result<()> {
        let by = match self.digest_by {
            "local" => "the local digest",
            "partly_model" => "the model's for one half, the local digest for the other",
            "hook" => "a hook's",
            _ => "the model's",
        };
        let why = self.why.as_ref().map_or_else(String::new, |why| format!(", since {why}"));
        page.fact("digest", &format!("{} tokens, {by}{why}", grouped(self.digest_tokens)))?;
        for (name, files) in [("files read", &self.read_files), ("files modified", &self.modified_files)] {
            let names: Vec<&str> = files.iter().map(String::as_str).collect();
            page.fact(name, &first_of(&names, SHOWN_FILES))?;
        }
        Ok(())
    }
}
