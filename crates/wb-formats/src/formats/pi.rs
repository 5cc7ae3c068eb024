//! Session files of pi: JSON lines that form a tree, read by [`wb_session`].

use std::io::BufRead;

use wb_message::ToolVocabulary;
use wb_session::{Context, LogNote, SessionLog, build_context};

use crate::error::FormatError;
use crate::format::Format;
use crate::probe::Probe;
use crate::transcript::{Note, Segment, Segments, Transcript, UsageAt};

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

    fn sniff(&self, head: &[u8]) -> bool {
        Probe::all(head).first().is_some_and(|first| first.r#type == "session")
    }

    fn read(&self, input: &mut dyn BufRead) -> Result<Transcript, FormatError> {
        let log = SessionLog::read(input)?;
        let mut notes: Vec<Note> = log.notes().iter().filter_map(note).collect();
        let header_model = log.header().model_id.clone();
        let leaf = log.leaf().cloned();
        let context = log.into_context(leaf.as_ref())?;
        if let Some(wb_message::Message::CompactionSummary { tokens_before, .. }) = context.messages.first() {
            notes.push(Note::CompactionApplied { tokens_before: *tokens_before });
        }
        let model = context.model.clone().or(header_model);
        let Segment { messages, usage } = segment(context);
        let vocabulary = ToolVocabulary::BASIC;
        Ok(Transcript {
            format: self.name(),
            messages,
            usage,
            model,
            context_window: None,
            notes,
            vocabulary,
        })
    }

    fn segments(&self, input: &mut dyn BufRead) -> Result<Segments, FormatError> {
        let log = SessionLog::read(input)?;
        let leaves = log.segment_ends(log.leaf())?;
        // Every leaf is on a path that was walked just now, so none of them fails.
        Ok(Segments::new(
            leaves.into_iter().map_while(move |leaf| build_context(&log, leaf.as_ref()).ok().map(segment)),
        ))
    }
}

fn segment(context: Context) -> Segment {
    let current = context.requests.into_iter().filter(|request| request.is_current);
    let usage = current.map(|it| UsageAt { at: it.at, usage: it.usage, model: it.model }).collect();
    Segment { messages: context.messages, usage }
}

fn note(note: &LogNote) -> Option<Note> {
    match *note {
        LogNote::TruncatedLastLine { line } => Some(Note::TruncatedLastLine { line }),
        LogNote::NewerVersion { version } => Some(Note::NewerVersion { version }),
        _ => None,
    }
}
