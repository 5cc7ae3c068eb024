//! Wire logs of Kimi Code: JSON lines of additions to a history and later changes to it.
//!
//! The files in reading order: the `history` that a log builds, and this file, which writes.

mod history;

use serde_json::{Value, json};
use wb_message::block::joined_text;
use wb_message::markers::{DIGEST_HEADER, digest_body};
use wb_message::{Block, Message, ToolRole, ToolVocabulary};
use wb_record::json::{get, set_in};
use wb_record::{
    Abilities, Ability, Bytes, Change, ChangeSet, Confidence, Document, Format, FormatError, Item,
    NotExpressible, Note, Parts, Probe, ProbedValue, Segments, View, Wanted,
};

use self::history::History;
use crate::kit::appended::{ChangedRecord, changed_results, kept_messages, message_of, place_of, refused};
use crate::kit::fields::Fields;
use crate::kit::skips::Skips;

const NAME: &str = "kimi-code";

/// The tools of Kimi Code.
const VOCABULARY: ToolVocabulary = ToolVocabulary {
    tools: &[
        ("Read", ToolRole::Read),
        ("ReadMediaFile", ToolRole::Read),
        ("Glob", ToolRole::Search),
        ("Grep", ToolRole::Search),
        ("Write", ToolRole::Write),
        ("Edit", ToolRole::Edit),
        ("Bash", ToolRole::Run),
        ("WebSearch", ToolRole::Fetch),
        ("FetchURL", ToolRole::Fetch),
        ("TodoList", ToolRole::Plan),
    ],
    path_keys: &["path"],
    part_keys: &["line_offset", "n_lines"],
};

/// Wire logs of Kimi Code (`wire.jsonl`), which came after kimi-cli.
///
/// * The parts and calls of a step are one answer. What the host says in the user's place is a
///   custom message of type `meta`; the system prompt is pinned, and the host sends it again.
/// * After a compaction the newest prompts of the user precede the summary, as many as the log
///   says; where the agent shortened one or noted a gap between them, it is not shown. What was
///   cleared or undone is left out.
/// * A digest is a compaction at the end of the log, of the kind that keeps all messages after it.
///   Bodies of results are replaced in place, and an interrupted call is answered after its step.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct KimiCode;

impl Format for KimiCode {
    fn name(&self) -> &'static str {
        NAME
    }

    fn abilities(&self) -> Abilities {
        Abilities {
            fold_inside: Ability::No("a Kimi Code compaction replaces only the oldest messages"),
            insert: Ability::No("Kimi Code allows nothing between its summary and the kept messages"),
            ..Abilities::ALL
        }
    }

    fn detect(&self, probe: &Probe) -> Confidence {
        let is_header = |it: &ProbedValue| it.r#type == "metadata" && it.has("protocol_version");
        let is_record = |it: &ProbedValue| it.r#type.starts_with("context.a") && it.has("time");
        if probe.first().is_some_and(is_header) || probe.values.iter().any(is_record) {
            Confidence::Sure
        } else {
            Confidence::No
        }
    }

    fn open(&self, parts: Box<dyn Parts>) -> Result<Box<dyn Document>, FormatError> {
        let history = History::read(parts.as_ref())?;
        Ok(Box::new(KimiCodeDocument { parts, history }))
    }
}

/// A wire log of Kimi Code.
#[derive(Debug)]
struct KimiCodeDocument {
    parts: Box<dyn Parts>,
    history: History,
}

impl Document for KimiCodeDocument {
    fn format(&self) -> &'static dyn Format {
        &KimiCode
    }

    fn view(&self, _: &str) -> Result<View, FormatError> {
        let history = &self.history;
        let draft = history.assemble(&history.entries, self.parts.as_ref());
        let mut passed = Skips::default();
        passed.n_orphans = draft.n_orphans();
        let (segment, provenance) = draft.finish();
        let mut view = View::new(NAME, VOCABULARY);
        (view.messages, view.usage, view.provenance) = (segment.messages, segment.usage, provenance);
        view.model.clone_from(&history.model);
        let compacted = history.tokens_before.map(Note::compaction);
        view.notes = history.end.notes(passed).into_iter().chain(compacted).collect();
        Ok(view)
    }

    fn segments(&self, _: &str) -> Result<Segments<'_>, FormatError> {
        let (history, parts) = (&self.history, self.parts.as_ref());
        let entries = |at| history.before.get(at).unwrap_or(&history.entries);
        let segment = move |at| Ok(history.assemble(entries(at), parts).finish().0);
        Ok(Segments::new(history.before.len() + 1, segment))
    }

    fn render_changed(&self, wanted: &Wanted<'_>) -> Result<ChangeSet, NotExpressible> {
        let text = self.parts.whole("").map_err(NotExpressible::unreadable)?;
        let mut new_lines = changed_results(&text, wanted, with_body)?;
        new_lines.extend(answers(&text, wanted, &self.history)?);
        new_lines.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
        let spliced = new_lines.into_iter().map(|(place, new)| Change::Splice {
            at: place.start as u64,
            old: Bytes(text[place].to_vec()),
            new: Bytes(new),
        });
        // Additions at the end come first: they move no position of a replacement.
        let start = if self.history.end.is_ended { "" } else { "\n" };
        let added = self.compaction(wanted)?.map(|line| Change::Append {
            at: text.len() as u64,
            new: Bytes(format!("{start}{line}\n").into_bytes()),
        });
        let changes = added.into_iter().chain(spliced);
        Ok(ChangeSet { changes: changes.map(|change| (String::new(), change)).collect() })
    }

    fn parts(&self) -> &dyn Parts {
        self.parts.as_ref()
    }

    fn parts_mut(&mut self) -> &mut dyn Parts {
        self.parts.as_mut()
    }

    fn refresh(&mut self) -> Result<(), FormatError> {
        self.history = History::read(self.parts.as_ref())?;
        Ok(())
    }
}

