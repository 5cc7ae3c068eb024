//! Tool calls and their arguments.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use wb_message::ToolVocabulary;
use wb_message::text::{head, one_line};
use wb_message::tools::{editor_role, field, normal_path};
use wb_shell::patch_effects;

use super::edited_definitions::{Definitions, edits};
use super::mentions::MOST_LINE_BYTES;

/// Characters of what the lines of a result come from.
pub(super) const LABEL_CHARS: usize = 100;
/// Of these, characters of a pattern next to a path.
const PATTERN_CHARS: usize = 40;

/// The argument that a search takes next to a path.
const PATTERN: &str = "pattern";
/// Arguments that name the subject of a tool that takes neither a path nor a command.
const ASKED_KEYS: [&str; 4] = [PATTERN, "query", "url", "description"];
/// Arguments that control how something runs.
const HOW_KEYS: [&str; 7] =
    ["workdir", "cwd", "timeout", "timeout_ms", "yield_time_ms", "max_output_tokens", "output_mode"];
/// The most lines of an edit that are searched for, and the fewest bytes of one.
const MOST_REPLACED: usize = 100;
const LEAST_LINE_BYTES: usize = 6;

/// A call that no result was seen of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct OpenCall {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) input: Value,
    /// The number of the message that makes the call.
    pub(super) at: u32,
    /// True if the message makes no other call.
    #[serde(default)]
    pub(super) is_alone: bool,
    /// The lines of a file that the call replaces by others.
    pub(super) replaced: Vec<String>,
    /// True if it changes the numbers of later lines.
    pub(super) moves_lines: bool,
    /// True if every occurrence is replaced.
    pub(super) replaces_all: bool,
    /// The last task of a list in the file that the call ticks off.
    #[serde(default)]
    pub(super) ticked: Option<String>,
    /// The names that the call defines.
    #[serde(default)]
    pub(super) defines: Definitions,
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
        call_label(&self.name, &self.input, vocabulary)
    }
}

/// Says in a line what was called on what.
pub fn call_label(name: &str, input: &Value, vocabulary: &ToolVocabulary) -> String {
    let of = |key: &&str| field(input, key).and_then(Value::as_str).map(Cow::Borrowed);
    let asked = || ASKED_KEYS.iter().find_map(of);
    let path = vocabulary.path(input).map(normal_path).or_else(|| patched_paths(input).map(Cow::Owned));
    let pattern = path.is_some().then(|| of(&PATTERN)).flatten();
    let on = path.or_else(|| command(input)).or_else(asked);
    let words = [pattern.map(|it| one_line(&it, PATTERN_CHARS)), on.map(|it| one_line(&it, LABEL_CHARS))];
    let words: Vec<String> = words.into_iter().flatten().filter(|word| !word.is_empty()).collect();
    [name, if words.is_empty() { "" } else { " " }, &words.join(" in ")].concat()
}

/// Returns the first file of a patch, and whether it has more.
fn patched_paths(input: &Value) -> Option<String> {
    let effects = patch_effects(patch(input, None)?);
    let first = effects.first()?.path();
    Some(if effects.len() > 1 { [first, ", …"].concat() } else { first.to_owned() })
}

/// Returns the lines that an edit takes out of a file, and whether it brings more or fewer.
pub(super) fn replaced_lines(input: &Value) -> (Vec<String>, bool) {
    let mut moves_lines = !input.is_object();
    let lines = edits(input).flat_map(|(old, new)| {
        moves_lines |= n_breaks(old) != n_breaks(new);
        let gone = |line: &&str| line.len() >= LEAST_LINE_BYTES && !new.contains(*line);
        old.lines().map(str::trim).filter(gone).map(str::to_owned).take(MOST_REPLACED).collect::<Vec<_>>()
    });
    let lines = lines.take(MOST_REPLACED).collect();
    (lines, moves_lines)
}

/// Returns the last task of a Markdown list that an edit ticks off.
pub(super) fn ticked(input: &Value) -> Option<String> {
    let mut tasks = edits(input).flat_map(|(old, new)| {
        let done: Vec<&str> = new.lines().filter_map(|line| task(line, &["[x] ", "[X] "])).collect();
        old.lines().filter_map(|line| task(line, &["[ ] "])).filter(move |it| done.contains(it))
    });
    tasks.next_back().map(|it| one_line(it, LABEL_CHARS))
}

/// Returns what a line of a Markdown list says behind a box of such a form.
fn task<'a>(line: &'a str, boxes: &[&str]) -> Option<&'a str> {
    let line = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
    boxes.iter().find_map(|it| line.strip_prefix(it))
}

fn n_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Returns the command of a call; of a list of words, the script given to a shell, or all words.
pub fn command(input: &Value) -> Option<Cow<'_, str>> {
    if editor_role(input).is_some() {
        return None;
    }
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
pub fn patch<'a>(input: &'a Value, command: Option<&'a str>) -> Option<&'a str> {
    let given = || ["patch", "patchText", "input", "diff"].iter().find_map(|key| field(input, key)?.as_str());
    let text = input.as_str().or_else(given).or(command)?;
    let is_patch = text.contains("*** Begin Patch") || (text.starts_with("--- ") && text.contains("\n+++ "));
    is_patch.then_some(text)
}

/// Visits the texts of a JSON value in order, with whether each is the name of a field.
pub(super) fn each_text(value: &Value, found: &mut impl FnMut(&str, bool)) {
    match value {
        Value::String(text) => found(text, false),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, found)),
        Value::Object(map) => {
            for (key, value) in map {
                found(key, true);
                each_text(value, found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Writes a value on one line with separators between its parts and its texts as is; stops when the
/// line is too long to be kept.
pub(super) fn write_line(out: &mut String, value: &Value) {
    if out.len() > MOST_LINE_BYTES {
        return;
    }
    match value {
        Value::Object(map) => {
            let says_what = |(key, _): &(&String, &Value)| !HOW_KEYS.contains(&key.as_str());
            for (nth, (key, value)) in map.iter().filter(says_what).enumerate() {
                out.extend([if nth > 0 { ", " } else { "" }, key, ": "]);
                write_line(out, value);
            }
        }
        Value::Array(items) => {
            out.push('[');
            for (nth, item) in items.iter().enumerate() {
                out.push_str(if nth > 0 { ", " } else { "" });
                write_line(out, item);
            }
            out.push(']');
        }
        Value::String(text) if text.len() > MOST_LINE_BYTES => out.push_str(head(text, MOST_LINE_BYTES + 1)),
        Value::String(text) if !text.contains('\n') => out.push_str(text),
        leaf => wb_message::text::json_into(out, leaf),
    }
}
