//! Every summary in a session, held against the messages that it stands for.

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, anyhow};
use serde::Serialize;
use wb_message::text::one_line;
use wb_message::{Message, markers, outline};
use wb_replay::Session;
use wb_summarize::{Facts, Finding, FindingKind, audit as findings};

use crate::args::Audit;
use crate::escape::escaped;
use crate::number::grouped;
use crate::session::bytes_of;
use crate::show::style::{BAD, DIM, GOOD, HEAD};

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

/// Audits a session and prints what was found; returns how much that is.
pub(crate) fn audit(args: &Audit) -> Result<usize> {
    let file = args.file.display().to_string();
    let session = read(&args.file, &file)?;
    let (said, summaries) = audited(&session);
    let n_findings = summaries.iter().map(|summary| summary.findings.len()).sum();
    let mut out = anstream::stdout().lock();
    if args.json {
        crate::print_json(&mut out, &Audited { file: &file, format: session.format, summaries, n_findings })?;
        return Ok(n_findings);
    }
    let n = grouped(said.len() as u64);
    let file = escaped(&file);
    writeln!(out, "{HEAD}{file}{HEAD:#}  {DIM}{} · {n} messages{DIM:#}", session.format)?;
    if summaries.is_empty() {
        writeln!(out, "  no summaries: the session was never compacted, or what was before is gone")?;
    }
    for (nth, summary) in summaries.iter().enumerate() {
        show(&mut out, nth + 1, summary, &said)?;
    }
    Ok(n_findings)
}

fn read(path: &Path, file: &str) -> Result<Session> {
    let bytes = bytes_of(path).map_err(|error| anyhow!("{file}: {error}\nhint: name a session file"))?;
    Session::read(file, &bytes).map_err(|error| anyhow!("{file}: {error}\nhint: {}", error.hint()))
}

/// Goes through a session as it was said and audits each summary with what was said before it.
fn audited(session: &Session) -> (Vec<&Message>, Vec<Summary>) {
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
    (said, out)
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

fn show(out: &mut dyn Write, nth: usize, summary: &Summary, said: &[&Message]) -> io::Result<()> {
    let n = summary.findings.len();
    let style = if n == 0 { GOOD } else { BAD };
    let (messages, characters) = (grouped(summary.messages as u64), grouped(summary.characters as u64));
    let found = if n == 1 { "1 finding".to_owned() } else { format!("{n} findings") };
    writeln!(
        out,
        "\nSummary {nth} of {messages} messages, {characters} characters: {style}{found}{style:#}"
    )?;
    if summary.partial {
        writeln!(out, "  {DIM}messages before are gone: only contradictions are looked for{DIM:#}")?;
    }
    for finding in &summary.findings {
        let place = if finding.line == 0 { "missing".to_owned() } else { format!("line {}", finding.line) };
        let (text, why) = (one_line(&finding.text, 160), one_line(&finding.why, 200));
        writeln!(out, "  {place:<9} {}", escaped(&text))?;
        writeln!(out, "            {DIM}{}{DIM:#}", escaped(&why))?;
        if let Some((at, message)) = finding.message.and_then(|at| Some((at, said.get(at as usize)?))) {
            let line = outline::line(message);
            writeln!(out, "            {DIM}message {at}: {}{DIM:#}", escaped(&line))?;
        }
    }
    Ok(())
}
