//! Session files of pi: JSON lines that form a tree, read by [`wb_session`].

use std::io::BufReader;

use wb_message::ToolVocabulary;
use wb_record::{
    Abilities, ChangeSet, Confidence, Document, Format, FormatError, Item, NotExpressible, Note, PartReader,
    Parts, Probe, Seen, Segment, Segments, Stamp, UsageAt, View,
};
use wb_session::{Context, LogNote, SessionLog, build_context};

use crate::error::of_log;

/// Session files of the pi coding agent and of agents that write like it.
///
/// The conversation is the path to the last entry; see [`build_context`] for what of it the model sees. Usage is
/// given for the requests that were made with this very context, which are those after the last compaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pi;

impl Format for Pi {
    fn name(&self) -> &'static str {
        "pi"
    }

    fn abilities(&self) -> Abilities {
        Abilities::none("not written yet")
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_header = |first: &Seen| first.r#type == "session";
        if probe.first().is_some_and(is_header) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let log = read(parts.as_ref())?;
        Ok(Box::new(PiDocument { parts, log }))
    }
}

fn read(parts: &dyn Parts) -> Result<SessionLog, FormatError> {
    SessionLog::read(BufReader::new(PartReader::new(parts, "", 0)?)).map_err(of_log)
}

/// A session file of pi.
#[derive(Debug)]
struct PiDocument {
    parts: Box<dyn Parts>,
    log: SessionLog,
}

impl Document for PiDocument {
    fn format(&self) -> &'static dyn Format {
        &Pi
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let log = &self.log;
        let mut view = View::new(Pi.name(), ToolVocabulary::BASIC);
        view.notes = log.notes().iter().filter_map(note).collect();
        let context = build_context(log, log.leaf()).map_err(of_log)?;
        if let Some(wb_message::Message::CompactionSummary { tokens_before, .. }) = context.messages.first() {
            view.notes.push(Note::CompactionApplied { tokens_before: *tokens_before });
        }
        view.model = context.model.clone().or_else(|| log.header().model_id.clone());
        let Segment { messages, usage, .. } = segment(context);
        (view.messages, view.usage) = (messages, usage);
        Ok(view)
    }

    fn segments(&self, _: &str) -> Result<Segments<'_>, FormatError> {
        let leaves = self.log.segment_ends(self.log.leaf()).map_err(of_log)?;
        // Every leaf is on a path that was walked just now, so none of them fails.
        Ok(Segments::new(
            leaves.into_iter().map_while(|leaf| build_context(&self.log, leaf.as_ref()).ok().map(segment)),
        ))
    }

    fn render(&self, _: &str, _: &View, _: &[Item<'_>], _: &Stamp) -> Result<ChangeSet, NotExpressible> {
        Err(NotExpressible::Refused { format: Pi.name(), why: "not written yet".to_owned() })
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.log = read(self.parts.as_ref())?;
        Ok(())
    }
}

fn segment(context: Context) -> Segment {
    let current = context.requests.into_iter().filter(|request| request.is_current);
    let usage = current.map(|it| UsageAt { at: it.at, usage: it.usage, model: it.model }).collect();
    Segment::new(context.messages, usage)
}

fn note(note: &LogNote) -> Option<Note> {
    match *note {
        LogNote::TruncatedLastLine { line } => Some(Note::TruncatedLastLine { line }),
        LogNote::NewerVersion { version } => Some(Note::NewerVersion { version }),
        _ => None,
    }
}
