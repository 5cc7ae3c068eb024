//! `wb convert`: a session or a request as another format has it.

use std::collections::HashSet;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use wb_budget::Catalog;
use wb_dialect::{Dialect, Encoded};
use wb_formats::{Agent, View, newest};
use wb_message::{Block, Message, Pairing};
use wb_record::{Access, MemoryParts, Parts};

use crate::args::Convert;
use crate::clock;
use crate::file_error::not_read;
use crate::number::count;
use crate::output_file::{check_target, write_whole};
use crate::session::document;
use crate::shell::Shell;
use crate::show::report::written;
use crate::style::DIM;

/// The answer of `wb convert --json`.
#[derive(Debug, Serialize)]
struct Converted {
    file: String,
    /// The format that was read.
    from: &'static str,
    messages: usize,
    /// What the other format does not hold.
    lost: Vec<String>,
    /// What its provider would refuse.
    violations: Vec<wb_dialect::Violation>,
    bytes: usize,
}

/// Writes a session as another format has it; what gets lost is told on standard error first.
pub(crate) fn convert(shell: &Shell, args: &Convert) -> Result<()> {
    if let Some(out) = args.out.as_deref().filter(|out| *out != Path::new("-")) {
        check_target(out, std::iter::once(args.file.as_path()), args.overwrite, "-o")?;
    }
    let document = shell.timed("reading", || document(&args.file, Access::Read))?;
    let read = newest(document.as_ref()).and_then(|name| document.view(&name));
    let view = read.map_err(|error| not_read(&args.file, &error))?;
    let (bytes, lost, violations) = match (args.to.agent(), args.to.dialect()) {
        (Some(agent), _) => session(shell, &view, agent)?,
        (None, Some(dialect)) => request(&view, dialect)?,
        (None, None) => (lines(&view)?, lost_in_lines(&view), Vec::new()),
    };
    let out = args.out.as_deref().filter(|out| *out != Path::new("-"));
    let converted = Converted {
        file: args.file.display().to_string(),
        from: view.format,
        messages: view.messages.len(),
        lost,
        violations,
        bytes: bytes.len(),
    };
    if args.dry_run && shell.is_json {
        return shell.print_json(&converted);
    }
    if !shell.is_json || out.is_none() {
        tell(shell, &converted, args);
    }
    if args.dry_run {
        return Ok(());
    }
    let Some(out) = out else {
        let mut raw = io::stdout().lock();
        raw.write_all(&bytes)?;
        return Ok(raw.flush()?);
    };
    write_whole(out, Some(&args.file), args.overwrite, |file| file.write_all(&bytes))?;
    if shell.is_json {
        return shell.print_json(&converted);
    }
    shell.say(|page| written(page, &converted.file, Some(out)));
    Ok(())
}

fn lines(view: &View) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&view.messages, &mut bytes)?;
    Ok(bytes)
}

/// Writes the messages as a new session of an agent, which worked in the present folder.
fn session(
    shell: &Shell,
    view: &View,
    agent: Agent,
) -> Result<(Vec<u8>, Vec<String>, Vec<wb_dialect::Violation>)> {
    let folder = shell.environment.working.as_deref().unwrap_or(Path::new("/"));
    let set = agent.create(&view.messages, &folder.display().to_string(), &clock::stamp())?;
    let mut parts = MemoryParts::default();
    parts.commit(&set)?;
    let encoded = agent.dialect().map(|dialect| Encoded::of_messages(&view.messages, dialect));
    let lost = encoded.as_ref().map_or_else(|| lost_in_lines(view), |encoded| lost_in_request(view, encoded));
    // A session waits for its user, whom a request must have at its end.
    let next = agent.dialect().map(|dialect| Encoded::next_request(&view.messages, dialect));
    let violations = next.map_or_else(Vec::new, |next| next.validate());
    Ok((parts.whole("")?, lost.into_iter().chain(lost_in_session(view)).collect(), violations))
}

/// Says what a new session of another agent does not hold beside that.
fn lost_in_session(view: &View) -> Vec<String> {
    let n_system = view.messages.iter().take_while(|message| wb_message::markers::is_pinned(message)).count();
    let n_orphans = Pairing::of(&view.messages).orphans().len();
    let system = count(n_system, "system text", "system texts") + ": the agent has its own";
    let orphans = count(n_orphans, "result that answers no call", "results that answer no call");
    [(n_system, system), (n_orphans, orphans)]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(_, told)| told)
        .collect()
}

/// Encodes the messages as the body of a request, which asks for the session's model where the provider has it.
fn request(view: &View, dialect: Dialect) -> Result<(Vec<u8>, Vec<String>, Vec<wb_dialect::Violation>)> {
    let mut encoded = Encoded::of_messages(&view.messages, dialect);
    let maker = |dialect: &str| dialect.split('-').next().unwrap_or_default().to_owned();
    let is_of_provider = |model: &&String| {
        let known = Catalog::built_in().find(model);
        known.is_some_and(|known| maker(&known.dialect) == maker(dialect.name()))
    };
    let model = view.model.as_ref().filter(is_of_provider);
    if let (Some(model), Some(body)) = (model, encoded.body.as_object_mut()) {
        body.insert("model".to_owned(), model.as_str().into());
    }
    let lost = lost_in_request(view, &encoded);
    let violations = encoded.validate();
    let mut bytes = serde_json::to_vec_pretty(&encoded.body)?;
    bytes.push(b'\n');
    Ok((bytes, lost, violations))
}

