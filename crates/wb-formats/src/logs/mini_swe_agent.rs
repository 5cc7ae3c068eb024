//! Trajectories of mini-swe-agent.

use wb_message::Message;
use wb_record::json::{find, text};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue};

use crate::kit::list_document::open;
use crate::kit::message_list::{Layout, List, Record, Shape, held};
use crate::shapes::chat_message::{ChatShape, usage};

/// Trajectories of mini-swe-agent 1.1 and later: one document with chat messages, and the
/// provider's response next to each answer.
///
/// A result failed whose `returncode` is not 0. The record `exit` is not a message; it stays after
/// all others. Older trajectories are lists of chat messages
/// ([`OpenaiChat`](crate::requests::openai_chat::OpenaiChat)).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MiniSweAgent;

impl Format for MiniSweAgent {
    fn name(&self) -> &'static str {
        "mini-swe-agent"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let has_role = |first: &ProbedValue| {
            let list = first.inner.as_deref();
            list.and_then(|list| list.elements().next()).is_some_and(|message| !message.role.is_empty())
        };
        match probe.values.as_slice() {
            [first] if first.has("info") && first.has("messages") && has_role(first) => Confidence::Sure,
            _ => Confidence::No,
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for MiniSweAgent {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        Ok(vec![List::at_path(held(parts), &["messages"])?])
    }

    fn shape(&self) -> &dyn Shape {
        &ChatShape { more: extra, ..ChatShape::PLAIN }
    }
}

/// Reads the `extra` of a record, which no model sees.
fn extra(record: &[u8], read: &mut Record) {
    match read.messages.as_mut_slice() {
        [Message::Assistant { .. }] => {
            let counted = find(record, &["extra", "response", "usage"]);
            read.usage = counted.and_then(|place| usage(&record[place]));
            read.model = text(record, &["extra", "response", "model"]);
        }
        [Message::ToolResult { is_error, .. }] => {
            let code = find(record, &["extra", "returncode"]);
            *is_error |= code.is_some_and(|place| !matches!(&record[place], b"0" | b"null"));
        }
        _ => {}
    }
}
