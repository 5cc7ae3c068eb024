//! What a tool was called with.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_message::ToolVocabulary;
use wb_message::text::{head, one_line};
use wb_message::tools::{field, normal_path};

use super::mentions::MOST_LINE_BYTES;

/// Characters of what the lines of a result come from.
pub(super) const LABEL_CHARS: usize = 100;

/// A call that no result was seen of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenCall {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) input: Value,
}

impl OpenCall {
    pub(super) fn command(&self) -> Option<Cow<'_, str>> {
        command(&self.input)
    }

    pub(super) fn path(&self, vocabulary: &ToolVocabulary) -> Option<Cow<'_, str>> {
        vocabulary.path(&self.input).map(normal_path)
    }

    /// Says in a line what was called on what.
    pub(super) fn label(&self, vocabulary: &ToolVocabulary) -> String {
        let searched = || field(&self.input, "pattern").and_then(Value::as_str).map(Cow::Borrowed);
        let on = self.path(vocabulary).or_else(|| self.command()).or_else(searched);
        let on = on.map_or_else(String::new, |on| one_line(&on, LABEL_CHARS));
        [self.name.as_str(), if on.is_empty() { "" } else { " " }, &on].concat()
    }
}

/// Returns the command of a call; of a list of words the script that a shell is given, else all of them.
fn command(input: &Value) -> Option<Cow<'_, str>> {
    match field(input, "command").or_else(|| field(input, "cmd"))? {
        Value::String(command) => Some(Cow::Borrowed(command)),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            match words.as_slice() {
                [.., flag, script] if flag.starts_with('-') && flag.ends_with('c') => {
                    Some(Cow::Borrowed(script))
                }
                _ => Some(Cow::Owned(words.join(" "))),
            }
        }
        _ => None,
    }
}

/// Returns the patch that a call applies, if it is one.
pub(super) fn patch_of<'a>(call: &'a OpenCall, command: Option<&'a str>) -> Option<&'a str> {
    let given = || ["patch", "input", "diff"].iter().find_map(|key| field(&call.input, key)?.as_str());
    let text = call.input.as_str().or_else(given).or(command)?;
    let is_patch = text.contains("*** Begin Patch") || (text.starts_with("--- ") && text.contains("\n+++ "));
    is_patch.then_some(text)
}

pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Writes JSON on one line with blanks between its parts; stops where the line is too long to be kept.
pub(super) fn write_json(out: &mut String, value: &Value) {
    if out.len() > MOST_LINE_BYTES {
        return;
    }
    match value {
        Value::Object(map) => {
            out.push('{');
            for (nth, (key, value)) in map.iter().enumerate() {
                out.extend([if nth > 0 { ", \"" } else { "\"" }, key, "\": "]);
                write_json(out, value);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (nth, item) in items.iter().enumerate() {
                out.push_str(if nth > 0 { ", " } else { "" });
                write_json(out, item);
            }
            out.push(']');
        }
        Value::String(text) if text.len() > MOST_LINE_BYTES => out.push_str(head(text, MOST_LINE_BYTES + 1)),
        leaf => wb_message::text::json_into(out, leaf),
    }
}
