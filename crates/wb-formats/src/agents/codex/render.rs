//! The lines to append so that a conversation becomes another: a compaction with the whole history
//! that continues.

use std::borrow::Cow;

use serde_json::{Value, json};
use wb_message::markers::ENVIRONMENT_TYPE;
use wb_message::{Block, Message};
use wb_record::json::{find, get, set, text};
use wb_record::{ChangeSet, Item, NotExpressible, Numbers, Parts, Span, Stamp, View, Wanted};
use wb_session::iso_ms;

use super::rows::{RolloutRows, World};
use crate::kit::records::bytes_of;
use crate::shapes::responses_body::{changed_item, new_item, output, user_item};
use crate::shapes::responses_item::ItemContent;

/// The reason why a session of the oldest versions is read only.
pub(crate) const BARE: &str = "its lines have no envelope; such a file can hold no compaction";

/// Renders the items of a view; nothing is written.
pub(crate) fn render(
    rows: &RolloutRows,
    parts: &dyn Parts,
    wanted: &Wanted<'_>,
) -> Result<ChangeSet, NotExpressible> {
    let Wanted { view, items, stamp, .. } = *wanted;
    if rows.is_bare {
        return Err(refused(BARE));
    }
    let source = HistorySource { rows, parts, view };
    let mut lines = AppendedLines::new(rows, stamp);
    lines.add("compacted", &source.compacted(items)?);
    if let Some([world, turn]) = source.context(items)? {
        lines.add("world_state", &world);
        lines.add("turn_context", &turn);
    }
    if stamp.tokens_after > 0 {
        lines.add("event_msg", &source.token_count(stamp.tokens_after)?);
    }
    if let (Some(thread), Some(turn)) = (&rows.thread_id, &rows.turn_id) {
        let item = json!({"type": "ContextCompaction", "id": Numbers::new(stamp.seed).uuid()});
        let event = json!({"type": "item_completed", "thread_id": thread, "turn_id": turn, "item": item});
        lines.add("event_msg", event.to_string().as_bytes());
    }
    Ok(ChangeSet::append("", rows.n_bytes, lines.text))
}

fn refused(why: impl Into<String>) -> NotExpressible {
    NotExpressible::Refused { format: super::NAME, why: why.into() }
}

/// The lines that are appended.
#[derive(Debug)]
struct AppendedLines {
    text: Vec<u8>,
    time: String,
    ordinal: Option<u64>,
}

impl AppendedLines {
    fn new(rows: &RolloutRows, stamp: &Stamp) -> Self {
        let text = if rows.is_ended { Vec::new() } else { b"\n".to_vec() };
        Self { text, time: iso_ms(stamp.now_ms), ordinal: rows.last_ordinal }
    }

    /// Adds a line; ordinals continue if the file has them.
    fn add(&mut self, kind: &str, payload: &[u8]) {
        self.ordinal = self.ordinal.map(|last| last.saturating_add(1));
        let ordinal = self.ordinal.map_or(String::new(), |ordinal| format!("\"ordinal\":{ordinal},"));
        let head = format!("{{\"timestamp\":\"{}\",{ordinal}\"type\":\"{kind}\",\"payload\":", self.time);
        self.text.extend([head.as_bytes(), payload, b"}\n"].concat());
    }
}

/// The sources to write from.
#[derive(Clone, Copy, Debug)]
struct HistorySource<'a> {
    rows: &'a RolloutRows,
    parts: &'a dyn Parts,
    view: &'a View,
}

