//! `wb log FILE OPERATION`: one operation, with the records that it hides, keeps and adds.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use wb_formats::newest;
use wb_message::markers::digest_body;
use wb_record::{Blocks, CompactionBlock, HistoryError, Operation, OperationKind, RecordRef, Section};

use super::operation_digest::{digest_in, n_cleared};
use super::record_names::{RecordName, RecordNames};
use super::{OperationRow, SessionHistory};
use crate::session::copy::copy_with;
use crate::session::history::history_error;
use crate::session::report::digest_text;
use crate::terminal::escape::{escaped, file_word};
use crate::terminal::number::{count, grouped};
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The answer of `wb log FILE OPERATION --json`.
#[derive(Debug, Serialize)]
struct OperationJson {
    file: String,
    #[serde(flatten)]
    row: OperationRow,
    hides: Records,
    /// The records that the model saw before it and still sees.
    keeps: Records,
    brought: Records,
    /// The operations that it depends on: it hides the records they added.
    #[serde(rename = "stands_on")]
    builds_on: Vec<u64>,
    /// The tool results that it cleared.
    cleared: usize,
    /// Empty if it wrote none.
    digest: Vec<DigestSection>,
}

/// A count of records, with the first and the last.
#[derive(Debug, Default, Serialize)]
struct Records {
    n: usize,
    /// The first record; none if it is gone or changed.
    first: Option<RecordName>,
    last: Option<RecordName>,
}

/// The answer of `wb show --json` where the agent compacted by itself.
#[derive(Debug, Serialize)]
struct SummaryJson {
    file: String,
    operation: Option<u64>,
    digest: Vec<DigestSection>,
}

#[derive(Debug, Serialize)]
struct DigestSection {
    heading: String,
    text: String,
}

/// Shows one operation.
pub(crate) fn show(shell: &Shell, log: &SessionHistory, id: u64) -> Result<()> {
    let unknown = || history_error(&log.file, &HistoryError::Unknown { id });
    let operation = log.history.operations().find(|it| it.id == id).ok_or_else(unknown)?;
    let names = RecordNames::new(log.document.parts()).map_err(|error| log.unreadable(&error.into()))?;
    let view = log.document.view(&operation.conversation).map_err(|error| log.unreadable(&error))?;
    let blocks = Blocks::new(&log.history);
    let block = blocks.get(id);
    let shown = OperationJson {
        file: log.file.clone(),
        row: OperationRow::new(operation, &log.history),
        keeps: block.map(|block| Records::new(&records_kept(block), &names)).unwrap_or_default(),
        hides: block.map(|block| Records::new(&block.covers, &names)).unwrap_or_default(),
        brought: block.map(|block| Records::new(&block.brought, &names)).unwrap_or_default(),
        builds_on: block.map(|block| block.parents.clone()).unwrap_or_default(),
        cleared: n_cleared(&operation.changes),
        digest: digest(log, operation, blocks.sections(&view, id)),
    };
    if shell.is_json {
        return shell.print_json(&shown);
    }
    // The figures come last, where a pager does not hide them.
    if !shown.digest.is_empty() {
        shell.print_long(|page| render_digest(page, &shown.digest))?;
    }
    shell.print(|page| render_text(page, &shown))
}

/// Returns the sections of a digest: those that the model sees, or else those that were written, or
/// of an undone operation those that a redo would bring.
fn digest(log: &SessionHistory, operation: &Operation, seen: Vec<Section>) -> Vec<DigestSection> {
    let redone = || {
        let copy = copy_with(&log.file, log.document.as_ref(), &operation.changes).ok()?;
        let view = copy.view(&operation.conversation).ok()?;
        view.messages.iter().find_map(digest_body).map(Cow::into_owned)
    };
    let is_undone = log.history.is_undone(operation.id);
    let written = || digest_in(&operation.changes).or_else(|| is_undone.then(redone).flatten());
    let is_compaction = operation.what == OperationKind::Compact;
    let sections = if seen.is_empty() && is_compaction {
        written().map(|digest| Section::parse(&digest)).unwrap_or_default()
    } else {
        seen
    };
    sections.into_iter().map(|Section { heading, text }| DigestSection { heading, text }).collect()
}

