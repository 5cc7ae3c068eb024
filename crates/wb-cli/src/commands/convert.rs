//! `wb convert`: a session or a request as another format has it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use wb_budget::Catalog;
use wb_dialect::{Dialect, EncodedRequest};
use wb_formats::{Agent, SentAs, SystemAndTools, View, format_of, newest};
use wb_message::{Block, Message};
use wb_record::{Access, MemoryParts, Parts};

use crate::args::Convert;
use crate::commands::conversion_losses::{
    lost_in_lines, lost_in_request, lost_in_session, lost_in_view, lost_when_read,
};
use crate::platform::clock;
use crate::session::document;
use crate::session::output_file::{check_target, write_whole};
use crate::session::report::written;
use crate::terminal::file_error::not_read;
use crate::terminal::number::count;
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;

/// The bytes, the losses, and what the provider would refuse.
type Conversion = (Vec<u8>, Vec<String>, Vec<wb_dialect::Violation>);

/// The answer of `wb convert --json`.
#[derive(Debug, Serialize)]
struct Converted {
    file: String,
    /// The format that was read.
    from: &'static str,
    messages: usize,
    /// The content that the other format cannot hold.
    lost: Vec<String>,
    /// The violations that its provider would refuse.
    violations: Vec<wb_dialect::Violation>,
    bytes: usize,
}

/// Converts a session to another format; reports losses on standard error first.
pub(crate) fn convert(shell: &Shell, args: &Convert) -> Result<()> {
    if let Some(out) = args.out.as_deref().filter(|out| *out != Path::new("-")) {
        check_target(out, std::iter::once(args.file.as_path()), args.overwrite, "-o")?;
    }
    let document = shell.timed("reading", || document(&args.file, Access::Read))?;
    let read = newest(document.as_ref()).and_then(|name| document.view(&name));
    let mut view = read.map_err(|error| not_read(&args.file, &error))?;
    let outside = SystemAndTools::from_document(document.as_ref())?;
    let lost_before = lost_in_view(&view, document.parts(), outside.n_tools);
    let n_messages = view.messages.len();
    take_in(&mut view, outside.system);
    let (bytes, lost, violations) = match (args.to.agent(), args.to.dialect()) {
        (Some(agent), _) => session(shell, &view, agent)?,
        (None, Some(dialect)) => request(&view, dialect)?,
        (None, None) => (lines(&view)?, lost_in_lines(&view), Vec::new()),
    };
    let out = args.out.as_deref().filter(|out| *out != Path::new("-"));
    let converted = Converted {
        file: args.file.display().to_string(),
        from: view.format,
        messages: n_messages,
        lost: lost.into_iter().chain(lost_before).collect(),
        violations,
        bytes: bytes.len(),
    };
    if args.dry_run && shell.is_json {
        return shell.print_json(&converted);
    }
    if !shell.is_json || out.is_none() {
        report(shell, &converted, args);
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

/// Inserts the system text of a request before its messages.
fn take_in(view: &mut View, system: Option<Message>) {
    if let Some(system) = system {
        view.messages.insert(0, system);
        view.usage.iter_mut().for_each(|usage| usage.at += 1);
    }
}

fn lines(view: &View) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    wb_formats::write_jsonl(&view.messages, &mut bytes)?;
    Ok(bytes)
}

/// Writes the messages as a new session of an agent, which worked in the present folder.
fn session(shell: &Shell, view: &View, agent: Agent) -> Result<Conversion> {
    let folder = shell.environment.working.as_deref().unwrap_or(Path::new("/"));
    let messages = agent.dialect().map_or(Cow::Borrowed(&*view.messages), |it| without_foreign(view, it));
    let set = agent.create(&messages, &folder.display().to_string(), &clock::stamp())?;
    let mut parts = MemoryParts::default();
    parts.commit(&set)?;
    let bytes = parts.whole("")?;
    let encoded = agent.dialect().map(|dialect| EncodedRequest::from_messages(&messages, dialect));
    let mut lost = encoded.as_ref().map_or_else(|| lost_in_lines(view), |it| lost_in_request(view, it));
    lost.extend(lost_when_read(&messages, agent.format(), &bytes));
    lost.extend(lost_in_session(&messages));
    // A session waits for its user, whom a request must have at its end.
    let next = agent.dialect().map(|dialect| EncodedRequest::next_request(&messages, dialect));
    let violations = next.map_or_else(Vec::new, |next| next.validate());
    Ok((bytes, lost, violations))
}

/// Encodes the messages as a request body, with the session's model if the provider offers it.
fn request(view: &View, dialect: Dialect) -> Result<Conversion> {
    let messages = without_foreign(view, dialect);
    let mut encoded = EncodedRequest::from_messages(&messages, dialect);
    let model = view.model.as_ref().filter(|model| maker_of_model(model) == Some(maker(dialect.name())));
    if let (Some(model), Some(body)) = (model, encoded.body.as_object_mut()) {
        body.insert("model".to_owned(), model.as_str().into());
    }
    let mut lost = lost_in_request(view, &encoded);
    let violations = encoded.validate();
    let mut bytes = serde_json::to_vec_pretty(&encoded.body)?;
    bytes.push(b'\n');
    lost.extend(lost_when_read(&messages, format_of(dialect), &bytes));
    Ok((bytes, lost, violations))
}

/// Returns the messages without reasoning that is known to be signed by another provider than that
/// of a dialect.
fn without_foreign(view: &View, dialect: Dialect) -> Cow<'_, [Message]> {
    let is_foreign = |at| signer(view, at).is_some_and(|signer| signer != maker(dialect.name()));
    let foreign: Vec<bool> = (0..view.messages.len()).map(is_foreign).collect();
    if !foreign.contains(&true) {
        return Cow::Borrowed(&view.messages);
    }
    let mut messages = view.messages.clone();
    for (message, _) in messages.iter_mut().zip(foreign).filter(|(_, is_foreign)| *is_foreign) {
        if let Message::Assistant { content, .. } = message {
            content.retain(|block| !matches!(block, Block::Thinking { .. }));
        }
    }
    Cow::Owned(messages)
}