impl HistorySource<'_> {
    fn bytes(&self, span: &Span) -> Result<Cow<'_, [u8]>, NotExpressible> {
        bytes_of(self.parts, span)
    }

    /// Returns an item byte for byte. The summary of an older version is no item; it becomes one.
    fn item(&self, span: &Span) -> Result<Vec<u8>, NotExpressible> {
        let bytes = self.bytes(span)?;
        match text(&bytes, &["message"]) {
            Some(summary) if get(&bytes, "type").is_none() => Ok(user_item(&summary)),
            _ if bytes.starts_with(b"{") => Ok(bytes.into_owned()),
            _ => Err(NotExpressible::Unreadable(format!("no item stands at byte {}", span.at))),
        }
    }

    fn items_of(&self, at: usize) -> Result<Vec<Vec<u8>>, NotExpressible> {
        self.view.provenance.places(at).iter().map(|place| self.item(&place.record)).collect()
    }

    /// Returns the payload of a compaction with the items as its history.
    fn compacted(&self, items: &[Item<'_>]) -> Result<Vec<u8>, NotExpressible> {
        let mut history = Vec::new();
        let mut summary = String::new();
        for item in items {
            let of_item = match item {
                Item::Same(at) => self.items_of(*at)?,
                Item::Body(at, body) => self.edited(*at, body)?,
                Item::Old(span) => vec![self.item(span)?],
                Item::New(Message::ToolResult { tool_call_id, content, .. }) => {
                    vec![new_result(tool_call_id, content, &history)?]
                }
                Item::New(message) => vec![new_item(message).map_err(refused)?],
            };
            if let (Item::Same(at), [item]) = (item, of_item.as_slice())
                && matches!(self.view.messages[*at], Message::CompactionSummary { .. })
            {
                // This text identifies the host's own summary.
                summary = text_of_item(item);
                if summary.is_empty() {
                    return Err(refused("a summary of the host without a text"));
                }
            }
            history.extend(of_item);
        }
        let history = history.join(&b","[..]);
        let head = format!("{{\"message\":{},\"replacement_history\":[", Value::String(summary));
        Ok([head.as_bytes(), &history, b"]}"].concat())
    }

    /// Returns the items of a message with another body; only the value of its body is replaced.
    fn edited(&self, at: usize, body: &[Block]) -> Result<Vec<Vec<u8>>, NotExpressible> {
        let mut items = self.items_of(at)?;
        let places = self.view.provenance.places(at);
        let holder = places.iter().position(|place| !place.blocks.is_empty());
        let item = holder.and_then(|holder| items.get_mut(holder));
        let Some(item) = item else { return Err(refused(format!("another body for message {at}"))) };
        let changed = changed_item(item, &self.view.messages[at], body);
        *item = changed.map_err(|why| refused(format!("another body for message {at}, {why}")))?;
        Ok(items)
    }

    /// Returns the two records that keep the host from repeating what the history contains: both or
    /// none.
    fn context(&self, items: &[Item<'_>]) -> Result<Option<[Vec<u8>; 2]>, NotExpressible> {
        let (Some(world), Some(turn)) = (&self.rows.world, &self.rows.turn_context) else { return Ok(None) };
        let kinds = items.iter().map(|item| self.host_kind(item)).collect::<Result<Vec<_>, _>>()?;
        let is_in_history = |kind: &str| kinds.iter().flatten().any(|it| it == kind);
        let has = |kind: &str| self.view.messages.iter().any(|message| custom_type(message) == Some(kind));
        if !["developer", ENVIRONMENT_TYPE].iter().all(|kind| is_in_history(kind) || !has(kind)) {
            return Ok(None);
        }
        Ok(Some([self.world(world)?, self.bytes(turn)?.into_owned()]))
    }

    /// Returns the custom type of an item's host text.
    fn host_kind(&self, item: &Item<'_>) -> Result<Option<String>, NotExpressible> {
        Ok(match item {
            Item::Same(at) | Item::Body(at, _) => custom_type(&self.view.messages[*at]).map(str::to_owned),
            Item::Old(span) => {
                match serde_json::from_slice(&self.bytes(span)?).ok().and_then(ItemContent::parse) {
                    Some(ItemContent::Host { kind, .. }) => Some(kind),
                    _ => None,
                }
            }
            Item::New(_) => None,
        })
    }

    /// Returns the complete state that the host compares with, with all later changes applied.
    fn world(&self, world: &World) -> Result<Vec<u8>, NotExpressible> {
        let whole = self.bytes(&world.whole)?;
        if world.changes.is_empty() {
            return Ok(whole.into_owned());
        }
        let state = |bytes: &[u8]| {
            let place = find(bytes, &["state"]).unwrap_or(0..bytes.len());
            let state = serde_json::from_slice::<Value>(&bytes[place]);
            state.map_err(NotExpressible::unreadable)
        };
        let mut merged = state(&whole)?;
        for change in &world.changes {
            merge(&mut merged, state(&self.bytes(change)?)?);
        }
        Ok(set(&whole, "state", merged.to_string().as_bytes()))
    }

    /// Returns a count that measures no request: the sum stays, the context has its new size.
    fn token_count(&self, tokens_after: u64) -> Result<Vec<u8>, NotExpressible> {
        let count = |n: u64| {
            json!({"input_tokens": n, "cached_input_tokens": 0, "cache_write_input_tokens": 0,
                "output_tokens": 0, "reasoning_output_tokens": 0, "total_tokens": n})
        };
        let totals = self.rows.totals.as_ref().map(|totals| self.bytes(totals)).transpose()?;
        let totals = totals.unwrap_or_else(|| count(0).to_string().into_bytes().into());
        let window = self.view.context_window.map_or(Value::Null, Value::from);
        let rest = format!(
            ",\"last_token_usage\":{},\"model_context_window\":{window}}},\"rate_limits\":null}}",
            count(tokens_after)
        );
        let head = b"{\"type\":\"token_count\",\"info\":{\"total_token_usage\":";
        Ok([head, &*totals, rest.as_bytes()].concat())
    }
}

fn custom_type(message: &Message) -> Option<&str> {
    match message {
        Message::Custom { custom_type, .. } => Some(custom_type),
        _ => None,
    }
}

fn text_of_item(item: &[u8]) -> String {
    let place = find(item, &["content"]).unwrap_or(0..0);
    let parts: Vec<Value> = serde_json::from_slice(&item[place]).unwrap_or_default();
    let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
    texts.join("\n")
}

/// Changes a value as a JSON merge patch says: objects key by key, a null removes, anything else
/// replaces.
fn merge(into: &mut Value, change: Value) {
    let Value::Object(change) = change else {
        *into = change;
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in change {
        match into.as_object_mut() {
            Some(map) if value.is_null() => _ = map.shift_remove(&key),
            Some(map) => merge(map.entry(key).or_insert(Value::Null), value),
            None => {}
        }
    }
}

/// Returns a result that no record holds as the item that answers its call among those before it.
fn new_result(id: &str, body: &[Block], before: &[Vec<u8>]) -> Result<Vec<u8>, NotExpressible> {
    let of_call = |item: &&Vec<u8>| text(item, &["call_id"]).as_deref() == Some(id);
    let call = before.iter().rev().find(of_call).and_then(|item| text(item, &["type"]));
    let kind = match call.as_deref() {
        Some("custom_tool_call") => "custom_tool_call_output",
        Some(_) => "function_call_output",
        None => return Err(refused("a result without its call")),
    };
    Ok(json!({"type": kind, "call_id": id, "output": output(body).map_err(refused)?})
        .to_string()
        .into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_merged_key_by_key() {
        let mut state = json!({"a": {"b": 1, "c": 2}, "d": [1], "e": 0});
        merge(&mut state, json!({"a": {"b": null, "x": {"y": null, "z": 1}}, "d": [2], "e": {"f": 1}}));
        assert_eq!(state, json!({"a": {"c": 2, "x": {"z": 1}}, "d": [2], "e": {"f": 1}}));
    }
}