/// Says what messages of our own do not hold.
fn lost_in_lines(view: &View) -> Vec<String> {
    let mut lost = Vec::new();
    if view.format != "native" {
        lost.push(
            "records and fields that are no part of a message, such as ids, times of tools and settings"
                .to_owned(),
        );
    }
    if !view.usage.is_empty() {
        lost.push(count(view.usage.len(), "count of a provider", "counts of providers"));
    }
    lost
}

/// Says what the body of a request does not hold.
fn lost_in_request(view: &View, encoded: &Encoded) -> Vec<String> {
    let blocks = || view.messages.iter().flat_map(Message::blocks);
    let mut lost = lost_in_lines(view);
    let n_thinking = blocks().filter(|block| matches!(block, Block::Thinking { .. })).count();
    let n_kept = thinking_in(&encoded.body, encoded.dialect);
    if n_thinking > n_kept {
        lost.push(count(n_thinking - n_kept, "thought", "thoughts") + " that this provider has not signed");
    }
    let told = view.messages.iter().filter(|message| is_told_as_prompt(message)).count();
    if told > 0 {
        let what = count(told, "message that becomes a text", "messages that become texts");
        lost.push(format!("the kind of {what} of the user: commands, digests, notes"));
    }
    let ids: HashSet<&str> = view.messages.iter().flat_map(Message::calls).map(|(id, ..)| id).collect();
    let mut known = HashSet::new();
    texts_in(&encoded.body, &mut known);
    let n_other = ids.difference(&known).count();
    if n_other > 0 {
        lost.push(
            count(n_other, "id of a call", "ids of calls") + " in a shape that this provider does not take",
        );
    }
    lost
}

fn is_told_as_prompt(message: &Message) -> bool {
    use Message::{BashExecution, BranchSummary, CompactionSummary, Custom};
    matches!(message, BashExecution { .. } | BranchSummary { .. } | CompactionSummary { .. } | Custom { .. })
        && !wb_message::markers::is_pinned(message)
}

/// Counts the thoughts in the body of a request.
fn thinking_in(body: &Value, dialect: Dialect) -> usize {
    let is_thought = |value: &Value| match dialect {
        Dialect::Anthropic => value["type"] == "thinking" || value["type"] == "redacted_thinking",
        Dialect::OpenaiResponses => value["type"] == "reasoning",
        Dialect::OpenaiChat => false,
        Dialect::Gemini => value["thought"] == true,
    };
    let within = match body {
        Value::Array(all) => all.iter().map(|value| thinking_in(value, dialect)).sum(),
        Value::Object(members) => members.values().map(|value| thinking_in(value, dialect)).sum(),
        _ => 0,
    };
    within + usize::from(body.is_object() && is_thought(body))
}

/// Collects all texts in a value.
fn texts_in<'a>(value: &'a Value, out: &mut HashSet<&'a str>) {
    match value {
        Value::String(text) => _ = out.insert(text),
        Value::Array(all) => all.iter().for_each(|value| texts_in(value, out)),
        Value::Object(members) => members.values().for_each(|value| texts_in(value, out)),
        _ => {}
    }
}

fn tell(shell: &Shell, converted: &Converted, args: &Convert) {
    shell.say(|page| {
        for lost in &converted.lost {
            page.prose("  ", 4, &format!("{DIM}lost:{DIM:#} {lost}"))?;
        }
        if let [first, ..] = converted.violations.as_slice() {
            let n = count(converted.violations.len(), "finding", "findings");
            let out = args.out.as_deref().unwrap_or(Path::new("OUT")).display();
            page.prose("  ", 4, &format!("{n}, the first: {first}; wb repair {out} mends"))?;
        }
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_message::ToolVocabulary;

    use super::*;

    fn lost(messages: Vec<Message>, dialect: Dialect) -> String {
        let mut view = View::new("native", ToolVocabulary::BASIC);
        view.messages = messages;
        lost_in_request(&view, &Encoded::of_messages(&view.messages, dialect)).join("; ")
    }

    #[test]
    fn what_a_request_does_not_hold_is_listed() {
        let thought = Block::Thinking { text: "Hm.".into(), signature: None };
        let call = Block::call("a|b", "ls", json!({}));
        let messages = vec![
            Message::user("Look."),
            Message::assistant_blocks(vec![thought, call]),
            Message::tool_result("a|b", "ls", "x"),
            Message::CompactionSummary { summary: "They looked.".into(), tokens_before: 9 },
        ];
        let chat = lost(messages.clone(), Dialect::OpenaiChat);
        assert!(chat.contains("1 thought that") && chat.contains("1 message that becomes"), "{chat}");
        assert!(lost(messages, Dialect::Anthropic).contains("1 id of a call in a shape"));
        assert_eq!(lost(vec![Message::user("Look.")], Dialect::Gemini), "");
    }
}
