//! The figures of a compaction.

use serde::Serialize;
use wb_conductor::CompactionReport;

use crate::call::Options;
use crate::compaction_progress::Progress;
use crate::operations::notes;
use crate::session::Session;

/// The figures of a compaction.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::struct_excessive_bools, reason = "a flat object is what machines read")]
pub struct Report {
    format: &'static str,
    /// Indicates that messages changed.
    pub changed: bool,
    /// The reason why nothing changed, or the result is not as was asked for.
    pub reason: Option<String>,
    messages_before: usize,
    messages_after: usize,
    /// The tokens of the context before.
    pub tokens_before: u64,
    /// The tokens of the context after.
    pub tokens_after: u64,
    message_tokens_before: u64,
    message_tokens_after: u64,
    cut: usize,
    cleared: usize,
    shortened: usize,
    restored_paths: Vec<String>,
    /// The digest, if one was written.
    pub digest: Option<String>,
    /// Indicates that the digest was built locally, although a model was asked for it.
    pub degraded: bool,
    /// The number of requests to the model.
    pub requests: usize,
    digest_tokens: u64,
    redacted: usize,
    window: u64,
    window_from: &'static str,
    limit: u64,
    target: Option<u64>,
    irreducible: bool,
    anchored: bool,
    overhead: u64,
    strategy: &'static str,
    steps: Vec<String>,
    notes: Vec<String>,
}

impl Report {
    pub(crate) fn progress(&self) -> Progress {
        if self.changed {
            Progress::Applied { messages: self.messages_after, tokens: self.tokens_after }
        } else {
            Progress::Unchanged { reason: self.reason.clone() }
        }
    }

    pub(crate) fn new(
        session: &Session,
        options: &Options,
        report: CompactionReport,
        digest: Option<String>,
    ) -> Self {
        let measure = &session.measure;
        let changed = report.undo.is_some();
        let tokens_before = measure.context_tokens;
        let tokens_after =
            if changed { measure.context_tokens_at(report.tokens_after) } else { tokens_before };
        Self {
            format: session.view.format,
            changed,
            reason: reason(&report, options.target_tokens, session),
            messages_before: report.messages_before,
            messages_after: report.messages_after,
            tokens_before,
            tokens_after,
            message_tokens_before: report.tokens_before,
            message_tokens_after: report.tokens_after,
            cut: report.cut,
            cleared: report.cleared.len(),
            shortened: report.previewed.len(),
            digest,
            degraded: report.fallback_reason().is_some(),
            requests: report.n_requests,
            digest_tokens: report.digest_tokens,
            redacted: report.redacted,
            window: session.window.tokens,
            window_from: session.window.from.word(),
            limit: session.limit,
            target: report.target_tokens,
            irreducible: report.irreducible.is_some(),
            anchored: measure.anchored,
            overhead: measure.overhead_tokens,
            strategy: options.strategy.name(),
            steps: report.step_names().into_iter().map(ToOwned::to_owned).collect(),
            notes: notes(session),
            restored_paths: report.restored,
        }
    }
}

fn reason(report: &CompactionReport, asked_tokens: Option<u64>, session: &Session) -> Option<String> {
    let sizes = [report.tokens_before, report.tokens_after];
    let missed = asked_tokens.and_then(|it| session.measure.missed_target(it, sizes, &session.view.messages));
    let unchanged = || report.unchanged.as_ref().map(ToString::to_string);
    let irreducible = || report.irreducible.as_ref().map(ToString::to_string);
    let fallback = || report.fallback_reason().map(|reason| format!("local digest: {reason}"));
    missed.or_else(unchanged).or_else(irreducible).or_else(fallback)
}
