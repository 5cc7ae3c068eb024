//! Requests of the Responses API of `OpenAI`, and lists of its items.

use std::ops::Range;

use wb_message::{Block, Message, ToolVocabulary};
use wb_record::json::text;
use wb_record::splice::Joint;
use wb_record::{
    ChangeSet, Confidence, Document, Format, FormatError, NotExpressible, Note, Parts, Probe, ProbedValue,
    View, Wanted,
};

use crate::kit::draft::Draft;
use crate::kit::json_text::value;
use crate::kit::log::span_in;
use crate::kit::message_list::List;
use crate::kit::records::{Writer, in_place, records};
use crate::kit::skips::Skips;
use crate::shapes::responses_body::{changed_item, new_item};
use crate::shapes::responses_item::ItemContent;

const NAME: &str = "openai-responses";
/// Types of items, in addition to those that end in `_call` or `_output`.
const ITEM_TYPES: [&str; 8] = [
    "message",
    "reasoning",
    "compaction",
    "compaction_summary",
    "item_reference",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
];

/// Requests of the Responses API: a body with a list as its `input`, or the list of items alone.
///
/// Consecutive texts, reasoning and calls of the model are one answer, so that reasoning stays with
/// its text and calls, or goes with them. Results are messages of their own, also those without a
/// call. Developer and system texts are pinned, and so is an encrypted summary, byte for byte.
/// Instructions are no message here. Results have no flag for failures.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpenaiResponses;

impl Format for OpenaiResponses {
    fn name(&self) -> &'static str {
        NAME
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let [first] = probe.values.as_slice() else { return Confidence::No };
        let is_body = first.listed.is_some() && first.has("input") && !first.has("messages");
        let list = if first.is_list { Some(first) } else { first.listed.as_deref().filter(|_| is_body) };
        let items: Vec<&ProbedValue> =
            list.filter(|it| it.is_list).into_iter().flat_map(ProbedValue::elements).collect();
        let is_item = |it: &&ProbedValue| is_typed(it) || (it.r#type.is_empty() && !it.role.is_empty());
        let is_known = items.iter().any(|it| is_typed(it)) || (is_body && first.has("model"));
        let is_all = !items.is_empty() && items.iter().all(is_item);
        let is_empty = is_body && items.is_empty() && first.has("model");
        if is_all && is_known || is_empty { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let mut document = ResponsesDocument { parts, text: Vec::new(), items: Vec::new() };
        document.refresh()?;
        Ok(Box::new(document))
    }
}

fn is_typed(item: &ProbedValue) -> bool {
    let kind = item.r#type.as_str();
    let is_of_call = kind.ends_with("_call") || kind.ends_with("_output");
    // Chats of people have messages too, with their text under another name.
    let is_message = kind == "message" && !item.has("content");
    is_of_call
        || (ITEM_TYPES.contains(&kind) && !is_message && !item.has("message") && !item.has("timestamp"))
}

/// A request.
#[derive(Debug)]
struct ResponsesDocument {
    parts: Box<dyn Parts>,
    text: Vec<u8>,
    items: Vec<Range<usize>>,
}

impl Document for ResponsesDocument {
    fn format(&self) -> &'static dyn Format {
        &OpenaiResponses
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let (mut draft, mut passed) = (Draft::default(), Skips::default());
        for place in &self.items {
            let record = span_in(0, place);
            match value(&self.text[place.clone()]).and_then(ItemContent::parse) {
                Some(said) => said.add_to(&mut draft, record, 0, |draft, item, call_id, content| {
                    draft.any_result(item, call_id, content, false);
                }),
                None => passed.unreadable(1 + memchr::memchr_iter(b'\n', &self.text[..place.start]).count()),
            }
        }
        let (segment, provenance) = draft.finish();
        let mut view = View::new(NAME, ToolVocabulary::UNIVERSAL);
        (view.messages, view.provenance) = (segment.messages, provenance);
        view.provenance.join_records();
        view.model = text(&self.text, &["model"]);
        view.notes = passed.notes(Skips::default());
        if view.messages.iter().any(wb_message::markers::is_opaque) {
            view.notes.push(Note::CompactionApplied { tokens_before: None });
        }
        Ok(view)
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        let mut writer = ItemWriter { messages: &wanted.view.messages };
        let records = records(wanted, self.parts.as_ref(), &mut writer)?;
        in_place(wanted.view, self.parts.as_ref(), &self.items, records, Joint::Comma)
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.text = self.parts.whole("")?;
        FormatError::utf8_of(&self.text)?;
        let json = self.text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&self.text);
        let path: &[&str] = if json.trim_ascii_start().starts_with(b"[") { &[] } else { &["input"] };
        self.items = List::at_path(&self.text, path)?.records;
        Ok(())
    }
}

/// Writes items.
#[derive(Debug)]
struct ItemWriter<'a> {
    messages: &'a [Message],
}

impl Writer for ItemWriter<'_> {
    fn format(&self) -> &'static str {
        NAME
    }

    fn new_record(&mut self, message: &Message) -> Result<Vec<u8>, NotExpressible> {
        new_item(message).map_err(|why| self.refused(why))
    }

    fn with_body(&mut self, record: &[u8], at: usize, body: &[Block]) -> Result<Vec<u8>, NotExpressible> {
        let changed = changed_item(record, &self.messages[at], body);
        changed.map_err(|why| self.refused(format!("another body for message {at}, {why}")))
    }
}
