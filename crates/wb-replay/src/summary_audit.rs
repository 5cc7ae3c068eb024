//! The summaries that a session records, compared with the messages that they replace.

use std::collections::HashSet;

use serde::Serialize;
use wb_facts::{Facts, Finding, FindingKind, audit};
use wb_formats::{Document, FormatError};
use wb_message::{Message, ToolVocabulary, markers};

use crate::session::{Segment, segments};

/// A summary and its findings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AuditedSummary {
    /// The messages that it was compared with: all before this number.
    pub messages: usize,
    /// The length of its text.
    pub characters: usize,
    /// Indicates that earlier messages are missing, so the audit looks for contradictions only.
    pub partial: bool,
    /// The mistakes.
    pub findings: Vec<Finding>,
}

/// Reads a session in the order it was said and audits each summary against what came before.
#[derive(Debug)]
pub struct SummaryAudit {
    vocabulary: ToolVocabulary,
    facts: Facts,
    /// The number of messages that were said.
    n_said: usize,
    /// The summaries that were audited.
    known: HashSet<String>,
}

impl SummaryAudit {
    /// Creates an audit of a session whose tools have these names.
    pub fn new(vocabulary: ToolVocabulary) -> Self {
        Self { vocabulary, facts: Facts::default(), n_said: 0, known: HashSet::new() }
    }

    /// Reads the next segment and returns its summaries; shows what was said.
    pub fn take_in(&mut self, segment: &Segment, mut show: impl FnMut(&Message)) -> Vec<AuditedSummary> {
        let n_kept = segment.n_seen.saturating_sub(segment.n_synthetic());
        let mut summaries = Vec::new();
        for (at, message) in segment.messages.iter().enumerate() {
            segment.observe_asides(at, &mut self.facts);
            if let Some(digest) = summary_in(message).filter(|_| self.n_said > 0) {
                if self.known.insert(digest.clone().into_owned()) {
                    let n_covered = self.n_said.saturating_sub(if at < segment.n_seen { n_kept } else { 0 });
                    summaries.push(one(&digest, &self.facts, n_covered));
                }
            } else if at >= segment.n_seen {
                self.facts.observe(message, &self.vocabulary);
                self.n_said += 1;
                show(message);
            }
        }
        segment.observe_asides(segment.messages.len(), &mut self.facts);
        summaries
    }

    /// Returns the facts of what was said.
    pub fn into_facts(self) -> Facts {
        self.facts
    }
}

/// Audits every summary that a conversation records.
pub fn audit_summaries(
    document: &dyn Document,
    conversation: &str,
    vocabulary: ToolVocabulary,
) -> Result<Vec<AuditedSummary>, FormatError> {
    let (mut audit, mut summaries) = (SummaryAudit::new(vocabulary), Vec::new());
    for segment in segments(document, conversation)? {
        summaries.extend(audit.take_in(&segment?, |_| ()));
    }
    Ok(summaries)
}

fn summary_in(message: &Message) -> Option<std::borrow::Cow<'_, str>> {
    markers::digest_body(message).filter(|_| !matches!(message, Message::BranchSummary { .. }))
}

/// Audits one summary, which need not contain what the user said in messages that stayed.
fn one(digest: &str, facts: &Facts, n_covered: usize) -> AuditedSummary {
    let mut found = audit(digest, facts);
    let stayed = |it: &Finding| it.message.is_some_and(|at| at as usize >= n_covered);
    found.retain(|it| it.kind != FindingKind::MissingConstraint || !stayed(it));
    AuditedSummary {
        messages: n_covered,
        characters: digest.chars().count(),
        partial: facts.is_partial(),
        findings: found,
    }
}
