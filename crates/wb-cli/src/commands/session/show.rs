//! `wb session show`: what one entry holds.

use std::io::{self, Write};

use anyhow::Result;
use serde_json::{Value, json};
use wb_message::{Block, Content, Message};
use wb_session::{Entry, EntryId, EntryKind, Logged, Request, iso_ms};

use super::describe;
use super::find::{self, IdWidth, first_of};
use super::session_log::OpenLog;
use crate::args::session::SessionEntry;
use crate::terminal::escape::escaped;
use crate::terminal::number::{count, grouped};
use crate::terminal::shell::Shell;
use crate::terminal::style::HEAD;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The most names of a list to show.
const SHOWN_NAMES: usize = 20;

/// Prints one entry.
pub(crate) fn show(shell: &Shell, args: &SessionEntry) -> Result<()> {
    let log = OpenLog::open(shell, &args.file)?;
    let Some(id) = find::entry(&log, args.entry.as_deref())? else {
        return Err(no_entries(&log).into());
    };
    let entry = log.session.entry(&id).map_err(|error| log.failure(&error))?;
    if shell.is_json {
        return shell.print_json(&render_json(&log, &entry));
    }
    shell.print(|page| render_text(shell, page, &log, &entry))
}

/// Explains why a session without entries has nothing to show or to continue from.
pub(crate) fn no_entries(log: &OpenLog) -> UserError {
    UserError::of_file(&log.file, "the session has no entries", "name a session that something was said in")
}

fn children(log: &OpenLog, id: &EntryId) -> Vec<EntryId> {
    let nodes = log.session.tree().nodes();
    nodes.filter(|node| node.parent_id.as_ref() == Some(id)).map(|node| node.id).collect()
}

fn render_text(shell: &Shell, page: &mut Page<'_>, log: &OpenLog, entry: &Entry) -> io::Result<()> {
    let tree = log.session.tree();
    let width = IdWidth::new(tree);
    let is_leaf = log.session.leaf() == Some(&entry.id);
    log.heading(page, &format!("line {}", entry.line))?;
    log.write_notes(shell, page, &[])?;
    let leaf = if is_leaf { "  ← leaf" } else { "" };
    page.fact("entry", &format!("{}{leaf}", entry.id))?;
    let role = describe::role(&entry.kind).map_or_else(String::new, |role| format!(", {role}"));
    page.fact("kind", &format!("{}{role}", describe::kind(&entry.kind)))?;
    page.fact("parent", entry.parent_id.as_ref().map_or("none", EntryId::as_str))?;
    let children = children(log, &entry.id);
    let names: Vec<&str> = children.iter().map(EntryId::as_str).collect();
    page.fact("children", &first_of(&names, SHOWN_NAMES))?;
    if entry.timestamp != 0 {
        page.fact("time", &iso_ms(entry.timestamp))?;
    }
    if let Some(label) = tree.label(&entry.id) {
        page.fact("label", label)?;
    }
    for (name, what) in facts(&entry.kind) {
        page.fact(name, &what)?;
    }
    let bodies = bodies(&entry.kind);
    if bodies.is_empty() {
        return page.fact("says", &describe::line(&entry.kind, width));
    }
    bodies.iter().try_for_each(|(head, text)| body(page, head, text))
}

/// Writes a body under its heading, line by line as it is.
pub(crate) fn body(page: &mut Page<'_>, head: &str, text: &str) -> io::Result<()> {
    writeln!(page, "\n{HEAD}{}{HEAD:#}", escaped(head))?;
    text.lines().try_for_each(|line| writeln!(page, "{}", format!("  {}", escaped(line)).trim_end()))
}

