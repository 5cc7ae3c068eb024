//! One event, and its meaning in a conversation.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::{Range, RangeInclusive};

use serde_json::{Value, json};
use wb_message::{Block, Content, Message};
use wb_record::Span;
use wb_record::json::{elements, find, text};
use wb_session::parse_iso_ms;

use crate::kit::draft::Draft;
use crate::kit::fields::{Fields, text_of};
use crate::kit::json_text::value;
use crate::kit::log::span_in;
use crate::kit::picture::picture;
use crate::shapes::chat_message::{self, usage};

/// Events that are no part of the agent's history.
const UNCOUNTED: [&str; 5] =
    ["null", "agent_state_changed", "change_agent_state", "condensation", "condensation_request"];
/// Events in the history without content.
const SILENT: [&str; 1] = ["recall"];

/// An event: an action or an observation.
#[derive(Debug)]
pub(crate) struct Event<'a> {
    json: &'a [u8],
    fields: Fields<'a>,
    pub(crate) record: Span,
    name: String,
    is_action: bool,
}

impl<'a> Event<'a> {
    pub(crate) fn parse(text: &'a [u8], place: &Range<usize>) -> Option<Self> {
        let json = &text[place.clone()];
        let fields = Fields::parse(json)?;
        let is_action = fields.text("action").is_some();
        let name = fields.text("action").or_else(|| fields.text("observation"))?.into_owned();
        Some(Self { json, fields, record: span_in(0, place), name, is_action })
    }

    pub(crate) fn id(&self) -> Option<u64> {
        self.fields.number("id")
    }

    /// Returns whether the agent's history holds it.
    pub(crate) fn is_counted(&self) -> bool {
        !UNCOUNTED.contains(&self.name.as_str())
    }

    /// Returns the model that answered.
    pub(crate) fn model(&self) -> Option<String> {
        text(self.fields.get("tool_call_metadata")?, &["model_response", "model"])
    }

    /// Returns whether it is the action that a call became.
    pub(crate) fn is_action_of(&self, call: &str) -> bool {
        let metadata = self.fields.inner("tool_call_metadata");
        self.is_action && metadata.is_some_and(|it| it.text("tool_call_id").as_deref() == Some(call))
    }

    /// Returns whether it is the same event, written twice.
    pub(crate) fn is_same(&self, other: &Event<'_>) -> bool {
        self.json == other.json
    }

    /// Returns the id of the call that it is the action or the result of, if it has one.
    pub(crate) fn call_id(&self, of_action: bool) -> Option<String> {
        let metadata = self.fields.inner("tool_call_metadata").filter(|_| self.is_action == of_action)?;
        metadata.string("tool_call_id")
    }

    /// Returns its note on the call that it belongs to.
    pub(crate) fn metadata(&self) -> Option<Value> {
        self.fields.value("tool_call_metadata").filter(Value::is_object)
    }

    /// Returns the content of a condensation.
    pub(crate) fn condensation(&self) -> Option<Condensation> {
        let args = (self.is_action && self.name == "condensation").then(|| self.fields.inner("args"))??;
        let range = args.number("forgotten_events_start_id").zip(args.number("forgotten_events_end_id"));
        let ids = args.value("forgotten_event_ids").and_then(|ids| serde_json::from_value(ids).ok());
        let offset = args.number("summary_offset").and_then(|it| usize::try_from(it).ok());
        let summary = args.string("summary").zip(offset);
        Some(Condensation { ids: ids.unwrap_or_default(), range: range.map(|(from, to)| from..=to), summary })
    }

    /// Adds the event to the messages before it; `answers` are the answers of the model that were
    /// read already, and usage counts `is_counted`. Returns the ids of the calls that it makes.
    pub(crate) fn add(
        self,
        draft: &mut Draft,
        answers: &mut HashSet<String>,
        is_counted: bool,
    ) -> Vec<String> {
        let metadata = self.fields.inner("tool_call_metadata");
        match metadata {
            _ if SILENT.contains(&self.name.as_str()) => draft.hide(self.record),
            Some(metadata) if self.is_action => return self.answer(&metadata, draft, answers, is_counted),
            Some(metadata) => {
                let call_id = metadata.text("tool_call_id").unwrap_or_default().into_owned();
                let (content, is_error) = (self.observed(), self.is_failed());
                let content = Some(content).filter(|text| !text.is_empty()).map(Block::text);
                let is_refusal = self.name == "user_rejected";
                draft.result(self.record, call_id, content.into_iter().collect(), is_error);
                if is_refusal {
                    draft.mark_refusal();
                }
            }
            None => match self.text_message() {
                Some(message) => draft.add(self.record, message),
                None => draft.hide(self.record),
            },
        }
        Vec::new()
    }

    /// Adds the answer that an action was made of; one answer has all its calls at once.
    fn answer(
        self,
        metadata: &Fields<'_>,
        draft: &mut Draft,
        answers: &mut HashSet<String>,
        is_counted: bool,
    ) -> Vec<String> {
        let response = metadata.inner("model_response");
        let text = |key: &str| response.as_ref().and_then(|it| it.text(key)).map(Cow::into_owned);
        if text("id").is_some_and(|id| !answers.insert(id)) {
            draft.hide(self.record);
            return Vec::new();
        }
        let choices = response.as_ref().and_then(|it| it.get("choices"));
        let sent = choices.and_then(message_in).unwrap_or_else(|| vec![self.call(metadata)]);
        let answer = if self.name == "finish" { self.text_message() } else { None };
        let answer = answer.unwrap_or_else(|| Message::assistant_blocks(sent));
        let made = answer.calls().map(|(id, ..)| id.to_owned()).collect();
        draft.add(self.record, answer);
        let counted = response.as_ref().and_then(|it| it.get("usage")).and_then(usage);
        if let (Some(usage), true) = (counted, is_counted) {
            draft.count(usage, text("model"));
        }
        made
    }

