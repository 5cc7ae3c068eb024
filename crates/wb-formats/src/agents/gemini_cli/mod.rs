//! Sessions of Gemini CLI: JSON lines, or one object as older versions wrote them.
//!
//! The files in reading order: the `log` reduced to the remaining messages, each an `entry`, and
//! one `record` of it.

mod record;
mod entry;
mod log;

use serde_json::json;
use wb_message::ToolVocabulary;
use wb_record::splice::Joint;
use wb_record::{
    ChangeSet, Confidence, Document, Format, FormatError, NotExpressible, Note, Numbers, Parts, Probe,
    ProbedValue, Provenance, Segment, Segments, View, Wanted, forget_stale_usage,
};
use wb_session::iso_ms;

use self::entry::MessageEntry;
use self::log::Log;
use self::record::{RecordWriter, add};
use crate::kit::draft::Draft;
use crate::kit::records::{in_place, records};
use crate::kit::skips::Skips;

const NAME: &str = "gemini-cli";

/// Sessions of Gemini CLI, of all versions.
///
/// * A message that is written again replaces the earlier one; what the user went back over is left
///   out. After `$set` with a list of messages that list continues.
/// * A result is in its call and counts as failed by its status; versions that repeat it in the
///   user's place are read once, since two answers to one call are refused. What the host says of
///   the place where it runs is pinned
///   ([`ENVIRONMENT_TYPE`](wb_message::markers::ENVIRONMENT_TYPE)). Thoughts are not sent again;
///   notices are for the screen.
/// * A host that resumes a session rewrites the list, in other words. Messages that say the same
///   keep the records that they had.
/// * Usage counts as long as no other list replaced the one that was sent.
///
/// A compaction appends a list with a copy of every message that stays, byte for byte. In the one
/// object of older versions messages are replaced in place.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GeminiCli;

impl Format for GeminiCli {
    fn name(&self) -> &'static str {
        NAME
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_header = probe
            .first()
            .is_some_and(|first| ["sessionId", "projectHash", "startTime"].iter().all(|key| first.has(key)));
        let is_answer = |it: &ProbedValue| it.r#type == "gemini" && it.has("id") && it.has("timestamp");
        if is_header || probe.values.iter().any(is_answer) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let log = Log::read(parts.as_ref())?;
        Ok(Box::new(GeminiCliDocument { parts, log }))
    }
}

/// A session of Gemini CLI.
#[derive(Debug)]
struct GeminiCliDocument {
    parts: Box<dyn Parts>,
    log: Log,
}

impl GeminiCliDocument {
    fn assemble(&self, entries: &[MessageEntry]) -> (Segment, Provenance, Skips) {
        let (mut draft, mut passed) = (Draft::default(), Skips::default());
        for entry in entries {
            let MessageEntry { record, line, is_counted, .. } = entry;
            let bytes = self.parts.bytes(entry.words()).unwrap_or_default();
            if !add(&mut draft, &bytes, record.clone(), *is_counted) {
                passed.unreadable(*line);
            }
        }
        passed.n_orphans = draft.n_orphans();
        let (mut segment, provenance) = draft.finish();
        // A single object does not record what it held when a request was sent; only our edits are
        // known.
        if self.log.elements.is_some() {
            forget_stale_usage(&segment.messages, &mut segment.usage);
        }
        (segment, provenance, passed)
    }
}

impl Document for GeminiCliDocument {
    fn format(&self) -> &'static dyn Format {
        &GeminiCli
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let log = &self.log;
        let (segment, provenance, passed) = self.assemble(&log.live);
        let mut view = View::new(NAME, ToolVocabulary::UNIVERSAL);
        (view.messages, view.usage, view.provenance) = (segment.messages, segment.usage, provenance);
        view.provenance.join_records();
        view.model.clone_from(&log.model);
        view.notes = log.end.notes(passed);
        // The list was replaced by one that does not continue it.
        if !log.before.is_empty() {
            view.notes.push(Note::CompactionApplied { tokens_before: None });
        }
        Ok(view)
    }

    fn segments(&self, _: &str) -> Result<Segments<'_>, FormatError> {
        let Log { before, live, .. } = &self.log;
        let entries = |at| before.get(at).unwrap_or(live);
        Ok(Segments::new(before.len() + 1, move |at| Ok(self.assemble(entries(at)).0)))
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        let Wanted { view, stamp, .. } = *wanted;
        let mut writer = RecordWriter { messages: &view.messages, stamp, ids: Numbers::new(stamp.seed) };
        let parts = self.parts.as_ref();
        let records = records(wanted, parts, &mut writer)?;
        if let Some(elements) = &self.log.elements {
            return in_place(view, parts, elements, records, Joint::Comma);
        }
        let records = records.into_iter().map(|record| record.bytes(parts));
        let list = records.collect::<Result<Vec<_>, _>>()?.join(&b","[..]);
        let start: &[u8] = if self.log.end.is_ended { b"" } else { b"\n" };
        let updated = json!({ "$set": { "lastUpdated": iso_ms(stamp.now_ms) } }).to_string();
        let new = [start, b"{\"$set\":{\"messages\":[", &list, b"]}}\n", updated.as_bytes(), b"\n"].concat();
        Ok(ChangeSet::append("", self.log.end.n_bytes, new))
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.log = Log::read(self.parts.as_ref())?;
        Ok(())
    }
}
