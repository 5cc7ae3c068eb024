//! Lists of messages of LangChain, as its `messages_to_dict` writes them.

mod part;
mod answer;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use wb_message::Message;
use wb_record::json::{get, set};
use wb_record::{Confidence, Document, Format, FormatError, Parts, Probe, ProbedValue, Stamp};

use crate::kit::json_text::text;
use crate::kit::list_document::open;
use crate::kit::loose::{Count, Text};
use crate::kit::message_list::{Fate, Layout, List, Record, Shape, held};
use crate::kit::request_probe::messages_of;
use crate::kit::usage::usage_with_cache;
use crate::shapes::content_value::{blocks_of, body_of, changed, content, in_users_place, raw_list, result};
use answer::{CallList, answer, answer_value, rewrite_answer};
use part::{block, part};

/// Messages of LangChain: a list of records with a type and data, or an object that holds one under
/// `messages`.
///
/// The data are in each record, or the record is the data, or a constructor has them as arguments
/// (`lc`, `kwargs`), as traces of LangSmith do. System texts are pinned. Calls whose arguments
/// could not be parsed count as calls, since they are sent. Parts that repeat a call are not shown,
/// and change with it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Langchain(Envelope);

/// The place of the data in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Envelope {
    /// Under `data`, as `messages_to_dict` writes them.
    #[default]
    Data,
    /// In the record itself.
    Flat,
    /// The arguments of a constructor.
    Kwargs,
}

impl Langchain {
    /// The form that `messages_to_dict` writes.
    pub(crate) const DATA: Self = Self(Envelope::Data);
    const FLAT: Self = Self(Envelope::Flat);
    const KWARGS: Self = Self(Envelope::Kwargs);
}

impl Envelope {
    fn of_record(record: &[u8]) -> Self {
        let has = |key: &str, begin: &[u8]| get(record, key).is_some_and(|value| value.starts_with(begin));
        match () {
            () if has("data", b"{") => Self::Data,
            () if has("kwargs", b"{") => Self::Kwargs,
            () if has("content", b"") => Self::Flat,
            () => Self::Data,
        }
    }

    fn layout(self) -> &'static dyn Layout {
        match self {
            Self::Data => &Langchain::DATA,
            Self::Flat => &Langchain::FLAT,
            Self::Kwargs => &Langchain::KWARGS,
        }
    }

    /// Returns the data of a record.
    fn data(self, record: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Data => get(record, "data"),
            Self::Flat => Some(record),
            Self::Kwargs => get(record, "kwargs"),
        }
    }

    /// Returns a record with other data.
    fn with_data(self, record: &[u8], data: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Data => set(record, "data", &data),
            Self::Flat => data,
            Self::Kwargs => set(record, "kwargs", &data),
        }
    }
}

impl Format for Langchain {
    fn name(&self) -> &'static str {
        "langchain"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_known = |message: &ProbedValue| message.role.is_empty() && speaker(&message.r#type).is_some();
        let is_message = |message: &&ProbedValue| message.has("data") && is_known(message);
        let is_flat = |message: &&ProbedValue| message.has("content") && is_known(message);
        let is_constructor = |message: &&ProbedValue| message.has("lc") && message.has("kwargs");
        let is_said = |message: &&ProbedValue| matches!(message.r#type.as_str(), "human" | "ai");
        let [first] = probe.values.as_slice() else { return Confidence::No };
        let messages = messages_of(first);
        let is_flat_list = messages.iter().all(is_flat) && messages.iter().any(is_said);
        if is_flat_list || messages.iter().any(is_message) || messages.iter().any(is_constructor) {
            Confidence::Sure
        } else {
            Confidence::No
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self::DATA, parts)
    }
}

impl Layout for Langchain {
    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let list = List::of_body(held(parts))?;
        let first = list.records.first().map(|place| Envelope::of_record(&held(parts)[place.clone()]));
        Ok(vec![List { layout: Some(first.unwrap_or_default().layout()), ..list }])
    }

    fn shape(&self) -> &dyn Shape {
        match self.0 {
            Envelope::Data => &LangchainShape(Envelope::Data),
            Envelope::Flat => &LangchainShape(Envelope::Flat),
            Envelope::Kwargs => &LangchainShape(Envelope::Kwargs),
        }
    }
}

/// The side that speaks in a message.
#[derive(Clone, Copy, Debug)]
enum LangchainSpeaker {
    System,
    User,
    Model,
    Tool,
}

/// Returns the speaker of a type of messages, also of a streamed one; `None` for another type.
fn speaker(kind: &str) -> Option<LangchainSpeaker> {
    Some(match kind {
        "system" | "SystemMessage" | "SystemMessageChunk" => LangchainSpeaker::System,
        "human" | "HumanMessage" | "HumanMessageChunk" => LangchainSpeaker::User,
        "ai" | "AIMessage" | "AIMessageChunk" => LangchainSpeaker::Model,
        "tool" | "ToolMessage" | "ToolMessageChunk" => LangchainSpeaker::Tool,
        _ => return None,
    })
}

/// The shape of records; new ones have this envelope.
#[derive(Clone, Copy, Debug)]
struct LangchainShape(Envelope);

#[derive(Default, Deserialize)]
#[serde(default)]
struct LangchainRecord<'a> {
    #[serde(borrow)]
    r#type: Text<'a>,
    /// The path of the class of a constructor.
    id: Option<&'a RawValue>,
}