/// Shows the summary that a session has without an operation of `wb`.
pub(crate) fn show_summary(shell: &Shell, log: &SessionHistory) -> Result<()> {
    let conversation = newest(log.document.as_ref()).map_err(|error| log.unreadable(&error))?;
    let view = log.document.view(&conversation).map_err(|error| log.unreadable(&error))?;
    let Some(digest) = view.messages.iter().rev().find_map(digest_body) else {
        let hint = format!("`wb plan {}` previews a compaction", file_word(Path::new(&log.file)));
        return Err(UserError::of_file(&log.file, "the session has no compaction", hint).into());
    };
    let digest = Section::parse(&digest).into_iter();
    let digest = digest.map(|Section { heading, text }| DigestSection { heading, text }).collect();
    let summary = SummaryJson { file: log.file.clone(), operation: None, digest };
    if shell.is_json {
        return shell.print_json(&summary);
    }
    shell.print_long(|page| render_digest(page, &summary.digest))?;
    shell.print(|page| page.heading("summary by the agent", &escaped(&summary.file)))
}

/// Returns the records of the view before that are not covered.
fn records_kept<'h>(block: &CompactionBlock<'h>) -> Vec<&'h RecordRef> {
    let covered: HashSet<&RecordRef> = block.covers.iter().copied().collect();
    block.operation.before.iter().filter(|record| !covered.contains(record)).collect()
}

impl Records {
    fn new(records: &[&RecordRef], names: &RecordNames<'_>) -> Self {
        let name = |record: Option<&&RecordRef>| record.and_then(|record| names.of_record(record));
        let first = name(records.iter().min_by_key(|record| &record.span));
        let last = name(records.iter().max_by_key(|record| &record.span));
        Self { n: records.len(), first, last }
    }

    fn in_words(&self) -> String {
        let n = count(self.n, "record", "records");
        match (&self.first, &self.last) {
            _ if self.n == 0 => n,
            (Some(first), Some(last)) if first == last => format!("{n}, {first}"),
            (Some(RecordName::Line(first)), Some(RecordName::Line(last))) => {
                format!("{n}, lines {} to {}", grouped(*first as u64), grouped(*last as u64))
            }
            (Some(first), Some(last)) => format!("{n}, {first} to {last}"),
            _ if self.n == 1 => format!("{n}, which is not there any more as it was"),
            _ => format!("{n}, which are not there any more as they were"),
        }
    }
}

fn render_text(page: &mut Page<'_>, shown: &OperationJson) -> io::Result<()> {
    let row = &shown.row;
    let state = if row.undone { ", undone" } else { "" };
    page.heading(&format!("operation {}: {}{state}", row.operation, row.what()), &escaped(&shown.file))?;
    page.fact("when", &row.at)?;
    if row.is_weighed() {
        let (before, after) = row.tokens();
        page.fact("tokens", &format!("{before} → {after}"))?;
    }
    if row.of.is_some() {
        return Ok(());
    }
    page.fact("hides", &shown.hides.in_words())?;
    page.fact("keeps", &shown.keeps.in_words())?;
    page.fact("adds", &shown.brought.in_words())?;
    if shown.cleared > 0 {
        page.fact("clears", &count(shown.cleared, "tool result", "tool results"))?;
    }
    let below: Vec<String> = shown.builds_on.iter().map(|id| format!("operation {id}")).collect();
    let below = if below.is_empty() { "no earlier operation".to_owned() } else { below.join(", ") };
    page.fact("builds on", &below)?;
    if shown.digest.is_empty() {
        let none = if shown.cleared > 0 { "none: it only cleared results" } else { "none" };
        return page.fact("digest", none);
    }
    Ok(())
}

fn render_digest(page: &mut Page<'_>, digest: &[DigestSection]) -> io::Result<()> {
    let section = |DigestSection { heading, text }: &DigestSection| match heading.as_str() {
        "" => text.trim().to_owned(),
        heading => format!("# {heading}\n{}", text.trim()),
    };
    digest_text(page, &digest.iter().map(section).collect::<Vec<_>>().join("\n"))?;
    writeln!(page)
}
