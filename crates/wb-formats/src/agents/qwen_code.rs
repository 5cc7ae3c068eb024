//! Sessions of Qwen Code: JSON lines that form a tree, each with one content of Gemini's kind.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io;
use std::iter;
use std::ops::Range;

use serde_json::{Value, json};
use wb_budget::Usage;
use wb_message::{Message, ToolRole, ToolVocabulary};
use wb_record::json::{elements, find, text};
use wb_record::splice::Joint;
use wb_record::{
    Confidence, Document, Format, FormatError, Lines, Note, Numbers, PartReader, Parts, Probe, ProbedValue,
    Span, Stamp, UsageAt, View,
};
use wb_session::iso_ms;

use crate::kit::fields::Fields;
use crate::kit::list_document::open;
use crate::kit::log::{is_json, span_of};
use crate::kit::message_list::{Layout, List, Shape, Snapshot};
use crate::kit::usage::usage_with_cache;
use crate::requests::gemini_contents::{ContentShape, number_calls};

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
/// The conversation is the path from the last line to the root. A compression of the agent holds
/// the contents that replace all before it; what follows it comes after them. Our compaction is
/// such a compression at the end, with the contents that stay byte for byte in it. The system text
/// is not in the file.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QwenCode;

impl Format for QwenCode {
    fn name(&self) -> &'static str {
        "qwen-code"
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_line = |it: &ProbedValue| it.has("uuid") && it.has("parentUuid") && it.has("sessionId");
        let is_own = |it: &ProbedValue| {
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
    fn is_lines(&self, _: &dyn Parts) -> io::Result<bool> {
        Ok(true)
    }

    fn lists(&self, parts: &dyn Parts) -> Result<Vec<List>, FormatError> {
        let (mut records, mut bad) = (Vec::new(), Vec::new());
        for line in newest_branch(parts)?.lines {
            let bytes = parts.bytes(&line)?;
            let start = usize::try_from(line.at).unwrap_or(usize::MAX);
            let found = match compressed(&bytes) {
                Some(contents) => {
                    records.clone_from(&bad);
                    contents
                }
                None if Fields::parse(&bytes).is_none() && is_json(&bytes) => continue,
                None if Fields::parse(&bytes).is_none() => {
                    bad.push(start..start + bytes.len());
                    iter::once(0..bytes.len()).collect()
                }
                None => find(&bytes, &["message"]).into_iter().collect(),
            };
            records.extend(found.into_iter().map(|it| start + it.start..start + it.end));
        }
        Ok(vec![List::new(records, Joint::Line)])
    }

    fn shape(&self) -> &dyn Shape {
        &ContentShape
    }

    fn vocabulary(&self) -> ToolVocabulary {
        VOCABULARY
    }

    fn complete(&self, parts: &dyn Parts, _: &List, view: &mut View) {
        number_calls(view);
        let at: HashMap<u64, usize> = (0..view.messages.len())
            .filter(|at| matches!(view.messages[*at], Message::Assistant { .. }))
            .filter_map(|at| Some((view.provenance.places(at).first()?.record.at, at)))
            .collect();
        let Branch { lines, lost } = newest_branch(parts).unwrap_or_default();
        let mut is_compressed = false;
        for line in lines {
            let bytes = parts.bytes(&line).unwrap_or_default();
            is_compressed |= compressed(&bytes).is_some();
            let Some(fields) = Fields::parse(&bytes) else { continue };
            let model = fields.string("model");
            view.model = model.clone().or(view.model.take());
            let usage = fields.inner("usageMetadata").and_then(|counted| usage(&counted));
            let message = find(&bytes, &["message"]).and_then(|it| at.get(&(line.at + it.start as u64)));
            if let (Some(usage), Some(at)) = (usage, message) {
                view.usage.push(UsageAt { at: *at, usage, model });
            }
        }
        // A compression includes everything before it.
        let lost = lost.filter(|_| !is_compressed);
        view.notes.extend(lost.map(|line| Note::LostParent { line }));
    }

    fn snapshot(&self) -> Option<Snapshot> {
        Some(compression)
    }
}

/// Returns a line of the agent's own compressions, with these contents.
fn compression(parts: &dyn Parts, contents: &[Cow<'_, [u8]>], stamp: &Stamp) -> io::Result<String> {
    let mut last = Cow::default();
    for line in newest_branch(parts)?.lines.iter().rev() {
        last = parts.bytes(line)?;
        if Fields::parse(&last).is_some() {
            break;
        }
    }
    let fields = Fields::parse(&last);
    let of = |key: &str| fields.as_ref().and_then(|fields| fields.value(key)).unwrap_or(Value::Null);
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
    let open = line.strip_suffix('}').unwrap_or_default();
    Ok(format!("{open},\"systemPayload\":{{\"info\":{info},\"compressedHistory\":[{contents}]}}}}"))
}

/// The lines of the conversation: the path from the last line to the root.
#[derive(Debug, Default)]
struct Branch {
    /// Its lines, including incomplete ones, which reading reports.
    lines: Vec<Span>,
    /// The line that it ends at, if that follows one which is not in the file.
    lost: Option<usize>,
}

/// Returns the path from the last line to the root.
fn newest_branch(parts: &dyn Parts) -> io::Result<Branch> {
    let (mut lines, mut all) = (Lines::new(PartReader::new(parts, "", 0)?), Vec::new());
    while let Some(line) = lines.next_line()? {
        let fields = Fields::parse(line.bytes);
        let of = |key: &str| fields.as_ref().and_then(|it| it.text(key)).map(Cow::into_owned);
        let uuid = of("uuid").or_else(|| fields.is_some().then(String::new));
        all.push((uuid, of("parentUuid"), span_of(line), line.number));
    }
    let known: HashMap<&str, (Option<&str>, usize)> = all
        .iter()
        .filter_map(|(uuid, parent, _, number)| Some((uuid.as_deref()?, (parent.as_deref(), *number))))
        .collect();
    let tip = all.iter().rev().find_map(|(uuid, ..)| uuid.as_deref().filter(|it| !it.is_empty()));
    let (mut seen, mut next, mut root) = (HashSet::new(), tip, None);
    while let Some(uuid) = next.filter(|uuid| seen.insert(*uuid)) {
        let Some((parent, line)) = known.get(uuid) else { break };
        (next, root) = (*parent, Some(*line));
    }
    // If nothing precedes its root, the session began in another file.
    let lost = root.filter(|line| next.is_some_and(|it| !known.contains_key(it)) && all[0].3 < *line);
    let is_on_way = |uuid: &Option<String>| uuid.as_deref().is_none_or(|uuid| seen.contains(uuid));
    let way = all.iter().filter(|(uuid, ..)| is_on_way(uuid));
    Ok(Branch { lines: way.map(|(.., line, _)| line.clone()).collect(), lost })
}

/// Returns the contents in a line of a compression.
fn compressed(line: &[u8]) -> Option<Vec<Range<usize>>> {
    text(line, &["subtype"]).filter(|it| it == "chat_compression")?;
    let list = find(line, &["systemPayload", "compressedHistory"])?;
    let contents = elements(&line[list.clone()])?;
    Some(contents.into_iter().map(|it| list.start + it.start..list.start + it.end).collect())
}

fn usage(counted: &Fields<'_>) -> Option<Usage> {
    let of = |key: &str| counted.number(key).unwrap_or(0);
    let (prompt, cached) = (of("promptTokenCount"), of("cachedContentTokenCount"));
    let answer = of("candidatesTokenCount").saturating_add(of("thoughtsTokenCount"));
    usage_with_cache(Some(prompt), Some(answer), (cached > 0).then_some(cached.min(prompt)), None)
}