/// Returns the signer of an answer's reasoning, by the session's format or by the model that
/// answered.
fn signer(view: &View, at: usize) -> Option<&'static str> {
    let thinks = view.messages[at].blocks().iter().any(|block| matches!(block, Block::Thinking { .. }));
    match SentAs::from_format(view.format, None).dialects {
        _ if !thinks => None,
        // Servers of Chat Completions may run any model.
        [dialect] if *dialect != Dialect::OpenaiChat => Some(maker(dialect.name())),
        _ => {
            let answer =
                view.usage.iter().find(|usage| usage.at == at).and_then(|usage| usage.model.as_ref());
            answer.or(view.model.as_ref()).and_then(|model| maker_of_model(model))
        }
    }
}

fn maker_of_model(model: &str) -> Option<&'static str> {
    Catalog::built_in().find(model).map(|known| maker(&known.dialect))
}

/// Returns the maker that a dialect is named after.
fn maker(dialect: &str) -> &str {
    dialect.split('-').next().unwrap_or_default()
}

fn report(shell: &Shell, converted: &Converted, args: &Convert) {
    shell.say(|page| {
        for lost in &converted.lost {
            page.prose("  ", 4, &format!("{DIM}lost:{DIM:#} {lost}"))?;
        }
        if let [first, ..] = converted.violations.as_slice() {
            let n = count(converted.violations.len(), "finding", "findings");
            let out = args.out.as_deref().unwrap_or(Path::new("OUT")).display();
            page.prose("  ", 4, &format!("{n}, the first: {first}; see wb doctor {out}"))?;
        }
        Ok(())
    });
}
