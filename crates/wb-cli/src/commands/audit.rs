//! Compares every summary in a session with the messages that it replaces.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use wb_facts::{Facts, Finding};
use wb_formats::{Document, FormatError, newest};
use wb_message::text::one_line;
use wb_message::{ToolVocabulary, markers, outline};
use wb_record::Access;
use wb_replay::{AuditedSummary, Segment, SummaryAudit, segments};

use crate::args::Audit;
use crate::session::document;
use crate::terminal::escape::escaped;
use crate::terminal::exit_code::Exit;
use crate::terminal::file_error::not_read;
use crate::terminal::number::{count, messages};
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM, GOOD, HEAD};
use crate::terminal::wrap::Page;

/// The answer of `wb audit --json`.
#[derive(Debug, Serialize)]
struct Audited<'a> {
    file: &'a str,
    format: &'a str,
    summaries: Vec<AuditedSummary>,
    n_findings: usize,
}

/// Audits a session and prints the findings.
pub(crate) fn audit(shell: &Shell, args: &Audit) -> Result<Exit> {
    let document = document(&args.file, Access::Read)?;
    let audited = shell.timed("auditing", || audited(document.as_ref()));
    let (said, summaries) = audited.map_err(|error| not_read(&args.file, &error))?;
    let (file, format) = (args.file.display().to_string(), document.format().name());
    let n_findings = summaries.iter().map(|summary| summary.findings.len()).sum();
    if shell.is_json {
        shell.print_json(&Audited { file: &file, format, summaries, n_findings })?;
    } else {
        shell.print(|page| {
            page.heading(&escaped(&file), &format!("{format} · {}", messages(said.len())))?;
            render_text(page, &summaries, &said)
        })?;
    }
    Ok(if n_findings > 0 { Exit::Found } else { Exit::Done })
}

fn render_text(page: &mut Page<'_>, summaries: &[AuditedSummary], said: &[String]) -> io::Result<()> {
    if summaries.is_empty() {
        page.prose(
            "  ",
            2,
            "no summaries: the session was never compacted, or the original messages are gone",
        )?;
    }
    let mut numbered = summaries.iter().enumerate();
    numbered.try_for_each(|(nth, summary)| show(page, nth + 1, summary, said))
}

/// Returns a line for each message that was said, and every summary.
fn audited(document: &dyn Document) -> Result<(Vec<String>, Vec<AuditedSummary>), FormatError> {
    let conversation = newest(document)?;
    let mut auditing = SummaryAudit::new(document.view(&conversation)?.vocabulary);
    let (mut said, mut summaries) = (Vec::new(), Vec::new());
    for segment in segments(document, &conversation)? {
        summaries.extend(auditing.take_in(&segment?, |message| said.push(outline::line(message))));
    }
    Ok((said, summaries))
}

/// Returns the unsupported claims of a session's newest summary, if any; passes each segment to a
/// callback. The facts are collected only if there may be a summary.
pub(crate) fn newest_findings(
    document: &dyn Document,
    conversation: &str,
    vocabulary: ToolVocabulary,
    mut see: impl FnMut(&Segment),
) -> Result<Option<Vec<Finding>>, FormatError> {
    let mut all = segments(document, conversation)?;
    if all.size_hint() != (1, Some(1)) {
        return Ok(newest_summary(document, conversation, vocabulary, see)?.1);
    }
    let Some(only) = all.next().transpose()? else { return Ok(None) };
    let mut auditing = SummaryAudit::new(vocabulary);
    let has_summary = only.messages.iter().any(|message| markers::digest_body(message).is_some());
    let summary = if has_summary { auditing.take_in(&only, |_| ()).pop() } else { None };
    see(&only);
    Ok(summary.map(|summary| summary.findings))
}

/// Returns the facts of a whole session and the unsupported claims of its newest summary, if any;
/// passes each segment to a callback.
pub(crate) fn newest_summary(
    document: &dyn Document,
    conversation: &str,
    vocabulary: ToolVocabulary,
    mut see: impl FnMut(&Segment),
) -> Result<(Facts, Option<Vec<Finding>>), FormatError> {
    let (mut auditing, mut newest) = (SummaryAudit::new(vocabulary), None);
    for segment in segments(document, conversation)? {
        let segment = segment?;
        newest = auditing.take_in(&segment, |_| ()).pop().or(newest);
        see(&segment);
    }
    Ok((auditing.into_facts(), newest.map(|summary| summary.findings)))
}

/// The indent of a finding's text.
const INDENT: usize = 12;

fn show(page: &mut Page<'_>, nth: usize, summary: &AuditedSummary, said: &[String]) -> io::Result<()> {
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

fn show_finding(page: &mut Page<'_>, finding: &Finding, said: &[String]) -> io::Result<()> {
    let place = match finding.line {
        0 => "missing".to_owned(),
        line => format!("line {line}"),
    };
    let (text, why) = (one_line(&finding.text, 160), one_line(&finding.why, 200));
    page.prose(&format!("  {place:<9} "), INDENT, &escaped(&text))?;
    let blanks = " ".repeat(INDENT);
    page.prose(&blanks, INDENT, &format!("{DIM}{}{DIM:#}", escaped(&why)))?;
    let shown = finding.message.and_then(|at| Some((at, said.get(at as usize)?)));
    let Some((at, said)) = shown else { return Ok(()) };
    let line = format!("message {at}: {said}");
    page.cut(&format!("{blanks}{DIM}"), &escaped(&line), &format!("{DIM:#}"))
}