impl KimiCodeDocument {
    /// Returns the line in which a digest replaces the oldest messages; `None` if all of them stay.
    fn compaction(&self, wanted: &Wanted<'_>) -> Result<Option<Value>, NotExpressible> {
        let Wanted { view, items, stamp, .. } = *wanted;
        let kept = kept_messages(wanted)?;
        let mut new = items.iter().enumerate().filter_map(|(at, item)| match item {
            Item::New(message) if !matches!(message, Message::ToolResult { .. }) => Some((at, *message)),
            _ => None,
        });
        let digest = new.next();
        // The system prompt is in no line.
        let n_apart =
            (0..view.messages.len()).take_while(|at| view.provenance.places(*at).is_empty()).count();
        let n = view.messages.len();
        let Some((at, digest)) = digest else {
            return if kept.len() == n { Ok(None) } else { Err(refused(wanted, "no digest for what goes")) };
        };
        let n_tail = kept.len().saturating_sub(n_apart);
        let is_tail = kept.iter().copied().eq((0..n_apart).chain(n - n_tail..n));
        if new.next().is_some() || at != n_apart || !is_tail {
            return Err(refused(wanted, "more than one digest in front of the messages that stay"));
        }
        let summary =
            digest_body(digest).ok_or_else(|| refused(wanted, "a new message that is no digest"))?;
        let first = (n_tail > 0).then(|| place_of(wanted, n - n_tail)).flatten();
        let is_first = |records: &[wb_record::Span]| {
            first.as_ref().is_some_and(|first| records.iter().any(|it| it.at == first.start as u64))
        };
        let entries = &self.history.entries;
        let count = entries.iter().position(|entry| is_first(&entry.records)).unwrap_or(entries.len());
        Ok(Some(json!({
            "type": "context.apply_compaction",
            "summary": summary,
            "contextSummary": format!("{DIGEST_HEADER}\n{summary}"),
            "compactedCount": count,
            "tokensBefore": stamp.tokens_before,
            "tokensAfter": stamp.tokens_after,
            "time": stamp.now_ms,
        })))
    }
}

/// Returns the lines that answer calls, each with the end of the line that it follows.
fn answers(
    text: &[u8],
    wanted: &Wanted<'_>,
    history: &History,
) -> Result<Vec<ChangedRecord>, NotExpressible> {
    let (mut answers, mut end) = (Vec::<ChangedRecord>::new(), None);
    for item in wanted.items {
        let Item::New(message @ Message::ToolResult { .. }) = item else {
            let places = message_of(item).map_or(&[][..], |at| wanted.view.provenance.places(at));
            let start = places.iter().map(|it| it.record.range().start).min();
            if start.zip(answers.last()).is_some_and(|(start, (place, _))| start < place.end as u64) {
                return Err(refused(wanted, "a new result of a step inside which another message stands"));
            }
            end = places.iter().map(|it| it.record.range().end).max().or(end);
            continue;
        };
        let end = end.and_then(|end| usize::try_from(end).ok());
        let (Some(end), Some(event)) = (end, answer(text, wanted, message)) else {
            return Err(refused(wanted, "a new result with more than texts, or without its call"));
        };
        if history.is_undone(end as u64) {
            return Err(refused(wanted, "a new result of a step inside which a message was taken back"));
        }
        let line =
            json!({ "type": "context.append_loop_event", "event": event, "time": wanted.stamp.now_ms });
        let line = format!("\n{line}").into_bytes();
        match answers.last_mut() {
            Some((place, lines)) if place.end == end => lines.extend(line),
            _ => answers.push((end..end, line)),
        }
    }
    Ok(answers)
}

/// Returns a result as the event of a step.
fn answer(text: &[u8], wanted: &Wanted<'_>, message: &Message) -> Option<Value> {
    let Message::ToolResult { tool_call_id: id, content, is_error, .. } = message else { return None };
    let is_text = content.iter().all(|block| block.as_text().is_some());
    let result = json!({ "output": joined_text(content), "isError": is_error });
    let parent = uuid_of_call(text, wanted, id)?;
    is_text
        .then(|| json!({ "type": "tool.result", "parentUuid": parent, "toolCallId": id, "result": result }))
}

/// Returns the name of the event of a call, the newest with its id.
fn uuid_of_call(text: &[u8], wanted: &Wanted<'_>, id: &str) -> Option<Value> {
    let View { messages, provenance, .. } = wanted.view;
    let is_call = |block: &Block| matches!(block, Block::ToolCall { id: own, .. } if own == id);
    let (at, block) = (0..messages.len()).rev().find_map(|at| {
        let block = messages[at].blocks().iter().position(is_call)?;
        Some((at, block))
    })?;
    let place = provenance.places(at).iter().find(|place| place.blocks.contains(&block))?;
    let range =
        usize::try_from(place.record.range().start).ok()?..usize::try_from(place.record.range().end).ok()?;
    let event = get(text.get(range)?, "event").and_then(Fields::parse)?;
    Some(event.text("uuid").map_or(Value::Null, |uuid| uuid.into_owned().into()))
}

/// Returns the line of a result with another body.
fn with_body(record: &[u8], body: &[Block]) -> Vec<u8> {
    let said = Value::from(joined_text(body)).to_string();
    set_in(record, &["event", "result", "output"], said.as_bytes())
}
