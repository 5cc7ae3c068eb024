//! [`CompactionReport`]: the figures of a compaction, its digest's source, the reason if nothing
//! changed, and the undo.

use std::fmt;

use wb_budget::{Irreducible, PolicyError, Usage, WeighedTranscript, Worth};
use wb_facts::{Facts, Finding, FindingKind};
use wb_message::markers::is_cleared;
use wb_message::{Edit, Patch, PatchError, Undo};
use wb_summarize::{AskCosts, DigestSource, NoDigest};

/// A step that changed the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepReport {
    /// The step's name.
    pub name: String,
    /// The weight of the transcript after it, in tokens; a digest counts with the most that it may
    /// weigh.
    pub tokens_after: u64,
    /// The messages after it.
    pub messages_after: usize,
}

/// The reason why the input is unchanged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unchanged {
    /// The transcript is within its budget.
    UnderBudget,
    /// Nothing before the tail is worth folding, and nothing in the tail can be shortened.
    NothingToFold,
    /// The result would not be lighter.
    NotLighter,
    /// A digest that keeps the user's words would save less than what it leaves out is worth.
    NotWorthIt {
        /// The tokens that it would save.
        saves: u64,
    },
    /// The host cancelled.
    Cancelled,
    /// The transcript has changed since it was planned.
    PrefixChanged,
    /// The policy is invalid.
    BadPolicy(PolicyError),
    /// The patch was refused.
    Refused(PatchError),
}

impl fmt::Display for Unchanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnderBudget => f.write_str("within budget"),
            Self::NothingToFold => f.write_str("nothing left to fold"),
            Self::NotLighter => f.write_str("the result would not be lighter"),
            Self::NotWorthIt { saves: 0 } => {
                f.write_str("a digest that keeps the user's words would save nothing")
            }
            Self::NotWorthIt { saves } => write!(f, "a digest would save only {saves} tokens"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::PrefixChanged => f.write_str("the transcript changed meanwhile"),
            Self::BadPolicy(error) => error.fmt(f),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// The report of a compaction. [`fmt::Display`] prints it as one line.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct CompactionReport {
    /// The steps that changed something, in order.
    pub steps: Vec<StepReport>,
    /// Weight of the input in tokens, by estimate.
    pub tokens_before: u64,
    /// Weight of the output in tokens, by estimate.
    pub tokens_after: u64,
    /// Messages of the input.
    pub messages_before: usize,
    /// Messages of the output.
    pub messages_after: usize,
    /// Tokens that the gate used: the provider's figure, else the estimate and the overhead.
    pub context_tokens: u64,
    /// Is true if [`Self::context_tokens`] is the provider's figure.
    pub anchored: bool,
    /// The most tokens that the context may hold, if nothing was ever reported and the counter
    /// knows its error. The gate uses it; all other figures are the estimate.
    pub at_most_tokens: Option<u64>,
    /// Tokens above which the gate fires, if there is a window.
    pub limit_tokens: Option<u64>,
    /// The most tokens that the output should have, if there is a window.
    pub target_tokens: Option<u64>,
    /// Index of the first message of the tail; all before it was folded, except pinned messages and
    /// a latest prompt that was too long for a digest. 0 if nothing was folded.
    pub cut: usize,
    /// Messages that were folded.
    pub folded: usize,
    /// Indices in the input of tool results that were cleared.
    pub cleared: Vec<usize>,
    /// Indices in the input of bodies that were shortened.
    pub previewed: Vec<usize>,
    /// Paths of the restored files, oldest first.
    pub restored: Vec<String>,
    /// The digest's weight in tokens, 0 if nothing was folded.
    pub digest_tokens: u64,
    /// The credentials in the digest that were replaced by marks.
    pub redacted: usize,
    /// The writer of the digest, if there is one.
    pub digest: Option<DigestSource>,
    /// The facts behind the digest, if the run collected them itself; see [`Facts::is_partial`].
    pub facts: Option<Box<Facts>>,
    /// The claims in the model's digest that the session contradicts, which were removed, and the
    /// missing constraints, which were added as far as they fit.
    pub findings: Vec<Finding>,
    /// The costs of both ways to ask for the digest, and the choice; only if the model of the
    /// conversation writes it and its prices are known.
    pub ask_costs: Option<AskCosts>,
    /// The usage of the model's requests.
    pub usage: Usage,
    /// The number of requests.
    pub n_requests: usize,
    /// The reason why a figure from the host was refused.
    pub refused: Option<String>,
    /// The reason why the output is not within its target.
    pub irreducible: Option<Irreducible>,
    /// The costs of compacting now or later, if prices are known and a session is followed.
    pub worth: Option<Worth>,
    /// Is true if the breaker was open, so that no model was asked.
    pub breaker_open: bool,
    /// The reason why the input is unchanged; `None` if it was changed.
    pub unchanged: Option<Unchanged>,
    /// The undo of the change.
    pub undo: Option<Undo>,
}

