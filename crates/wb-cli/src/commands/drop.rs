//! `wb drop`: messages that each later compaction folds first.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use wb_budget::{TokenCounter as _, TokenHeuristic};
use wb_message::markers::{is_pinned, is_synthetic};
use wb_message::text::one_line;
use wb_message::{Message, Pairing, outline};
use wb_recall::{Recall, body};
use wb_record::Access;

use crate::args::pin::DropArgs;
use crate::commands::pin::{message_of, no_message, pins_of};
use crate::commands::recall::session_index::index;
use crate::session::document;
use crate::session::pins::{Pins, SessionDrop};
use crate::terminal::escape::{escaped, file_word};
use crate::terminal::number::{grouped, listed};
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The answer of `wb drop --json`.
#[derive(Debug, Serialize)]
struct DropsJson {
    file: String,
    /// The messages that were named and not dropped before, with those paired with them.
    added: Vec<u64>,
    removed: Vec<u64>,
    drops: Vec<SessionDrop>,
    tokens: u64,
}

/// Drops messages, undoes that, or lists what is dropped.
pub(crate) fn drop_messages(shell: &Shell, args: &DropArgs) -> Result<()> {
    let (pins, changed) = if args.undo { remove(args)? } else { add(shell, args)? };
    let changed = if args.undo { (Vec::new(), changed) } else { (changed, Vec::new()) };
    report(shell, &args.file, &pins, changed)
}

/// Adds the groups of messages, and returns their numbers.
pub(crate) fn add(shell: &Shell, args: &DropArgs) -> Result<(Pins, Vec<u64>), UserError> {
    let mut pins = pins_of(&args.file)?;
    if args.numbers.is_empty() {
        // A session of which something is dropped must be one.
        document(&args.file, Access::Read)?;
        return Ok((pins, Vec::new()));
    }
    let all = index(shell, &args.file)?;
    let pairing = Pairing::new(all.messages());
    let mut added = Vec::new();
    for number in &args.numbers {
        let dropped = group(&all, &pairing, &args.file, *number)?;
        let is_known = pins.drops_of_session().iter().any(|it| it.messages == dropped.messages);
        added.extend(dropped.messages.iter().filter(|_| !is_known));
        pins.add_drop(dropped);
    }
    pins.write()?;
    Ok((pins, added))
}

/// Removes drops, all without a number, and returns the numbers of their messages.
pub(crate) fn remove(args: &DropArgs) -> Result<(Pins, Vec<u64>), UserError> {
    let mut pins = pins_of(&args.file)?;
    let all = || pins.drops_of_session().iter().filter_map(|it| it.messages.first().copied()).collect();
    let numbers = if args.numbers.is_empty() { all() } else { args.numbers.clone() };
    let mut removed = Vec::new();
    for number in numbers.iter().filter(|number| !removed.contains(*number)).collect::<Vec<_>>() {
        let Some(dropped) = pins.remove_drop(*number) else {
            let hint = format!("`wb drop {}` lists what is dropped", file_word(&args.file));
            let what = format!("message {number} is not dropped");
            return Err(UserError::of_file(args.file.display().to_string(), what, hint));
        };
        removed.extend(dropped.messages);
    }
    pins.write()?;
    Ok((pins, removed))
}

/// Describes the drop of a message and all that its calls connect with it.
fn group(
    all: &Recall<Message>,
    pairing: &Pairing,
    file: &Path,
    number: u64,
) -> Result<SessionDrop, UserError> {
    let message = message_of(all, file, number)?;
    let roots = pairing.groups();
    let root = |at: usize| roots.get(at).copied();
    let named = usize::try_from(number).unwrap_or(usize::MAX);
    let members: Vec<usize> = (0..roots.len()).filter(|at| root(*at) == root(named)).collect();
    let refused = |why: &str| Err(no_message(file, format!("message {number} {why}")));
    if members.iter().any(|at| is_pinned(&all.messages()[*at])) {
        return refused("is part of the system prompt, which stays");
    }
    if is_synthetic(message) {
        return refused("is from a compaction; `wb undo` removes that");
    }
    if pairing.in_flight().and_then(root).is_some_and(|running| root(named) == Some(running)) {
        return refused("has a call without its result yet; try again once it has");
    }
    if members == [named] && body(message).trim().is_empty() {
        return refused("is empty");
    }
    let tokens = members.iter().map(|at| TokenHeuristic::DEFAULT.message(&all.messages()[*at])).sum();
    let messages = members.iter().map(|at| (*at as u64, &all.messages()[*at]));
    Ok(SessionDrop::new(messages, outline::line(message), tokens))
}

fn report(shell: &Shell, file: &Path, pins: &Pins, (added, removed): (Vec<u64>, Vec<u64>)) -> Result<()> {
    let drops = pins.drops_of_session();
    let tokens = drops.iter().map(|it| it.tokens).sum();
    let answer = DropsJson { file: file.display().to_string(), added, removed, drops, tokens };
    if shell.is_json { shell.print_json(&answer) } else { shell.print(|page| render(page, &answer)) }
}

fn render(page: &mut Page<'_>, answer: &DropsJson) -> io::Result<()> {
    if !answer.removed.is_empty() {
        page.prose("", 2, &format!("dropped no longer: {}", listed(&answer.removed)))?;
    }
    let width = answer.drops.iter().map(|it| listed(&it.messages).len()).max().unwrap_or(0);
    for it in &answer.drops {
        let mark = if it.messages.iter().any(|number| answer.added.contains(number)) { "+" } else { " " };
        let numbers = listed(&it.messages);
        let lead = format!("{mark} {numbers:<width$}  {DIM}{:>6}{DIM:#}  ", grouped(it.tokens));
        page.cut(&lead, &escaped(&one_line(&it.label, 400)), "")?;
    }
    let file = escaped(&file_word(Path::new(&answer.file))).into_owned();
    let Some(first) = answer.drops.first().and_then(|it| it.messages.first()) else {
        return page.prose("", 2, &format!("nothing is dropped; to drop message 12: wb drop {file} 12"));
    };
    let tokens = grouped(answer.tokens);
    page.prose("", 2, &format!("{tokens} tokens; each later compaction folds these messages first"))?;
    writeln!(page, "{DIM}to keep one again:{DIM:#} wb drop --undo {file} {first}")
}