impl LangchainRecord<'_> {
    fn speaker(&self, envelope: Envelope) -> Option<LangchainSpeaker> {
        if envelope == Envelope::Kwargs {
            let class = raw_list(self.id).pop().and_then(|class| text(class.get()))?;
            return speaker(&class);
        }
        self.r#type.as_str().and_then(speaker)
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LangchainData<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    tool_calls: CallList<'a>,
    invalid_tool_calls: CallList<'a>,
    tool_call_id: Text<'a>,
    name: Text<'a>,
    status: Text<'a>,
    usage_metadata: Option<&'a RawValue>,
    response_metadata: Option<&'a RawValue>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LangchainUsage {
    input_tokens: Count,
    output_tokens: Count,
    input_token_details: Option<CacheDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CacheDetails {
    cache_read: Count,
    cache_creation: Count,
}

impl Shape for LangchainShape {
    fn read(&self, record: &str, into: &mut Record) -> Result<(), serde_json::Error> {
        let outer: LangchainRecord<'_> = serde_json::from_str(record)?;
        let envelope = Envelope::of_record(record.as_bytes());
        let inner = envelope.data(record.as_bytes()).unwrap_or(b"{}");
        let data: LangchainData<'_> = serde_json::from_slice(inner)?;
        into.messages.push(match outer.speaker(envelope) {
            Some(LangchainSpeaker::System) => Message::custom("system", body_of(data.content, block)),
            Some(LangchainSpeaker::User) => Message::user(body_of(data.content, block)),
            Some(LangchainSpeaker::Model) => {
                (into.usage, into.model) = (usage(data.usage_metadata), model(data.response_metadata));
                Message::assistant_blocks(answer(data.content, data.tool_calls, data.invalid_tool_calls))
            }
            Some(LangchainSpeaker::Tool) => Message::ToolResult {
                content: blocks_of(data.content, block),
                is_error: data.status.as_str() == Some("error"),
                tool_call_id: data.tool_call_id.into_string(),
                tool_name: data.name.into_string(),
                is_refusal: false,
            },
            None => {
                into.is_of_nobody = true;
                return Ok(());
            }
        });
        Ok(())
    }

    fn write(&self, message: &Message, _: &Stamp) -> Result<Vec<u8>, String> {
        let value = match message {
            Message::Assistant { content, .. } => self.typed("ai", answer_value(content)?),
            Message::ToolResult { tool_call_id, tool_name, content, is_error, .. } => self.typed(
                "tool",
                json!({
                    "content": result(content, part)?,
                    "tool_call_id": tool_call_id,
                    "name": tool_name,
                    "status": if *is_error { "error" } else { "success" },
                }),
            ),
            Message::Custom { custom_type, content: body } if custom_type == "system" => {
                self.typed("system", json!({ "content": content(body, part)? }))
            }
            message => self.typed("human", json!({ "content": content(&in_users_place(message)?, part)? })),
        };
        Ok(value.to_string().into_bytes())
    }

    fn rewrite(&self, record: &[u8], messages: &[Message], fates: &[Fate<'_>]) -> Result<Vec<u8>, String> {
        let envelope = Envelope::of_record(record);
        let ([before], [Fate::Body(after)], Some(data)) = (messages, fates, envelope.data(record)) else {
            return Err("a part of a message".to_owned());
        };
        let data = match before {
            Message::Assistant { content, .. } => rewrite_answer(data, content, after)?,
            _ => set(data, "content", &changed(get(data, "content"), before.blocks(), after, part)?),
        };
        Ok(envelope.with_data(record, data))
    }
}

impl LangchainShape {
    /// Returns a record of a type, which its data repeat.
    fn typed(self, kind: &str, mut data: Value) -> Value {
        data["type"] = kind.into();
        match self.0 {
            Envelope::Data => json!({ "type": kind, "data": data }),
            Envelope::Flat => data,
            Envelope::Kwargs => {
                let class =
                    CLASSES.iter().find(|(known, _)| *known == kind).map_or("HumanMessage", |it| it.1);
                let id = ["langchain", "schema", "messages", class];
                json!({ "lc": 1, "type": "constructor", "id": id, "kwargs": data })
            }
        }
    }
}

/// The classes of new messages, by their types.
const CLASSES: [(&str, &str); 3] =
    [("system", "SystemMessage"), ("ai", "AIMessage"), ("tool", "ToolMessage")];

/// Reads the usage of a request; cached tokens are part of its prompt.
fn usage(json: Option<&RawValue>) -> Option<wb_budget::Usage> {
    let counted: LangchainUsage = serde_json::from_str(json?.get()).ok()?;
    let CacheDetails { cache_read, cache_creation } = counted.input_token_details.unwrap_or_default();
    usage_with_cache(counted.input_tokens.0, counted.output_tokens.0, cache_read.0, cache_creation.0)
}

/// Returns the model that answered.
fn model(json: Option<&RawValue>) -> Option<String> {
    #[derive(Deserialize)]
    struct Metadata<'a> {
        #[serde(borrow, default, alias = "model")]
        model_name: Text<'a>,
    }
    let metadata: Metadata<'_> = serde_json::from_str(json?.get()).ok()?;
    metadata.model_name.0.map(Cow::into_owned)
}
