//! Every summary in a session, held against the messages that it stands for.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use wb_message::text::one_line;
use wb_message::{Message, markers, outline};
use wb_replay::Session;
use wb_summarize::{Facts, Finding, FindingKind, audit as findings};

use crate::args::Audit;
use crate::escape::escaped;
use crate::exit_code::Exit;
use crate::number::{count, messages};
use crate::session::past_session;
use crate::shell::Shell;
use crate::style::{BAD, DIM, GOOD, HEAD};
use crate::wrap::Page;

/// The answer of `wb audit --json`.
#[derive(Debug, Serialize)]
struct Audited<'a> {
    file: &'a str,
    format: &'a str,
    summaries: Vec<Summary>,
    n_findings: usize,
}

/// One summary and what was found in it.
#[derive(Debug, Serialize)]
struct Summary {
    /// The messages that were held against it: all before this number.
    messages: usize,
    characters: usize,
    /// Whether messages were gone before, so that only contradictions were looked for.
    partial: bool,
    findings: Vec<Finding>,
}

/// Audits a session and prints what was found.
pub(crate) fn audit(shell: &Shell, args: &Audit) -> Result<Exit> {
    let session = shell.timed("reading", || past_session(&args.file))?;
    let (said, summaries, _) = shell.timed("auditing", || audited(&session));
    let n_findings = summaries.iter().map(|summary| summary.findings.len()).sum();
    if shell.is_json {
        shell.print_json(&Audited { file: &session.name, format: session.format, summaries, n_findings })?;
    } else {
        shell.print(|page| people(page, &session, &summaries, &said))?;
    }
    Ok(if n_findings > 0 { Exit::Found } else { Exit::Done })
}

fn people(
    page: &mut Page<'_>,
    session: &Session,
    summaries: &[Summary],
    said: &[&Message],
) -> io::Result<()> {
    page.heading(&escaped(&session.name), &format!("{} · {}", session.format, messages(said.len())))?;
    if summaries.is_empty() {
        page.prose("  ", 2, "no summaries: the session was never compacted, or what was before is gone")?;
    }
    let mut numbered = summaries.iter().enumerate();
    numbered.try_for_each(|(nth, summary)| show(page, nth + 1, summary, said))
}

/// Goes through a session as it was said and audits each summary with what was said before it; returns what was said,
/// the summaries, and the facts of the whole.
fn audited(session: &Session) -> (Vec<&Message>, Vec<Summary>, Facts) {
    let (mut facts, mut said, mut out) = (Facts::default(), Vec::new(), Vec::new());
    let mut known = std::collections::HashSet::new();
    for segment in &session.segments {
        let n_kept = segment.n_seen.saturating_sub(segment.n_digests());
        for (at, message) in segment.messages.iter().enumerate() {
            let digest =
                markers::digest_body(message).filter(|_| !matches!(message, Message::BranchSummary { .. }));
            if let Some(digest) = digest.filter(|_| !said.is_empty()) {
                if known.insert(digest.clone().into_owned()) {
                    let n_covered = said.len().saturating_sub(if at < segment.n_seen { n_kept } else { 0 });
                    out.push(one(&digest, &facts, n_covered));
                }
            } else if at >= segment.n_seen {
                facts.take_in(message, &session.vocabulary);
                said.push(message);
            }
        }
    }
    (said, out, facts)
}

/// Returns the facts of a whole session, and what its newest summary says that they do not bear out.
pub(crate) fn newest_summary(session: &Session) -> Option<(Facts, Vec<Finding>)> {
    let (_, mut summaries, facts) = audited(session);
    Some((facts, summaries.pop()?.findings))
}

/// Audits one summary; what the user said in messages that stayed beside it need not be in it.
fn one(digest: &str, facts: &Facts, n_covered: usize) -> Summary {
    let mut found = findings(digest, facts);
    let stayed = |it: &Finding| it.message.is_some_and(|at| at as usize >= n_covered);
    found.retain(|it| it.kind != FindingKind::MissingConstraint || !stayed(it));
    Summary {
        messages: n_covered,
        characters: digest.chars().count(),
        partial: facts.is_partial(),
        findings: found,
    }
}

/// Where the text of a finding begins.
const INDENT: usize = 12;

fn show(page: &mut Page<'_>, nth: usize, summary: &Summary, said: &[&Message]) -> io::Result<()> {
    let n = summary.findings.len();
    let style = if n == 0 { GOOD } else { BAD };
    let (messages, found) = (messages(summary.messages), count(n, "finding", "findings"));
    let characters = count(summary.characters, "character", "characters");
    writeln!(page)?;
    page.prose(
        "",
        2,
        &format!("{HEAD}Summary {nth}{HEAD:#} of {messages}, {characters}: {style}{found}{style:#}"),
    )?;
    if summary.partial {
        let note = "messages before are gone: only contradictions are looked for";
        page.prose("  ", 4, &format!("{DIM}{note}{DIM:#}"))?;
    }
    summary.findings.iter().try_for_each(|finding| show_finding(page, finding, said))
}

fn show_finding(page: &mut Page<'_>, finding: &Finding, said: &[&Message]) -> io::Result<()> {
    let place = match finding.line {
        0 => "missing".to_owned(),
        line => format!("line {line}"),
    };
    let (text, why) = (one_line(&finding.text, 160), one_line(&finding.why, 200));
    page.prose(&format!("  {place:<9} "), INDENT, &escaped(&text))?;
    let blanks = " ".repeat(INDENT);
    page.prose(&blanks, INDENT, &format!("{DIM}{}{DIM:#}", escaped(&why)))?;
    let shown = finding.message.and_then(|at| Some((at, said.get(at as usize)?)));
    let Some((at, message)) = shown else { return Ok(()) };
    let line = format!("message {at}: {}", outline::line(message));
    page.cut(&format!("{blanks}{DIM}"), &escaped(&line), &format!("{DIM:#}"))
}
