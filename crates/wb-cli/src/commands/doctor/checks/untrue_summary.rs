//! A newest summary that contradicts the session.

use std::path::Path;

use wb_facts::{Finding, FindingKind};
use wb_message::Message;
use wb_message::markers::digest_body;

use super::Check;
use crate::commands::doctor::examination::{Examination, lines_of};
use crate::commands::doctor::problem::Problem;
use crate::terminal::escape::file_word;
use crate::terminal::number::count;

/// The check.
pub(crate) const CHECK: Check = Check { rule: "summary-contradicts", find };

/// Returns whether a finding misleads an agent that resumes from the summary.
fn is_misleading(finding: &Finding) -> bool {
    use FindingKind::{FailedSince, TaskState, UnknownApproval, Withdrawn};
    matches!(finding.kind, TaskState | Withdrawn | FailedSince | UnknownApproval)
}

fn find(case: &Examination<'_>) -> Vec<Problem> {
    problem(case).into_iter().collect()
}

fn problem(Examination { session, path, unsupported, .. }: &Examination<'_>) -> Option<Problem> {
    let findings = unsupported;
    let first = findings.iter().find(|it| is_misleading(it))?;
    let n = findings.iter().filter(|it| is_misleading(it)).count();
    let what = format!(
        "its newest summary contradicts the session in {}: “{}”, but {}; {} in all",
        count(n, "place", "places"),
        wb_message::text::one_line(&first.text, 120),
        first.why,
        count(findings.len(), "finding", "findings")
    );
    let is_summary = |it: &Message| digest_body(it).is_some() && !matches!(it, Message::BranchSummary { .. });
    let line = session.opened.messages.iter().rposition(is_summary).and_then(|at| lines_of(session)(at, ""));
    let problem = Problem::new(what, Some(audit_of(path)), UNTRUE).at_line(line);
    Some(Problem { advice: Some(UNTRUE.to_owned()), ..problem })
}

/// Returns a note on findings in the newest summary, if none of them misleads.
pub(crate) fn harmless_findings(case: &Examination<'_>) -> Option<String> {
    let findings = &case.unsupported;
    let is_one = !findings.is_empty() && !findings.iter().any(is_misleading);
    let n = count(findings.len(), "finding", "findings");
    is_one.then(|| {
        format!("its newest summary has {n}, none of which contradicts the session: {}", audit_of(case.path))
    })
}

fn audit_of(path: &Path) -> String {
    format!("wb audit {}", file_word(path))
}

/// The advice for an agent that continues from a false summary.
const UNTRUE: &str = "correct the agent before it resumes; the command below shows every finding";
