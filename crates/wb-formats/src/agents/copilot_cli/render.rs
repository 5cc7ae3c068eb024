//! The edits that turn one conversation into another: events replaced in place, in an intact chain.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use serde_json::{Value, json};
use wb_message::block::joined_text;
use wb_message::markers::{BRANCH_HEADER, digest_body};
use wb_message::{Block, Message};
use wb_record::json::{find, set, set_in, text};
use wb_record::splice::Joint;
use wb_record::{ChangeSet, Item, NotExpressible, Numbers, Parts, Stamp, Wanted};
use wb_session::iso_ms;

use super::NAME;
use crate::kit::log::{line_ranges, span_in};
use crate::kit::records::{PlacedRecord, RecordEdit, Writer, bytes_of, place_records, records, spliced};
use crate::shapes::content_value::digest_text;

/// Renders the items of a view; nothing is written.
pub(crate) fn render(
    parts: &dyn Parts,
    wanted: &Wanted<'_>,
    is_compacted: bool,
) -> Result<ChangeSet, NotExpressible> {
    let Wanted { view, items, stamp, .. } = *wanted;
    let is_summary = |at: usize| matches!(view.messages[at], Message::CompactionSummary { .. });
    let keeps = items.iter().any(|item| matches!(item, Item::Same(at) if is_summary(*at)));
    let mut writer = EventWriter {
        messages: &view.messages,
        stamp,
        ids: Numbers::new(stamp.seed),
        must_compact: is_compacted && !keeps,
    };
    let records = records(wanted, parts, &mut writer)?;
    if writer.must_compact {
        // The messages that the host compacted would come back.
        return Err(writer.refused("no digest in the place of the summary of a compaction"));
    }
    let all = line_ranges(parts).map_err(NotExpressible::unreadable)?;
    let mut placed = place_records(view, &all, records)?;
    relink(parts, &all, &mut placed)?;
    spliced(parts, &all, placed, Joint::Line)
}

/// Links new events, and those whose parent is removed, to the event before them.
fn relink(
    parts: &dyn Parts,
    all: &[Range<usize>],
    placed: &mut [PlacedRecord],
) -> Result<(), NotExpressible> {
    let line = |number: usize| bytes_of(parts, &span_in(0, &all[number]));
    let kept: HashSet<usize> = placed.iter().filter_map(|it| it.number).collect();
    let mut gone = HashSet::new();
    for number in (0..all.len()).filter(|number| !kept.contains(number)) {
        gone.extend(text(&line(number)?, &["id"]));
    }
    let mut before = None;
    for PlacedRecord { number, record } in placed {
        let event = match (&*record, &*number) {
            (RecordEdit::Changed(_, bytes) | RecordEdit::New(bytes), _) => Cow::Borrowed(bytes.as_slice()),
            (RecordEdit::Stays(_), Some(number)) => line(*number)?,
            (RecordEdit::Stays(_), None) => continue,
        };
        let own = text(&event, &["id"]);
        let parent = text(&event, &["parentId"]);
        if number.is_none() || parent.is_some_and(|parent| gone.contains(&parent)) {
            let parent = Value::from(before.clone()).to_string();
            let linked = set(event.trim_ascii(), "parentId", parent.as_bytes());
            *record = match &*record {
                RecordEdit::Stays(span) | RecordEdit::Changed(span, _) => {
                    RecordEdit::Changed(span.clone(), linked)
                }
                RecordEdit::New(_) => RecordEdit::New(linked),
            };
        }
        before = own.or(before);
    }
    Ok(())
}

/// Writes events.
#[derive(Debug)]
struct EventWriter<'a> {
    messages: &'a [Message],
    stamp: &'a Stamp,
    ids: Numbers,
    /// Set if the next digest replaces a summary of the host.
    must_compact: bool,
}

impl EventWriter<'_> {
    fn event(&mut self, name: &str, data: &Value) -> Vec<u8> {
        let (id, time) = (self.ids.uuid(), iso_ms(self.stamp.now_ms));
        let event = json!({ "type": name, "data": data, "id": id, "timestamp": time, "parentId": null });
        event.to_string().into_bytes()
    }
}

impl Writer for EventWriter<'_> {
    fn format(&self) -> &'static str {
        NAME
    }

    fn new_record(&mut self, message: &Message) -> Result<Vec<u8>, NotExpressible> {
        if let (Some(body), true) = (digest_body(message), self.must_compact) {
            self.must_compact = false;
            let data = json!({ "success": true, "preCompactionTokens": self.stamp.tokens_before, "summaryContent": body });
            return Ok(self.event("session.compaction_complete", &data));
        }
        let is_text = |block: &Block| block.as_text().is_some();
        let said = match message {
            Message::User { content, .. } if content.blocks().iter().all(is_text) => {
                content.texts().collect::<Vec<_>>().join("\n")
            }
            Message::Assistant { content, .. } if content.iter().all(is_text) => {
                let data = json!({ "messageId": self.ids.uuid(), "content": joined_text(content), "toolRequests": [] });
                return Ok(self.event("assistant.message", &data));
            }
            Message::ToolResult { tool_call_id, content, is_error, .. } if content.iter().all(is_text) => {
                let said = joined_text(content);
                let (key, body_key) = if *is_error { ("error", "message") } else { ("result", "content") };
                let data =
                    json!({ "toolCallId": tool_call_id, "success": !is_error, key: { body_key: said } });
                return Ok(self.event("tool.execution_complete", &data));
            }
            Message::BranchSummary { summary, .. } => format!("{BRANCH_HEADER}\n{summary}"),
            _ => digest_text(message).map_err(|_| self.refused("a new message with more than texts"))?,
        };
        let data = json!({ "content": said, "transformedContent": said, "attachments": [] });
        Ok(self.event("user.message", &data))
    }

    fn with_body(&mut self, record: &[u8], at: usize, body: &[Block]) -> Result<Vec<u8>, NotExpressible> {
        let paths: [&[&str]; 2] = match &self.messages[at] {
            Message::ToolResult { .. } => [&["data", "result", "content"], &["data", "error", "message"]],
            Message::User { .. } => [&["data", "transformedContent"], &["data", "content"]],
            _ => return Err(self.refused(format!("another body for message {at}"))),
        };
        if body.iter().any(|block| block.as_text().is_none()) {
            return Err(self.refused("a body with more than texts"));
        }
        let path = paths.into_iter().find(|path| find(record, path).is_some()).unwrap_or(paths[0]);
        let said = Value::from(joined_text(body)).to_string();
        Ok(set_in(record, path, said.as_bytes()))
    }
}
