//! `wb validate`: what providers would refuse of a session or of a request.

use std::collections::HashMap;
use std::io;

use anyhow::Result;
use serde::Serialize;
use wb_dialect::{Dialect, Violation, validate as violations_of};
use wb_formats::{SentAs, lone_surrogates, newest};

use crate::args::Validate;
use crate::commands::recall::session_index::renumber;
use crate::session::input::{Input, input};
use crate::session::json::words_of;
use crate::session::meter;
use crate::session::validity::answered_by_agent;
use crate::terminal::escape::escaped;
use crate::terminal::exit_code::Exit;
use crate::terminal::file_error::not_read;
use crate::terminal::number::{count, messages};
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM, GOOD};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The answer of `wb validate --json`.
#[derive(Debug, Serialize)]
struct Validated {
    file: String,
    /// The format of the session, or `request`.
    format: String,
    messages: usize,
    /// The dialects whose rules were checked.
    dialects: Vec<Dialect>,
    violations: Vec<Violation>,
    n_violations: usize,
    /// The number of unpaired surrogates, with which the request is no JSON.
    #[serde(rename = "unpaired_surrogates")]
    n_half_characters: usize,
    /// The notes on what the reader skipped or changed.
    notes: Vec<String>,
}

/// Validates a session or a request and prints the findings.
pub(crate) fn validate(shell: &Shell, args: &Validate) -> Result<Exit> {
    let found = shell.timed("validating", || validated(args))?;
    let exit = if found.n_findings() > 0 { Exit::Found } else { Exit::Done };
    if shell.is_json {
        shell.print_json(&found)?;
    } else {
        shell.print(|page| render_text(page, &found))?;
    }
    Ok(exit)
}

impl Validated {
    fn n_findings(&self) -> usize {
        self.n_violations + usize::from(self.n_half_characters > 0)
    }
}

fn validated(args: &Validate) -> Result<Validated, UserError> {
    let path = args.file.as_path();
    let mut n_half_characters = 0;
    let (format, messages, dialects, violations, notes) = match input(path)? {
        Input::Request(request) => {
            let dialects = if args.dialect.is_empty() { &request.dialects } else { &args.dialect };
            let found = dialects.iter().flat_map(|dialect| violations_of(&request.body, *dialect));
            let violations: Vec<Violation> = found.collect();
            ("request".to_owned(), request.n_messages(), dialects.clone(), violations, Vec::new())
        }
        Input::Session(document) => {
            let read = newest(document.as_ref()).and_then(|name| document.view(&name));
            let view = read.map_err(|error| not_read(path, &error))?;
            n_half_characters = lone_surrogates(document.as_ref(), &view).map_or(0, |halves| halves.len());
            let sent = SentAs::from_view(&view);
            let sent = if args.dialect.is_empty() { sent } else { sent.in_dialects(&args.dialect) };
            let mut violations = sent.server_violations(document.as_ref(), &view);
            // Free the text of the session before building its request, unless it gives numbers.
            let document = Some(document).filter(|_| view.is_compacted());
            violations.extend(sent.violations(&view.messages));
            if let Some(document) = document {
                renumber(document.as_ref(), &view, &mut [(&view.messages, &mut violations)])
                    .map_err(|error| not_read(path, &error))?;
            }
            let answered = answered_by_agent(&view, &sent);
            let notes = words_of(&view.notes).into_iter().chain(answered).collect();
            (view.format.to_owned(), view.messages.len(), sent.dialects.to_vec(), violations, notes)
        }
    };
    let (file, n_violations) = (path.display().to_string(), violations.len());
    Ok(Validated { file, format, messages, dialects, violations, n_violations, n_half_characters, notes })
}

fn render_text(page: &mut Page<'_>, found: &Validated) -> io::Result<()> {
    let names: Vec<&str> = found.dialects.iter().map(|dialect| dialect.name()).collect();
    let details = format!("{} · {} · {}", found.format, messages(found.messages), names.join(", "));
    page.heading(&escaped(&found.file), &details)?;
    let n = found.n_findings();
    if n == 0 {
        page.prose("", 2, &format!("{GOOD}no findings{GOOD:#}"))?;
    } else {
        page.prose("", 2, &format!("{BAD}{}{BAD:#}", count(n, "finding", "findings")))?;
        lines(page, &found.violations, true)?;
    }
    if found.n_half_characters > 0 {
        let n = found.n_half_characters;
        let what = "request: unpaired surrogates, which the provider rejects as invalid JSON";
        page.prose("", 2, &format!("{what}: {n}"))?;
    }
    meter::notes(page, &found.notes)
}

/// Groups the violations that several dialects share.
fn grouped(violations: &[Violation]) -> Vec<Vec<&Violation>> {
    let mut groups: Vec<Vec<&Violation>> = Vec::new();
    let mut known = HashMap::new();
    for violation in violations {
        let at = *known.entry((violation.message, &violation.rule, &violation.what)).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(violation),
            None => groups.push(vec![violation]),
        }
    }
    groups.sort_by_key(|group| group[0].message);
    groups
}

/// Writes violations, one line for those that several dialects share; `has_fix` adds the fixes.
pub(crate) fn lines(page: &mut Page<'_>, violations: &[Violation], has_fix: bool) -> io::Result<()> {
    grouped(violations).into_iter().try_for_each(|group| line(page, &group, has_fix))
}

fn line(page: &mut Page<'_>, group: &[&Violation], has_fix: bool) -> io::Result<()> {
    let [first, ..] = group else { return Ok(()) };
    let place = first.message.map_or_else(|| "request".to_owned(), |at| format!("message {at}"));
    let mut names: Vec<&str> = Vec::new();
    for violation in group {
        if !names.contains(&violation.dialect.name()) {
            names.push(violation.dialect.name());
        }
    }
    let (rule, what) = (&first.rule, escaped(&first.what));
    let fix = if has_fix { format!("; {}", first.fix) } else { String::new() };
    page.prose("", 2, &format!("{place}: {rule}: {what}{fix} {DIM}[{}]{DIM:#}", names.join(", ")))
}
