//! Names of calls that a provider refuses: each gets an accepted one, and so do its results if they
//! name the tool.

use std::collections::{BTreeSet, HashMap};
use std::io;
use std::ops::Range;

use wb_message::{Block, CallPosition, Message, Pairing};
use wb_record::{Bytes, Change, ChangeSet, Document, NotExpressible, Span, View};

use super::SessionRepair;
use super::children::{FREE, children};
use super::stage::{Current, Next};
use crate::dialects::SentAs;

/// The keys under which formats name the tool of a call or of a result.
const NAMES: [&str; 7] = ["name", "namespace", "toolName", "tool_name", "tool", "function", "function_name"];

/// The keys of a Gemini result, which may also appear in the output of a tool.
const RESPONSES: [&str; 2] = ["functionResponse", "function_response"];

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    if !current.is_refused("tool-name") {
        return Ok(Next::Nothing);
    }
    if let Some(why) = current.document().abilities().call_ids.why_not() {
        return Ok(Next::Left(current.refused(why)));
    }
    let changes = without_refused_names(current.document(), &current.view, &current.sent);
    let changes = changes.map_err(NotExpressible::unreadable)?;
    let after = match current.read_after(&changes) {
        Ok(read) => read,
        Err(why) => return Ok(Next::Left(why)),
    };
    if after.messages() != with_taken_names(current.messages(), &current.sent) {
        let why = "the name of a call does not stand in its record as it is sent";
        return Ok(Next::Left(current.refused(why)));
    }
    Ok(Next::step_to(SessionRepair::from_changes(changes), after))
}

/// Returns messages in which all calls have accepted names.
fn with_taken_names(messages: &[Message], sent: &SentAs<'_>) -> Vec<Message> {
    let mut messages = messages.to_vec();
    for message in &mut messages {
        match message {
            Message::ToolResult { tool_name, .. } => *tool_name = sent.taken_name(tool_name),
            Message::Assistant { content, .. } => content.iter_mut().for_each(|block| {
                if let Block::ToolCall { name, .. } = block {
                    *name = sent.taken_name(name);
                }
            }),
            _ => {}
        }
    }
    messages
}

/// Returns the changes that replace each refused name of a call with an accepted one; nothing else
/// changes. A name that its record does not contain as sent stays.
fn without_refused_names(document: &dyn Document, view: &View, sent: &SentAs<'_>) -> io::Result<ChangeSet> {
    let mut names: HashMap<&str, String> = HashMap::new();
    let mut records: BTreeSet<&Span> = BTreeSet::new();
    let mut take = |at: usize| records.extend(view.provenance.places(at).iter().map(|place| &place.record));
    for (at, message) in view.messages.iter().enumerate() {
        for (_, name, _) in message.calls().filter(|(_, name, _)| sent.taken_name(name) != **name) {
            // Codex keeps the parts of a name apart.
            let parts = name.split("__").filter(|part| sent.taken_name(part) != **part);
            names.extend([name].into_iter().chain(parts).map(|part| (part, sent.taken_name(part))));
            take(at);
        }
    }
    let is_refused =
        |call: CallPosition| call.find(&view.messages).is_some_and(|(_, name, _)| names.contains_key(name));
    let pairing = Pairing::new(&view.messages);
    pairing.pairs().iter().filter(|pair| is_refused(pair.call)).for_each(|pair| take(pair.result as usize));
    let mut changes = ChangeSet::default();
    // In reverse order, so that no change moves the position of another.
    for record in records.into_iter().rev() {
        let bytes = document.parts().bytes(record)?;
        let mut places = Vec::new();
        find_names(&bytes, (0, false), &names, &mut places);
        for (place, new) in places.into_iter().rev() {
            let (at, old) = (record.at + place.start as u64, Bytes(bytes[place].to_vec()));
            let new = Bytes(serde_json::Value::from(new).to_string().into_bytes());
            changes.changes.push((record.part.clone(), Change::Splice { at, old, new }));
        }
    }
    Ok(changes)
}

/// Finds the places of names in a value that begins at a place, each with the new name. In what a
/// tool and its user say as they like only a result of Gemini names a tool.
fn find_names<'n>(
    value: &[u8],
    (from, is_free): (usize, bool),
    names: &'n HashMap<&str, String>,
    places: &mut Vec<(Range<usize>, &'n str)>,
) {
    for (key, place) in children(value) {
        let (key, start, inner) = (key.as_ref(), from + place.start, &value[place]);
        let is_free = !RESPONSES.contains(&key) && (is_free || FREE.contains(&key));
        let new = if is_free || !NAMES.contains(&key) { None } else { new_name(inner, names) };
        match new {
            Some(new) => places.push((start..start + inner.len(), new)),
            None => find_names(inner, (start, is_free), names, places),
        }
    }
}

fn new_name<'n>(value: &[u8], names: &'n HashMap<&str, String>) -> Option<&'n str> {
    let text = value.starts_with(b"\"").then(|| serde_json::from_slice::<String>(value).ok())??;
    names.get(text.as_str()).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_where_tools_are_named_and_nowhere_else() {
        let record = r#"{"name":"a b","text":"a b","input":{"name":"a b"},
            "result":[{"functionResponse":{"name":"a b","response":{"name":"a b"}}}],"of":[{"toolName": "a b"},{"tool":"x"}]}"#;
        let names = HashMap::from([("a b", "a_b".to_owned())]);
        let mut places = Vec::new();
        find_names(record.as_bytes(), (0, false), &names, &mut places);
        let found: Vec<(&str, &str)> =
            places.iter().map(|(place, new)| (&record[place.start - 8..place.start], *new)).collect();
        assert_eq!(
            found,
            [("{\"name\":", "a_b"), ("{\"name\":", "a_b"), ("olName\": ", "a_b")]
                .map(|(a, b)| (&a[a.len() - 8..], b))
        );
        assert!(places.into_iter().all(|(place, _)| &record[place] == "\"a b\""));
    }
}
