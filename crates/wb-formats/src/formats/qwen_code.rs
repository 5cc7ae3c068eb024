//! Sessions of Qwen Code: JSON lines that form a tree, each with one content of Gemini's kind.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use serde_json::{Value, json};
use wb_budget::Usage;
use wb_message::{Message, ToolRole, ToolVocabulary};
use wb_record::json::{elements, find, text};
use wb_record::splice::Joint;
use wb_record::{
    Abilities, Confidence, Document, Format, FormatError, Lines, Numbers, ONLY_CONVERSATION, Parts, Probe,
    Seen, Stamp, UsageAt, View,
};
use wb_session::iso_ms;

use super::appended::APPENDED;
use super::fields::Fields;
use super::gemini_contents::{ContentShape, number_calls};
use super::list_document::open;
use super::message_list::{Layout, List, Shape};

/// The tools of Qwen Code.
const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("read_file", ToolRole::Read),
        ("read_many_files", ToolRole::Read),
        ("edit", ToolRole::Edit),
        ("write_file", ToolRole::Write),
        ("glob", ToolRole::Search),
        ("grep_search", ToolRole::Search),
        ("list_directory", ToolRole::Search),
        ("run_shell_command", ToolRole::Run),
        ("web_fetch", ToolRole::Fetch),
        ("web_search", ToolRole::Fetch),
        ("todo_write", ToolRole::Plan),
    ],
    path_keys: &["file_path", "absolute_path", "path"],
    part_keys: &["offset", "limit"],
};

/// Sessions of Qwen Code.
///
/// The conversation is the way from the last line to the root. A compression of the agent holds the contents that stand for
/// all before it; what follows it comes after them. A compaction of ours is such a compression at the end, with the contents
/// that stay byte for byte in it. The system text is not in the file.
#[derive(Clone, Copy, Debug, Default)]
pub struct QwenCode;

impl Format for QwenCode {
    fn name(&self) -> &'static str {
        "qwen-code"
    }

    fn abilities(&self) -> Abilities {
        Abilities { call_ids: APPENDED, ..Abilities::ALL }
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_line = |it: &Seen| it.has("uuid") && it.has("parentUuid") && it.has("sessionId");
        let is_own = |it: &Seen| {
            let message = it.inner.as_deref().is_some_and(|message| message.has("parts"));
            is_line(it) && (message || it.has("systemPayload") && it.has("subtype"))
        };
        if probe.values.iter().any(is_own) { Confidence::Sure } else { Confidence::No }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        open(&Self, parts)
    }
}

impl Layout for QwenCode {
    fn format(&self) -> &'static dyn Format {
        &Self
    }

    fn lists(&self, text: &[u8]) -> Result<Vec<List>, FormatError> {
        let mut records = Vec::new();
        for line in way(text)? {
            match compressed(text, &line) {
                Some(contents) => records = contents,
                None if Fields::of(&text[line.clone()]).is_none() => records.push(line),
                None => records.extend(find_in(text, &line, &["message"])),
            }
        }
        Ok(vec![List { name: ONLY_CONVERSATION.to_owned(), records, joint: Joint::Line, behind: None }])
    }

    fn shape(&self) -> &dyn Shape {
        &ContentShape
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }

    fn complete(&self, text: &[u8], _: &List, view: &mut View) {
        number_calls(view);
        let at: HashMap<u64, usize> = (0..view.messages.len())
            .filter(|at| matches!(view.messages[*at], Message::Assistant { .. }))
            .filter_map(|at| Some((view.provenance.of(at).first()?.record.at, at)))
            .collect();
        for line in way(text).unwrap_or_default() {
            let Some(fields) = Fields::of(&text[line.clone()]) else { continue };
            let model = fields.text("model").map(std::borrow::Cow::into_owned);
            view.model = model.clone().or(view.model.take());
            let usage = fields.inner("usageMetadata").and_then(|counted| usage(&counted));
            let message = find_in(text, &line, &["message"]).and_then(|it| at.get(&(it.start as u64)));
            if let (Some(usage), Some(at)) = (usage, message) {
                view.usage.push(UsageAt { at: *at, usage, model });
            }
        }
    }

    fn snapshot(&self, text: &[u8], contents: &[&[u8]], stamp: &Stamp) -> Option<String> {
        let way = way(text).ok()?;
        let fields = way.into_iter().rev().find_map(|line| Fields::of(&text[line]))?;
        let of = |key: &str| fields.value(key).unwrap_or(Value::Null);
        let line = json!({
            "uuid": Numbers::new(stamp.seed).uuid(),
            "parentUuid": of("uuid"),
            "sessionId": of("sessionId"),
            "timestamp": iso_ms(stamp.now_ms),
            "type": "system",
            "subtype": "chat_compression",
            "cwd": of("cwd"),
            "version": of("version"),
        });
        let info = json!({
            "originalTokenCount": stamp.tokens_before,
            "newTokenCount": stamp.tokens_after,
            "compressionStatus": 1,
        });
        let line = line.to_string();
        let contents = String::from_utf8_lossy(&contents.join(&b","[..])).into_owned();
        let open = line.strip_suffix('}')?;
        Some(format!("{open},\"systemPayload\":{{\"info\":{info},\"compressedHistory\":[{contents}]}}}}"))
    }
}

