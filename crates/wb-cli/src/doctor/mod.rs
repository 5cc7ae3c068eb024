//! `wb doctor`: why a session does not go on.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use wb_dialect::Violation;
use wb_formats::{Note, dialects_of};
use wb_summarize::FindingKind;

use crate::agent_folders::newest_session;
use crate::args::{Doctor, Policy};
use crate::audit::newest_summary;
use crate::escape::{escaped, shell_word};
use crate::exit_code::Exit;
use crate::number::{count, grouped};
use crate::repair::mends;
use crate::session::Session;
use crate::shell::Shell;
use crate::strategy::Strategy;
use crate::style::{BAD, DIM, GOOD};
use crate::user_error::UserError;
use crate::validity::violations;
use crate::wrap::Page;

/// A segment with fewer messages of its own was hardly worth the compaction before it.
const FEW_MESSAGES: usize = 8;
/// So many of them in a row are a loop.
const LOOP: usize = 3;
/// Files above this are read whole by most agents, which then take long or give up.
const LARGE_BYTES: u64 = 200 << 20;

/// The answer of `wb doctor --json`.
#[derive(Debug, Serialize)]
struct Diagnosis {
    file: String,
    format: &'static str,
    complaints: Vec<Complaint>,
}

/// One reason why a session may not go on.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Complaint {
    /// What is so.
    what: String,
    /// The line of the file, where it has one.
    line: Option<usize>,
    /// The command that mends it.
    mend: Option<String>,
}

/// Looks at a session and says what would keep it from going on.
pub(crate) fn doctor(shell: &Shell, args: &Doctor) -> Result<Exit> {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => newest(shell)?,
    };
    let session = Session::open(shell, &path, Policy::default(), Strategy::default())?;
    let complaints = shell.timed("looking", || complaints(&session, &path));
    let diagnosis = Diagnosis { file: session.file.clone(), format: session.opened.format, complaints };
    if shell.is_json {
        shell.print_json(&diagnosis)?;
    } else {
        shell.print(|page| people(page, &diagnosis))?;
    }
    Ok(if diagnosis.complaints.is_empty() { Exit::Done } else { Exit::Found })
}

fn newest(shell: &Shell) -> Result<PathBuf, UserError> {
    let hint = "name a session's file; `wb` shows where it looks";
    newest_session(&shell.environment)
        .ok_or_else(|| UserError::new("there is no session of a known agent on this machine", hint))
}

fn complaints(session: &Session, path: &Path) -> Vec<Complaint> {
    let file = shell_word(&session.file);
    let mut found = refused(session, &file);
    found.extend(too_large(session, &file));
    found.extend(looped(session, &file));
    found.extend(untrue(session, &file));
    found.extend(session.opened.notes.iter().filter_map(unreadable));
    found.extend(path.metadata().ok().and_then(|it| heavy(it.len())));
    found
}

/// What the provider would refuse.
fn refused(session: &Session, file: &str) -> Vec<Complaint> {
    let (messages, dialects) = (&session.opened.messages, dialects_of(session.opened.format));
    let found = violations(messages, dialects);
    let left =
        if found.is_empty() { Vec::new() } else { mends(&session.opened, dialects).1.violations().to_vec() };
    let way = |rule: &str| {
        let is_left = left.iter().any(|violation| violation.rule == rule);
        let command = if is_left { ("compact", " --force") } else { ("repair", "") };
        format!("wb {} {file} --in-place{}", command.0, command.1)
    };
    let mut told: Vec<&Violation> = Vec::new();
    for violation in &found {
        let is_same =
            |known: &&Violation| (known.message, &known.rule) == (violation.message, &violation.rule);
        if !told.iter().any(is_same) {
            told.push(violation);
        }
    }
    let complaint = |violation: &Violation| Complaint {
        what: format!("its provider would refuse message {}: {}", place(violation), violation.what),
        line: violation.message.and_then(|at| line_of(session, at)),
        mend: Some(way(&violation.rule)),
    };
    told.into_iter().map(complaint).collect()
}