/// Returns the facts about an entry, without its body.
fn facts(kind: &EntryKind) -> Vec<(&'static str, String)> {
    match kind {
        EntryKind::Message(logged) => message_facts(logged),
        EntryKind::Compaction(it) => {
            let kept = it.first_kept_entry_id.as_ref().map_or("none", EntryId::as_str).to_owned();
            let mut facts = vec![("first kept", kept), ("tokens before", grouped(it.tokens_before))];
            facts.extend(files(it.details.as_ref()));
            facts.extend(maker(it.from_hook));
            facts
        }
        EntryKind::BranchSummary(it) => {
            let mut facts = vec![("left at", it.from_id.clone())];
            facts.extend(files(it.details.as_ref()));
            facts.extend(maker(it.from_hook));
            facts
        }
        EntryKind::CustomMessage(it) => vec![("type", it.custom_type.clone())],
        EntryKind::ContextEdit(it) if it.replacement.is_some() => {
            vec![("replaces", format!("what {} says in the context", it.target_id))]
        }
        _ => Vec::new(),
    }
}

fn message_facts(logged: &Logged) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Message::ToolResult { tool_call_id, tool_name, is_error, .. } = &logged.message {
        let failed = if *is_error { ", failed" } else { "" };
        facts.push(("answers", format!("{tool_name} {tool_call_id}{failed}")));
    }
    if logged.is_excluded {
        facts.push(("seen by", "the user alone".to_owned()));
    }
    let Some(Request { api, provider, model, usage, stop_reason }) = &logged.request else { return facts };
    let source: Vec<&str> = [provider, model].into_iter().flatten().map(String::as_str).collect();
    if !source.is_empty() {
        let api = api.as_ref().map_or_else(String::new, |api| format!(" ({api})"));
        facts.push(("model", source.join("/") + &api));
    }
    if let Some(Value::String(stop)) = serde_json::to_value(stop_reason).ok().filter(|it| it != "other") {
        facts.push(("ended by", stop));
    }
    if let Some(usage) = usage {
        let parts = [
            ("input", Some(usage.input_tokens)),
            ("output", Some(usage.output_tokens)),
            ("cache read", usage.cache_read_tokens),
            ("cache write", usage.cache_write_tokens),
        ];
        let parts = parts.into_iter().filter_map(|(name, n)| Some(format!("{name} {}", grouped(n?))));
        facts.push(("usage", parts.collect::<Vec<_>>().join(", ")));
    }
    facts
}

fn maker(from_hook: bool) -> Option<(&'static str, String)> {
    from_hook.then(|| ("made by", "an extension".to_owned()))
}

/// Returns the files that a digest's writer noted, under pi's names; other notes stay unchanged.
fn files(details: Option<&Value>) -> Vec<(&'static str, String)> {
    let Some(details) = details.filter(|details| !details.is_null()) else { return Vec::new() };
    let list = |key: &str| {
        let list = details.get(key)?.as_array()?;
        Some(first_of(&list.iter().filter_map(Value::as_str).collect::<Vec<_>>(), SHOWN_NAMES))
    };
    let lists = [("files read", list("readFiles")), ("files modified", list("modifiedFiles"))];
    let known: Vec<_> = lists.into_iter().filter_map(|(name, list)| Some((name, list?))).collect();
    if known.is_empty() { vec![("details", details.to_string())] } else { known }
}

/// Returns the texts of an entry, each with a heading.
fn bodies(kind: &EntryKind) -> Vec<(String, String)> {
    match kind {
        EntryKind::Message(logged) => message_bodies(&logged.message),
        EntryKind::CustomMessage(it) => content_bodies(&it.content),
        EntryKind::Compaction(it) => vec![("Summary".to_owned(), it.summary.clone())],
        EntryKind::BranchSummary(it) => vec![("Summary".to_owned(), it.summary.clone())],
        EntryKind::ContextEdit(it) => {
            it.replacement.as_ref().map_or_else(Vec::new, |new| content_bodies(&new.content))
        }
        EntryKind::Custom(it) => it.data.iter().map(|data| ("Data".to_owned(), pretty(data))).collect(),
        EntryKind::Other(members) => vec![("Entry".to_owned(), pretty(&Value::Object(members.clone())))],
        _ => Vec::new(),
    }
}

