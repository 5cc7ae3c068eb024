//! `wb log FILE OPERATION`: one operation, with the records that it hides, keeps and adds.

use std::collections::HashSet;
use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use wb_message::text::one_line;
use wb_record::{Blocks, CompactionBlock, HistoryError, RecordRef, Section};

use super::record_names::{RecordName, RecordNames};
use super::{OperationRow, SessionHistory};
use crate::session::history::history_error;
use crate::terminal::escape::escaped;
use crate::terminal::number::{count, grouped};
use crate::terminal::shell::Shell;
use crate::terminal::style::{DIM, HEAD};
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
    /// Empty if the digest is not in the current view.
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
        digest: blocks
            .sections(&view, id)
            .into_iter()
            .map(|Section { heading, text }| DigestSection { heading, text })
            .collect(),
    };
    if shell.is_json {
        return shell.print_json(&shown);
    }
    shell.print(|page| render_text(page, &shown))
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
    page.fact("tokens", &format!("{} → {}", grouped(row.tokens_before), grouped(row.tokens_after)))?;
    if row.of.is_some() {
        return Ok(());
    }
    page.fact("hides", &shown.hides.in_words())?;
    page.fact("keeps", &shown.keeps.in_words())?;
    page.fact("adds", &shown.brought.in_words())?;
    let below: Vec<String> = shown.builds_on.iter().map(|id| format!("operation {id}")).collect();
    page.fact("builds on", if below.is_empty() { "no other".to_owned() } else { below.join(", ") }.as_str())?;
    if shown.digest.is_empty() {
        return page.fact("digest", "none that the model sees now");
    }
    writeln!(page, "\n{HEAD}Digest{HEAD:#}")?;
    shown.digest.iter().try_for_each(|section| {
        let lead = if section.heading.is_empty() { "(no heading)" } else { &section.heading };
        let text = one_line(&section.text, 400);
        page.cut(&format!("  {}  {DIM}", escaped(lead)), &escaped(&text), &format!("{DIM:#}"))
    })
}
