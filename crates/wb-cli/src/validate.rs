//! `wb validate`: what providers would refuse of a session or of a request.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use wb_dialect::{Dialect, Violation, validate as violations_of};
use wb_formats::{FormatError, newest};
use wb_record::{Access, MemoryParts};

use crate::args::Validate;
use crate::escape::escaped;
use crate::exit_code::Exit;
use crate::file_error::not_read;
use crate::number::{count, messages};
use crate::provider_request::dialects_of_request;
use crate::session::{document, stream};
use crate::shell::Shell;
use crate::style::{BAD, DIM, GOOD};
use crate::user_error::UserError;
use crate::validity::{dialects_of, violations};
use crate::wrap::Page;

/// The bytes by which a stream is told that is no session.
const HEAD_BYTES: usize = 1 << 16;

/// The answer of `wb validate --json`.
#[derive(Debug, Serialize)]
struct Validated {
    file: String,
    /// The format of the session, or `request`.
    format: String,
    messages: usize,
    /// The dialects whose rules were looked at.
    dialects: Vec<Dialect>,
    violations: Vec<Violation>,
    n_violations: usize,
}

/// Validates a session or a request and prints what was found.
pub(crate) fn validate(shell: &Shell, args: &Validate) -> Result<Exit> {
    let found = shell.timed("validating", || validated(args))?;
    let exit = if found.n_violations > 0 { Exit::Refused } else { Exit::Done };
    if shell.is_json {
        shell.print_json(&found)?;
    } else {
        shell.print(|page| people(page, &found))?;
    }
    Ok(exit)
}

fn validated(args: &Validate) -> Result<Validated, UserError> {
    let path = args.file.as_path();
    let asked =
        |otherwise: &[Dialect]| if args.dialect.is_empty() { otherwise } else { &args.dialect }.to_vec();
    let file = path.display().to_string();
    let bytes = bytes_of(path)?;
    if let Some((request, own)) = bytes.as_deref().and_then(request_in) {
        let dialects = asked(&own);
        let found = dialects.iter().flat_map(|dialect| violations_of(&request, *dialect));
        let violations: Vec<Violation> = found.collect();
        let (messages, n_violations) = (n_messages(&request, &dialects), violations.len());
        return Ok(Validated {
            file,
            format: "request".into(),
            messages,
            dialects,
            violations,
            n_violations,
        });
    }
    let failed = |error: FormatError| not_read(path, &error, &[]);
    let document = match bytes {
        // A stream cannot be read again.
        Some(bytes) => {
            let head = bytes[..bytes.len().min(HEAD_BYTES)].to_vec();
            let opened = wb_formats::open(Box::new(MemoryParts::of(bytes)));
            opened.map_err(|error| not_read(path, &error, &head))?
        }
        None => document(path, Access::Read)?,
    };
    let view = newest(document.as_ref()).and_then(|name| document.view(&name)).map_err(failed)?;
    let dialects = asked(dialects_of(view.format));
    let violations = violations(&view.messages, &dialects);
    let (format, messages, n_violations) = (view.format.to_owned(), view.messages.len(), violations.len());
    Ok(Validated { file, format, messages, dialects, violations, n_violations })
}

/// Reads a stream, or a file that begins as a JSON object does; nothing of any other.
fn bytes_of(path: &Path) -> Result<Option<Vec<u8>>, UserError> {
    let failed = |error: io::Error| not_read(path, &FormatError::Io(error), &[]);
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream(path).map_err(failed)? {
        stream.read_to_end(&mut bytes).map_err(failed)?;
        return Ok(Some(bytes));
    }
    // What cannot be read here fails again as a session, with its reason.
    let Ok(mut file) = File::open(path) else { return Ok(None) };
    let _ = Read::by_ref(&mut file).take(64).read_to_end(&mut bytes);
    let begins_as_object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    let is_read = begins_as_object && file.read_to_end(&mut bytes).is_ok();
    Ok((is_read && request_in(&bytes).is_some()).then_some(bytes))
}

/// Returns the request that bytes hold, and the dialects that it can be in.
fn request_in(bytes: &[u8]) -> Option<(Value, Vec<Dialect>)> {
    let body: Value = serde_json::from_slice(bytes).ok()?;
    let dialects = dialects_of_request(&body);
    (!dialects.is_empty()).then_some((body, dialects))
}

fn n_messages(request: &Value, dialects: &[Dialect]) -> usize {
    let lists = dialects.iter().filter_map(|dialect| request.get(dialect.messages_key())?.as_array());
    lists.map(Vec::len).next().unwrap_or(0)
}

fn people(page: &mut Page<'_>, found: &Validated) -> io::Result<()> {
    let names: Vec<&str> = found.dialects.iter().map(|dialect| dialect.name()).collect();
    let told = format!("{} · {} · {}", found.format, messages(found.messages), names.join(", "));
    page.heading(&escaped(&found.file), &told)?;
    if found.violations.is_empty() {
        return page.prose("", 2, &format!("{GOOD}no findings{GOOD:#}"));
    }
    let n = found.n_violations;
    page.prose("", 2, &format!("{BAD}{}{BAD:#}", count(n, "finding", "findings")))?;
    grouped(&found.violations).into_iter().try_for_each(|group| line(page, &group))
}

/// Puts what is the same in several dialects together.
fn grouped(violations: &[Violation]) -> Vec<Vec<&Violation>> {
    let mut groups: Vec<Vec<&Violation>> = Vec::new();
    let is_same = |one: &Violation, other: &Violation| {
        (one.message, &one.rule, &one.what) == (other.message, &other.rule, &other.what)
    };
    for violation in violations {
        match groups.iter_mut().find(|group| is_same(group[0], violation)) {
            Some(group) => group.push(violation),
            None => groups.push(vec![violation]),
        }
    }
    groups.sort_by_key(|group| group[0].message);
    groups
}

fn line(page: &mut Page<'_>, group: &[&Violation]) -> io::Result<()> {
    let [first, ..] = group else { return Ok(()) };
    let place = first.message.map_or_else(|| "request".to_owned(), |at| format!("message {at}"));
    let names: Vec<&str> = group.iter().map(|violation| violation.dialect.name()).collect();
    let (rule, what, fix) = (&first.rule, escaped(&first.what), &first.fix);
    writeln!(page, "{place}: {rule}: {what}; {fix} {DIM}[{}]{DIM:#}", names.join(", "))
}