fn message_bodies(message: &Message) -> Vec<(String, String)> {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => content_bodies(content),
        Message::Assistant { content, error_message } => {
            let error = error_message.iter().map(|error| ("Error".to_owned(), error.clone()));
            content.iter().map(block).chain(error).collect()
        }
        Message::ToolResult { content, .. } => content.iter().map(block).collect(),
        Message::BashExecution { command, output, exit_code } => {
            let code =
                exit_code.map_or_else(|| "no exit code".to_owned(), |code| format!("exit code {code}"));
            vec![("Command".to_owned(), command.clone()), (format!("Output, {code}"), output.clone())]
        }
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            vec![("Summary".to_owned(), summary.clone())]
        }
    }
}

fn content_bodies(content: &Content) -> Vec<(String, String)> {
    match content {
        Content::Text(text) => vec![("Text".to_owned(), text.clone())],
        Content::Blocks(blocks) => blocks.iter().map(block).collect(),
    }
}

fn block(block: &Block) -> (String, String) {
    match block {
        Block::Text { text } => ("Text".to_owned(), text.clone()),
        Block::Thinking { text, .. } => ("Thinking".to_owned(), text.clone()),
        Block::ToolCall { id, name, input } => (format!("Call of {name}, {id}"), pretty(input)),
        Block::ToolResult { call_id, output, .. } => (format!("Result of {call_id}"), pretty(output)),
        Block::Image { media_type, data_base64 } => (
            format!("Picture, {media_type}"),
            format!("{} of base64", count(data_base64.len(), "byte", "bytes")),
        ),
        Block::Command { command, args } => {
            (format!("Command /{command}"), args.as_deref().unwrap_or_default().join(" "))
        }
    }
}

fn pretty(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// Returns the answer of `wb session show --json`: the place of the entry, then `content`, which
/// differs by kind.
fn render_json(log: &OpenLog, entry: &Entry) -> Value {
    json!({
        "file": log.file,
        "id": entry.id,
        "parent_id": entry.parent_id,
        "children": children(log, &entry.id),
        "line": entry.line,
        "is_leaf": log.session.leaf() == Some(&entry.id),
        "time": (entry.timestamp != 0).then(|| iso_ms(entry.timestamp)),
        "label": log.session.tree().label(&entry.id),
        "kind": describe::kind(&entry.kind),
        "role": describe::role(&entry.kind),
        "content": content(&entry.kind),
        "notes": log.notes(),
    })
}

fn content(kind: &EntryKind) -> Value {
    match kind {
        EntryKind::Message(Logged { message, request, is_excluded }) => json!({
            "message": message,
            "request": request.as_ref().map(|it| json!({
                "api": it.api,
                "provider": it.provider,
                "model": it.model,
                "usage": it.usage,
                "stop_reason": it.stop_reason,
            })),
            "is_excluded": is_excluded,
        }),
        EntryKind::ModelChange(it) => json!(it),
        EntryKind::ThinkingLevelChange(it) => json!(it),
        EntryKind::Compaction(it) => json!({
            "summary": it.summary,
            "first_kept_entry_id": it.first_kept_entry_id,
            "tokens_before": it.tokens_before,
            "details": it.details,
            "from_hook": it.from_hook,
        }),
        EntryKind::BranchSummary(it) => json!({
            "summary": it.summary,
            "from_id": it.from_id,
            "details": it.details,
            "from_hook": it.from_hook,
        }),
        EntryKind::CustomMessage(it) => json!({
            "message": Message::custom(it.custom_type.clone(), it.content.clone()),
            "display": it.display,
            "details": it.details,
        }),
        EntryKind::ContextEdit(it) => json!({
            "target_id": it.target_id,
            "replacement": it.replacement.as_ref().map(|new| &new.content),
        }),
        EntryKind::Custom(it) => json!(it),
        EntryKind::Label(it) => json!(it),
        EntryKind::SessionInfo(it) => json!(it),
        EntryKind::Other(members) => json!(members),
        _ => Value::Null,
    }
}