impl CompactionReport {
    /// Returns whether the transcript was changed.
    pub fn is_changed(&self) -> bool {
        self.unchanged.is_none()
    }

    /// Returns the reason why the local digest replaces one that a model was asked for.
    pub fn fallback_reason(&self) -> Option<&NoDigest> {
        match &self.digest {
            Some(DigestSource::Local(NoDigest::NoModel | NoDigest::NoRoom) | DigestSource::Model { .. })
            | None => None,
            Some(DigestSource::Local(reason)) => Some(reason),
        }
    }

    /// Returns the names of the steps that changed something, in order.
    pub fn step_names(&self) -> Vec<&str> {
        self.steps.iter().map(|step| step.name.as_str()).collect()
    }

    /// Reports an invalid policy, for which nothing was planned.
    pub(crate) fn from_policy_error(view: &WeighedTranscript<'_>, error: PolicyError) -> Self {
        let (tokens_before, messages_before) = (view.total_tokens(), view.messages.len());
        Self { tokens_before, messages_before, ..Self::default() }.into_unchanged(Unchanged::BadPolicy(error))
    }

    /// Records which bodies a patch clears and which it shortens.
    pub(crate) fn note_bodies(&mut self, patch: &Patch) {
        let clears = |edit: &&Edit| matches!(edit, Edit::Body { content, .. } if is_cleared(content));
        self.cleared.reserve_exact(patch.edits.iter().filter(clears).count());
        for edit in &patch.edits {
            match edit {
                Edit::Body { at, content } if is_cleared(content) => self.cleared.push(*at),
                Edit::Body { at, .. } => self.previewed.push(*at),
                Edit::Fold { .. } => {}
            }
        }
    }

    /// Drops the figures of a change that was not made.
    pub(crate) fn into_unchanged(mut self, reason: Unchanged) -> Self {
        self.steps.clear();
        self.cleared.clear();
        self.previewed.clear();
        self.restored.clear();
        self.cut = 0;
        self.folded = 0;
        self.digest = None;
        self.digest_tokens = 0;
        self.findings.clear();
        self.tokens_after = self.tokens_before;
        self.messages_after = self.messages_before;
        self.unchanged = Some(reason);
        self
    }

    fn fmt_changed(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tokens, messages) = (self.tokens_after, self.messages_after);
        write!(
            f,
            "{} → {tokens} tokens, {} → {messages} messages",
            self.tokens_before, self.messages_before
        )?;
        match &self.digest {
            Some(_) => write!(f, "; folded {} into {} tokens", self.folded, self.digest_tokens)?,
            None if self.folded > 0 => write!(f, "; dropped {}", self.folded)?,
            None => {}
        }
        let counts = [("cleared", self.cleared.len()), ("restored", self.restored.len())];
        for (what, count) in counts.into_iter().chain([("shortened", self.previewed.len())]) {
            if count > 0 {
                write!(f, "; {what} {count}")?;
            }
        }
        match &self.digest {
            Some(DigestSource::Model { cut_off: false }) => f.write_str("; digest by the model")?,
            Some(DigestSource::Model { cut_off: true }) => f.write_str("; digest by the model, cut off")?,
            Some(DigestSource::Local(reason)) => write!(f, "; local digest: {reason}")?,
            None => {}
        }
        let n_missing = self.findings.iter().filter(|it| it.kind == FindingKind::MissingConstraint).count();
        for (what, count) in [("struck", self.findings.len() - n_missing), ("missing", n_missing)] {
            if count > 0 {
                write!(f, ", {what} {count}")?;
            }
        }
        match &self.ask_costs {
            Some(costs) => write!(f, "; {costs}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for CompactionReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unchanged {
            Some(reason) => {
                let (tokens, n_messages) = (self.tokens_before, self.messages_before);
                let plural = if n_messages == 1 { "" } else { "s" };
                write!(f, "unchanged ({reason}): {tokens} tokens in {n_messages} message{plural}")?;
            }
            None => self.fmt_changed(f)?,
        }
        if let Some(irreducible) = &self.irreducible {
            write!(f, "; {irreducible}")?;
        }
        if let Some(at_most) = self.at_most_tokens {
            write!(f, "; estimated, at most {at_most} tokens in the context")?;
        }
        if let Some(refused) = &self.refused {
            write!(f, "; {refused}")?;
        }
        if let Some(worth) = &self.worth {
            write!(f, "; weighed: {worth}")?;
        }
        if self.breaker_open {
            f.write_str("; breaker open: no model is asked")?;
        }
        Ok(())
    }
}