/// Returns the lines of the way from the last line to the root, and those that are not whole, which reading tells.
fn way(text: &[u8]) -> Result<Vec<Range<usize>>, FormatError> {
    let (mut lines, mut all) = (Lines::new(text), Vec::new());
    while let Some(line) = lines.next_line()? {
        let start = usize::try_from(line.at).unwrap_or(usize::MAX);
        let place = start..start + line.bytes.len();
        let Some(fields) = Fields::of(line.bytes) else {
            all.push((None, None, place));
            continue;
        };
        let of = |key: &str| fields.text(key).map(std::borrow::Cow::into_owned);
        all.push((of("uuid").or(Some(String::new())), of("parentUuid"), place));
    }
    let parents: HashMap<&str, Option<&str>> =
        all.iter().filter_map(|(uuid, parent, _)| Some((uuid.as_deref()?, parent.as_deref()))).collect();
    let last = all.iter().rev().find_map(|(uuid, ..)| uuid.as_deref().filter(|it| !it.is_empty()));
    let (mut on_way, mut next) = (HashSet::new(), last);
    while let Some(uuid) = next.filter(|uuid| on_way.insert(*uuid)) {
        next = parents.get(uuid).copied().flatten();
    }
    let is_on_way = |uuid: &Option<String>| uuid.as_deref().is_none_or(|uuid| on_way.contains(uuid));
    Ok(all.iter().filter(|(uuid, ..)| is_on_way(uuid)).map(|(.., line)| line.clone()).collect())
}

/// Returns the contents in a compression.
fn compressed(whole: &[u8], line: &Range<usize>) -> Option<Vec<Range<usize>>> {
    text(&whole[line.clone()], &["subtype"]).filter(|it| it == "chat_compression")?;
    let list = find_in(whole, line, &["systemPayload", "compressedHistory"])?;
    let contents = elements(&whole[list.clone()])?;
    Some(contents.into_iter().map(|it| list.start + it.start..list.start + it.end).collect())
}

fn find_in(whole: &[u8], line: &Range<usize>, path: &[&str]) -> Option<Range<usize>> {
    let place = find(&whole[line.clone()], path)?;
    Some(line.start + place.start..line.start + place.end)
}

fn usage(counted: &Fields<'_>) -> Option<Usage> {
    let of = |key: &str| counted.number(key).unwrap_or(0);
    let (prompt, cached) = (of("promptTokenCount"), of("cachedContentTokenCount"));
    (prompt > 0).then(|| Usage {
        input_tokens: prompt.saturating_sub(cached),
        output_tokens: of("candidatesTokenCount").saturating_add(of("thoughtsTokenCount")),
        cache_read_tokens: (cached > 0).then_some(cached.min(prompt)),
        cache_write_tokens: None,
    })
}
