//! What a compaction did, what it gave up and why.

use std::fmt;

use wb_budget::{Irreducible, PolicyError, Usage, WeighedTranscript, Worth};
use wb_facts::{Facts, Finding, FindingKind};
use wb_message::{PatchError, Undo};
use wb_summarize::{AskCosts, NoDigest};

/// A step that changed the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepReport {
    /// The step's name.
    pub name: String,
    /// What the transcript weighed after it, in tokens; a digest counts with the most that it may weigh.
    pub tokens_after: u64,
    /// The messages after it.
    pub messages_after: usize,
}

/// Why the input came back as it was.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Unchanged {
    /// The transcript is within its budget.
    UnderBudget,
    /// Nothing before the tail is worth folding, and nothing in it can be shortened.
    NothingToFold,
    /// The result would not be lighter.
    NotLighter,
    /// The host cancelled.
    Cancelled,
    /// The transcript is no longer the one that was prepared.
    PrefixChanged,
    /// The policy makes no sense.
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
            Self::Cancelled => f.write_str("cancelled"),
            Self::PrefixChanged => f.write_str("the transcript changed meanwhile"),
            Self::BadPolicy(error) => error.fmt(f),
            Self::Refused(error) => error.fmt(f),
        }
    }
}

/// Who wrote the digest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DigestSource {
    /// The model.
    Model {
        /// Whether its reply reached its limit, so that it had more to say.
        cut_off: bool,
    },
    /// The engine itself, and why.
    Local(NoDigest),
}

/// What a compaction did. [`fmt::Display`] gives it in one line.
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
    /// Tokens that the gate went by: what the provider reported, else the estimate and the overhead.
    pub context_tokens: u64,
    /// Whether [`Self::context_tokens`] is what the provider reported.
    pub anchored: bool,
    /// How many tokens there may be, where nothing was ever reported and the counter knows how far off it may be. The gate
    /// goes by that; all other figures are the estimate.
    pub at_most_tokens: Option<u64>,
    /// Tokens above which the gate fires, where there is a window.
    pub limit_tokens: Option<u64>,
    /// Tokens at or below which the output should land, where there is a window.
    pub target_tokens: Option<u64>,
    /// Index of the first message of the tail; what stands before it was folded, but for pinned messages and a latest
    /// prompt that was too long for a digest. 0 where nothing was folded.
    pub cut: usize,
    /// Messages that were folded.
    pub folded: usize,
    /// Indices in the input of tool results that were cleared.
    pub cleared: Vec<usize>,
    /// Indices in the input of bodies that were shortened.
    pub previewed: Vec<usize>,
    /// Paths of the files that were given back, oldest first.
    pub restored: Vec<String>,
    /// The digest's weight in tokens, 0 where nothing was folded.
    pub digest_tokens: u64,
    /// Who wrote the digest, where there is one.
    pub digest: Option<DigestSource>,
    /// What the digest was told from, where the run collected it itself; see [`Facts::is_partial`].
    pub facts: Option<Box<Facts>>,
    /// What in the model's digest the session does not bear out, which was struck, and which constraints were missing, which
    /// were added as far as they fit.
    pub findings: Vec<Finding>,
    /// How the model was asked for the digest and what that was chosen by, where the host says that it is the model of the
    /// conversation, and its prices are known.
    pub asked: Option<AskCosts>,
    /// What the model's requests cost.
    pub usage: Usage,
    /// How many requests were made.
    pub n_requests: usize,
    /// Why a figure that the host gave was not believed.
    pub refused: Option<String>,
    /// Why the output is not within its target.
    pub irreducible: Option<Irreducible>,
    /// What the moment was chosen by, where prices are known and a session is followed.
    pub worth: Option<Worth>,
    /// Whether runs that did not help have opened the breaker, so that no model is asked.
    pub breaker_open: bool,
    /// Why the input came back as it was; none where it was changed.
    pub unchanged: Option<Unchanged>,
    /// What takes the change back.
    pub undo: Option<Undo>,
}

impl CompactionReport {
    /// Tells whether the transcript was changed.
    pub fn is_changed(&self) -> bool {
        self.unchanged.is_none()
    }

    /// Returns why a local digest stands where a model was asked for one.
    pub fn degraded(&self) -> Option<&NoDigest> {
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

    /// Reports that a policy makes no sense, so that nothing was planned.
    pub(crate) fn of_bad_policy(view: &WeighedTranscript<'_>, error: PolicyError) -> Self {
        let (tokens_before, messages_before) = (view.total_tokens(), view.messages.len());
        Self { tokens_before, messages_before, ..Self::default() }.not_changed(Unchanged::BadPolicy(error))
    }

    pub(crate) fn not_changed(mut self, reason: Unchanged) -> Self {
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

impl CompactionReport {
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
        match &self.asked {
            Some(costs) => write!(f, "; {costs}"),
            None => Ok(()),
        }
    }
}
