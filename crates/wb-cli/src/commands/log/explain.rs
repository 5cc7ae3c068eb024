//! `wb log FILE --explain RECORD`: what became of a record.

use anyhow::Result;
use serde::Serialize;
use wb_formats::newest;
use wb_record::{Blocks, Explanation, FormatError, RecordRef, Span, View};

use super::SessionHistory;
use super::record_names::{RecordName, RecordNames};
use crate::commands::recall::session_index;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// The answer of `wb log FILE --explain RECORD --json`.
#[derive(Debug, Serialize)]
struct Explained<'a> {
    file: &'a str,
    record: RecordName,
    state: &'static str,
    /// The number in the whole session of the first message that a visible record is part of; none
    /// for what a compaction wrote.
    message: Option<usize>,
    /// The operation that added a visible record.
    brought_by: Option<u64>,
    /// The operations that hide it: the first hides it, and each other one hides what the previous
    /// one added.
    hidden_by: Vec<u64>,
}

/// Reports whether the model sees a record, and if not, what hides it.
pub(crate) fn explain(shell: &Shell, log: &SessionHistory, record: &str) -> Result<()> {
    let parts = log.document.parts();
    let failed = |error: FormatError| log.unreadable(&error);
    let names = RecordNames::new(parts).map_err(|error: std::io::Error| failed(error.into()))?;
    let unknown = || UserError::of_file(&log.file, format!("there is no record {record}"), names.hint());
    let (name, span) = names.find(record).ok_or_else(unknown)?;
    let (kept, view) = log.record_at(&span).map_err(failed)?;
    let explanation = Blocks::new(&log.history).explain(parts, &view, &kept);
    let explanation = explanation.map_err(|error: std::io::Error| failed(error.into()))?;
    let numbers = session_index::numbers(log.document.as_ref(), &view.messages).map_err(failed)?;
    let explained = Explained::new(&log.file, name, explanation, &numbers);
    if shell.is_json {
        return shell.print_json(&explained);
    }
    shell.print(|page| page.prose("", 2, &explained.in_words()))
}

impl SessionHistory {
    /// Returns the first record of a line or a row, verbatim, and the view of its conversation.
    fn record_at(&self, at: &Span) -> Result<(RecordRef, View), FormatError> {
        let parts = self.document.parts();
        let is_it =
            |span: &Span| span.part == at.part && span.at < at.at + at.len && at.at < span.at + span.len;
        let kept = |span: &Span| {
            Ok::<_, FormatError>(RecordRef { span: span.clone(), hash: parts.fingerprint(span)? })
        };
        let is_unchanged =
            |record: &&RecordRef| is_it(&record.span) && kept(&record.span).is_ok_and(|now| now == **record);
        let known = self.history.operations().rev().find_map(|operation| {
            let mut records = operation.before.iter().chain(self.history.records_after(operation.id));
            Some((operation, records.find(is_unchanged)?))
        });
        let conversation = match known {
            Some((operation, _)) => operation.conversation.clone(),
            None => newest(self.document.as_ref())?,
        };
        let view = self.document.view(&conversation)?;
        let places = (0..view.messages.len()).flat_map(|at| view.provenance.places(at));
        let seen = places.map(|place| &place.record).find(|span| is_it(span)).cloned();
        let record = match (seen, known) {
            (None, Some((_, record))) => record.clone(),
            (seen, _) => kept(seen.as_ref().unwrap_or(at))?,
        };
        Ok((record, view))
    }
}

impl<'a> Explained<'a> {
    fn new(file: &'a str, record: RecordName, explanation: Explanation, numbers: &[Option<usize>]) -> Self {
        let (state, message, brought_by, hidden_by) = match explanation {
            Explanation::Seen { at, brought_by } => ("seen", numbers[at], brought_by, Vec::new()),
            Explanation::Hidden { by } => ("hidden", None, None, by),
            Explanation::Outside => ("outside", None, None, Vec::new()),
        };
        Self { file, record, state, message, brought_by, hidden_by }
    }

    fn in_words(&self) -> String {
        let record = &self.record;
        if self.state == "seen" {
            let number = self.message.map_or_else(String::new, |at| format!(", as message {at}"));
            let by = self.brought_by.map_or_else(String::new, |by| format!("; operation {by} added it"));
            return format!("{record} is seen by the model{number}{by}");
        }
        if self.hidden_by.is_empty() {
            return format!("{record} is not seen by the model, and no operation of wb hides it");
        }
        let by = self.hidden_by.iter().map(|by| format!("is hidden by operation {by}"));
        format!("{record} {}", by.collect::<Vec<_>>().join(", whose result "))
    }
}
