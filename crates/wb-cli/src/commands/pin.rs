//! `wb pin` and `wb unpin`: texts that every later digest of a session contains verbatim.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use wb_message::text::one_line;
use wb_message::{Block, Message, outline};
use wb_recall::Recall;
use wb_record::Access;

use crate::args::database_url::is_database;
use crate::args::pin::{PinArgs, UnpinArgs};
use crate::commands::recall::session_index::index;
use crate::session::document;
use crate::session::pins::{MOST_PIN_TOKENS, PinSource, Pins, SessionPin};
use crate::terminal::escape::{escaped, file_word};
use crate::terminal::number::grouped;
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The answer of `wb pin --json` and `wb unpin --json`.
#[derive(Debug, Serialize)]
struct PinsJson {
    file: String,
    /// The pins that were added.
    added: Vec<u64>,
    /// The pins that were removed.
    removed: Vec<u64>,
    pins: Vec<SessionPin>,
    tokens: u64,
    most_tokens: u64,
}

/// Pins messages or a text, or lists the pins.
pub(crate) fn pin(shell: &Shell, args: &PinArgs) -> Result<()> {
    let (pins, added) = add(shell, args)?;
    report(shell, &args.file, &pins, (added, Vec::new()))
}

/// Adds pins, and returns their numbers.
pub(crate) fn add(shell: &Shell, args: &PinArgs) -> Result<(Pins, Vec<u64>), UserError> {
    let mut pins = pins_of(&args.file)?;
    let mut added = Vec::new();
    for (source, text) in texts(shell, args)? {
        added.push(pins.add(source, text)?.pin);
    }
    if !added.is_empty() {
        pins.write()?;
    }
    Ok((pins, added))
}

/// Removes pins.
pub(crate) fn unpin(shell: &Shell, args: &UnpinArgs) -> Result<()> {
    let mut pins = pins_of(&args.file)?;
    let all = || pins.of_session().iter().map(|pin| pin.pin).collect();
    let numbers = if args.all { all() } else { args.numbers.clone() };
    for number in &numbers {
        if pins.remove(*number).is_none() {
            let hint = format!("`wb pin {}` lists the pins", file_word(&args.file));
            let what = format!("there is no pin {number}");
            return Err(UserError::of_file(args.file.display().to_string(), what, hint).into());
        }
    }
    pins.write()?;
    report(shell, &args.file, &pins, (Vec::new(), numbers))
}

/// Reads the pins and drops next to a session's file.
pub(crate) fn pins_of(session: &Path) -> Result<Pins, UserError> {
    let no_file = match session {
        it if it == Path::new("-") => "standard input cannot have pins",
        it if is_database(it) => "a session in a database cannot have pins",
        file => return Pins::read(file),
    };
    Err(UserError::new(no_file, "name a session's file"))
}

/// Removes the pins of a message.
#[cfg(feature = "view")]
pub(crate) fn remove_message(file: &Path, message: u64) -> Result<(), UserError> {
    let mut pins = pins_of(file)?;
    let of_message = pins.of_session().into_iter().filter(|it| it.message == Some(message));
    of_message.for_each(|it| {
        pins.remove(it.pin);
    });
    pins.write()
}

/// Returns the texts to pin, each with its origin.
fn texts(shell: &Shell, args: &PinArgs) -> Result<Vec<(Option<PinSource>, String)>, UserError> {
    let mut texts = Vec::new();
    if let Some(text) = &args.text {
        if text.trim().is_empty() {
            return Err(UserError::new("the text to pin is empty", "write it after --text"));
        }
        texts.push((None, text.trim().to_owned()));
    }
    if args.numbers.is_empty() {
        // A session of which a text is pinned must be one.
        document(&args.file, Access::Read)?;
        return Ok(texts);
    }
    let all = index(shell, &args.file)?;
    for number in &args.numbers {
        let message = message_of(&all, &args.file, *number)?;
        let text = text_of(message);
        if text.trim().is_empty() {
            return Err(no_message(&args.file, format!("message {number} has no text")));
        }
        let label = format!("message {number}, {}", outline::role(message));
        texts.push((Some(PinSource { message: *number, label }), text));
    }
    Ok(texts)
}

/// Returns the message of a number.
pub(crate) fn message_of<'a>(
    all: &'a Recall<Message>,
    file: &Path,
    number: u64,
) -> Result<&'a Message, UserError> {
    let at = usize::try_from(number).unwrap_or(usize::MAX);
    all.message_of_number(at).ok_or_else(|| no_message(file, format!("there is no message {number}")))
}

/// Refuses a number that names no usable message.
pub(crate) fn no_message(file: &Path, what: String) -> UserError {
    let hint = format!("`wb plan {} --outline` numbers the messages", file_word(file));
    UserError::of_file(file.display().to_string(), what, hint)
}

/// Returns the text of a message without calls and pictures.
fn text_of(message: &Message) -> String {
    let content = match message {
        Message::BashExecution { command, output, .. } => return format!("$ {command}\n{output}"),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            return summary.clone();
        }
        Message::Assistant { content, .. } | Message::ToolResult { content, .. } => {
            return content.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n");
        }
        Message::User { content, .. } | Message::Custom { content, .. } => content,
    };
    content.texts().collect::<Vec<_>>().join("\n")
}

fn report(shell: &Shell, file: &Path, pins: &Pins, (added, removed): (Vec<u64>, Vec<u64>)) -> Result<()> {
    let pins = pins.of_session();
    let tokens = pins.iter().map(SessionPin::tokens).sum();
    let name = file.display().to_string();
    let answer = PinsJson { file: name, added, removed, pins, tokens, most_tokens: MOST_PIN_TOKENS };
    if shell.is_json { shell.print_json(&answer) } else { shell.print(|page| render(page, &answer)) }
}

fn render(page: &mut Page<'_>, answer: &PinsJson) -> io::Result<()> {
    for number in &answer.removed {
        writeln!(page, "pin {number} removed")?;
    }
    for pin in &answer.pins {
        let mark = if answer.added.contains(&pin.pin) { "+" } else { " " };
        let from = pin.from.as_deref().map(|from| format!("{from}: ")).unwrap_or_default();
        let text = one_line(&format!("{from}{}", pin.text), 400);
        let lead = format!("{mark}{:>3}  {DIM}{:>6}{DIM:#}  ", pin.pin, grouped(pin.tokens()));
        page.cut(&lead, &escaped(&text), "")?;
    }
    let file = escaped(&file_word(Path::new(&answer.file))).into_owned();
    if answer.pins.is_empty() {
        return page.prose("", 2, &format!("nothing is pinned; to pin message 12: wb pin {file} 12"));
    }
    let (tokens, most) = (grouped(answer.tokens), grouped(answer.most_tokens));
    page.prose(
        "",
        2,
        &format!("{tokens} of {most} tokens; every later digest contains these texts verbatim"),
    )?;
    writeln!(page, "{DIM}to remove one:{DIM:#} wb unpin {file} {}", answer.pins[0].pin)
}