    /// Returns the call of an action whose answer is not in the file.
    fn call(&self, metadata: &Fields<'_>) -> Block {
        let text = |key: &str| metadata.text(key).unwrap_or_default().into_owned();
        let input = self.fields.value("args").unwrap_or_else(|| json!({}));
        Block::ToolCall { id: text("tool_call_id"), name: text("function_name"), input }
    }

    /// Returns the message of an event that is neither a call nor a result; older versions had
    /// texts alone.
    fn text_message(&self) -> Option<Message> {
        let is_users = self.fields.text("source").is_some_and(|source| source == "user");
        if !self.is_action {
            let begin =
                if is_users { "Observed result of command executed by user:" } else { "OBSERVATION:" };
            return Some(Message::user(format!("{begin}\n{}", self.observed())));
        }
        let args = self.fields.value("args").or_else(|| value(self.json))?;
        let text = |key: &str| text_of(args.get(key));
        let timestamp = self.fields.text("timestamp").and_then(|it| parse_iso_ms(&it)).unwrap_or(0);
        // Before events had a source, an agent that spoke waited for a response.
        let waits = args.get("wait_for_response") == Some(&Value::Bool(true));
        let is_users = is_users || self.fields.get("source").is_none() && !waits;
        let said = match self.name.as_str() {
            "system" => return Some(Message::custom("system", text("content"))),
            "message" if is_users => return Some(Message::User { content: body(&args), timestamp }),
            "message" => text("content").to_owned(),
            "run" if self.fields.get("source").is_some() && is_users => {
                return Some(Message::user(format!("User executed the command:\n{}", text("command"))));
            }
            "run" => format!("{}\n<execute_bash>\n{}\n</execute_bash>", text("thought"), text("command")),
            "run_ipython" => {
                format!("{}\n<execute_ipython>\n{}\n</execute_ipython>", text("thought"), text("code"))
            }
            _ => [text("final_thought"), text("thought")].into_iter().find(|it| !it.is_empty())?.to_owned(),
        };
        let said = said.trim_start();
        (!said.is_empty()).then(|| Message::assistant_blocks(vec![Block::text(said)]))
    }

    /// Returns an observation, with the lines that the agent adds about a command.
    fn observed(&self) -> String {
        let content = self.fields.text("content").unwrap_or_default();
        let extras = self.fields.inner("extras");
        if let Some(metadata) = extras.as_ref().and_then(|it| it.inner("metadata")) {
            return with_metadata(&content, &metadata);
        }
        let of = |key: &str| extras.as_ref().and_then(|it| it.get(key)).or_else(|| self.fields.get(key));
        let number = |key: &str| of(key).and_then(|it| serde_json::from_slice::<i64>(it).ok());
        match number("command_id").zip(number("exit_code")) {
            Some((id, code)) => format!("{content}\n[Command {id} finished with exit code {code}]"),
            None => content.into_owned(),
        }
    }

    fn is_failed(&self) -> bool {
        matches!(self.name.as_str(), "error" | "user_rejected") || self.fields.is("success", "false")
    }
}

/// The content of a condensation.
#[derive(Debug, Default)]
pub(crate) struct Condensation {
    ids: HashSet<u64>,
    range: Option<RangeInclusive<u64>>,
    /// The summary that replaces the forgotten events, and the number of events before it.
    pub(crate) summary: Option<(String, usize)>,
}

impl Condensation {
    pub(crate) fn forgets(&self, id: u64) -> bool {
        self.ids.contains(&id) || self.range.as_ref().is_some_and(|range| range.contains(&id))
    }
}

/// Returns an output as the agent sends it, given its notes on the command.
fn with_metadata(content: &str, metadata: &Fields<'_>) -> String {
    let text = |key: &str| metadata.text(key).unwrap_or_default();
    let code = metadata.get("exit_code").map(String::from_utf8_lossy).filter(|code| code != "-1");
    let lines = [
        ("Current working directory: ", text("working_dir")),
        ("Python interpreter: ", text("py_interpreter_path")),
        ("Command finished with exit code ", code.unwrap_or_default()),
    ];
    let lines = lines.iter().filter(|(_, value)| !value.is_empty());
    let lines: String = lines.flat_map(|(begin, value)| ["\n[", *begin, value, "]"]).collect();
    [&text("prefix"), content, &text("suffix"), &lines].concat()
}

/// Returns the blocks of the message in the first of a response's choices.
fn message_in(choices: &[u8]) -> Option<Vec<Block>> {
    let first = &choices[elements(choices)?.into_iter().next()?];
    let message = std::str::from_utf8(&first[find(first, &["message"])?]).ok()?;
    match chat_message::message(message)? {
        Message::Assistant { content, .. } => Some(content),
        _ => None,
    }
}

/// Returns a user message, with pictures.
fn body(args: &Value) -> Content {
    let said = text_of(args.get("content"));
    let pictures = args.get("image_urls").and_then(Value::as_array);
    let pictures = pictures.into_iter().flatten().filter_map(Value::as_str).map(picture);
    let pictures: Vec<Block> = pictures.collect();
    if pictures.is_empty() {
        return Content::Text(said.to_owned());
    }
    Content::Blocks([Block::text(said)].into_iter().chain(pictures).collect())
}