fn place(violation: &Violation) -> String {
    violation.message.map_or_else(|| "-".to_owned(), |at| at.to_string())
}

/// Returns the line at which a message begins, in a session of one file.
fn line_of(session: &Session, at: usize) -> Option<usize> {
    let record = &session.opened.provenance.of(at).first()?.record;
    let parts = session.document.parts();
    if !record.part.is_empty() || parts.list("").ok()?.len() != 1 {
        return None;
    }
    let before = wb_record::Span { at: 0, len: record.at, ..record.clone() };
    let bytes = parts.bytes(&before).ok()?;
    Some(bytes.split(|byte| *byte == b'\n').count())
}

fn too_large(session: &Session, file: &str) -> Option<Complaint> {
    let tokens = session.measure.context_tokens;
    (tokens > session.window).then(|| Complaint {
        what: format!(
            "its context has {} tokens, and the window {}",
            grouped(tokens),
            grouped(session.window)
        ),
        line: None,
        mend: Some(format!("wb compact {file} --in-place")),
    })
}

/// Compactions so close to each other that the agent does nothing else.
fn looped(session: &Session, file: &str) -> Option<Complaint> {
    let past = session.past()?;
    let few =
        past.segments.iter().skip(1).rev().take_while(|it| it.messages.len() - it.n_seen < FEW_MESSAGES);
    let n = few.count();
    (n >= LOOP).then(|| Complaint {
        what: format!("its last {n} compactions have fewer than {FEW_MESSAGES} messages between them: it compacts in a loop"),
        line: None,
        mend: Some(format!("wb compact {file} --in-place --force")),
    })
}

/// A newest summary that says what the session does not bear out.
fn untrue(session: &Session, file: &str) -> Option<Complaint> {
    let (_, findings) = newest_summary(&session.past()?)?;
    let is_misleading = |kind: FindingKind| {
        matches!(kind, FindingKind::TaskState | FindingKind::FailedSince | FindingKind::UnknownApproval)
    };
    let first = findings.iter().find(|finding| is_misleading(finding.kind))?;
    let n = findings.iter().filter(|finding| is_misleading(finding.kind)).count();
    Some(Complaint {
        what: format!(
            "its newest summary says {} that the session does not bear out: “{}”, but {}",
            count(n, "thing", "things"),
            wb_message::text::one_line(&first.text, 120),
            first.why
        ),
        line: None,
        mend: Some(format!("wb audit {file}")),
    })
}

fn unreadable(note: &Note) -> Option<Complaint> {
    let (what, line) = match note {
        Note::TruncatedLastLine { line } => {
            ("its last line was cut off while it was written".to_owned(), *line)
        }
        Note::UnreadableRecords { n, line } => {
            (format!("{} cannot be read", count(*n, "line", "lines")), *line)
        }
        _ => return None,
    };
    Some(Complaint { what, line: Some(line), mend: None })
}

fn heavy(n_bytes: u64) -> Option<Complaint> {
    let what = format!("its file has {} MB, which most agents read whole", n_bytes >> 20);
    (n_bytes > LARGE_BYTES).then_some(Complaint { what, line: None, mend: None })
}

fn people(page: &mut Page<'_>, diagnosis: &Diagnosis) -> io::Result<()> {
    page.heading(&escaped(&diagnosis.file), diagnosis.format)?;
    if diagnosis.complaints.is_empty() {
        return page.prose("", 2, &format!("{GOOD}nothing is seen that would keep it from going on{GOOD:#}"));
    }
    for Complaint { what, line, mend } in &diagnosis.complaints {
        let line = line.map_or_else(String::new, |line| format!(" (line {line})"));
        page.prose("", 2, &format!("{BAD}✗{BAD:#} {}{line}", escaped(what)))?;
        if let Some(mend) = mend {
            page.prose("  ", 4, &format!("{DIM}{}{DIM:#}", escaped(mend)))?;
        }
    }
    Ok(())
}
