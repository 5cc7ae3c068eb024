//! `wb doctor`: why a session does not go on.

mod line_starts;
mod last_failure;
mod request_body;
mod ways;

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use wb_dialect::Violation;
use wb_facts::{Finding, FindingKind};
use wb_formats::{FormatError, Note, SentAs};
use wb_message::Message;
use wb_message::markers::digest_body;
use wb_record::{Access, History, Span};
use wb_replay::Segment;

use self::last_failure::last_failure;
use self::line_starts::{LineStarts, unreadable_lines};
use self::request_body::refused_as_it_stands;
use self::ways::{Ways, is_of_a_damage};
use crate::args::strategy::Strategy;
use crate::args::{Doctor, Policy};
use crate::commands::audit::newest_summary;
use crate::session::Session;
use crate::session::agent_folders::newest_session;
use crate::session::json::words_of;
use crate::session::meter;
use crate::session::validity::answered_by_agent;
use crate::terminal::escape::{escaped, file_word};
use crate::terminal::exit_code::Exit;
use crate::terminal::json_layout::{GLUED, JsonLayout, SPREAD};
use crate::terminal::number::{count, grouped};
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM, GOOD};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

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
    /// What else was passed over or changed while reading.
    notes: Vec<String>,
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
    /// What helps where no command mends it.
    advice: Option<&'static str>,
}

impl Complaint {
    /// Names the command that mends it, or else what helps.
    fn new(what: String, mend: Option<String>, otherwise: &'static str) -> Self {
        let advice = mend.is_none().then_some(otherwise);
        Self { what, line: None, mend, advice }
    }

    fn at_line(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }
}

/// Looks at a session and says what would keep it from going on.
pub(crate) fn doctor(shell: &Shell, args: &Doctor) -> Result<Exit> {
    let path = match &args.file {
        Some(path) => path.clone(),
        None => newest(shell)?,
    };
    let policy = Policy { window: args.window, ..Policy::default() };
    let mut session = Session::open(shell, &path, policy, Strategy::default())?;
    let (complaints, aside) = shell.timed("looking", || complaints(&mut session, &path));
    let rest = session.opened.notes.iter().filter(|note| !is_of_a_damage(note)).copied();
    let notes = words_of(&rest.collect::<Vec<_>>()).into_iter().chain(aside).collect();
    let diagnosis =
        Diagnosis { file: session.file.clone(), format: session.opened.format, complaints, notes };
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

/// Returns what would keep a session from going on, and what is only worth a look.
fn complaints(session: &mut Session, path: &Path) -> (Vec<Complaint>, Vec<String>) {
    let Past { n_looped, summary } = Past::of(session, path).unwrap_or_default();
    let ways = Ways::of(session, n_looped >= LOOP);
    let file = file_word(path);
    let notes = &session.opened.notes;
    let mut found: Vec<Complaint> = notes.iter().filter_map(|note| of_lost(note, &ways)).collect();
    found.extend(refused(session, &ways));
    found.extend(refused_as_it_stands(session, &ways));
    found.extend(of_halves(session, &ways));
    found.extend(too_large(session, &ways));
    found.extend(looped(n_looped, &ways));
    found.extend(untrue(&summary, &file, session));
    found.extend(session.opened.notes.iter().filter_map(|note| of_note(note, session, path, &ways)));
    found.extend(path.metadata().ok().and_then(|it| heavy(it.len())));
    let answered = answered_by_agent(&session.opened, &SentAs::of(&session.opened));
    let aside = [answered, last_failure(session), lacking(&summary, &file)];
    (found, aside.into_iter().flatten().collect())
}

/// What the provider would refuse.
fn refused(session: &Session, ways: &Ways) -> Vec<Complaint> {
    let mut found = ways.now.violations().to_vec();
    // Providers say one thing in different words: it is told in those of the first.
    let mut told = HashMap::new();
    found.retain(|it| *told.entry((it.message, it.rule.clone())).or_insert(it.dialect) == it.dialect);
    if found.is_empty() {
        return Vec::new();
    }
    let line_of = lines_of(session);
    let complaint = |violation: &Violation| {
        let what = format!("its provider would refuse {}: {}", place(violation), violation.what);
        // What it names first is the call or the result.
        let named = violation.what.split('`').nth(1).unwrap_or_default();
        let line = violation.message.and_then(|at| line_of(at, named));
        let otherwise = ways.advice().unwrap_or(GO_BACK);
        Complaint::new(what, ways.mend(&violation.rule), otherwise).at_line(line)
    };
    found.iter().map(complaint).collect()
}

/// Halves of characters in what is sent.
fn of_halves(session: &Session, ways: &Ways) -> Option<Complaint> {
    let first = ways.halves.first()?;
    let halves = count(ways.halves.len(), "half of a character", "halves of characters");
    let what = format!("its provider would refuse the request as no JSON: it holds {halves}");
    let starts = LineStarts::of(session.document.parts());
    let line = starts.filter(|_| first.part.is_empty()).map(|lines| lines.line_of(first.at));
    Some(Complaint::new(what, ways.mend_halves(), GO_BACK).at_line(line))
}

/// What helps where no command does.
const GO_BACK: &str =
    "nothing that wb writes mends it: in the agent, go back before it came, or begin a new session";

fn place(violation: &Violation) -> String {
    violation.message.map_or_else(|| "the request".to_owned(), |at| format!("message {at}"))
}

/// Finds the line at which a message begins, in a session of one file; of one in several lines the first that holds a text.
fn lines_of(session: &Session) -> impl Fn(usize, &str) -> Option<usize> {
    let parts = session.document.parts();
    let lines = LineStarts::of(parts);
    move |at, text| {
        let places = session.opened.provenance.of(at);
        let holds = |record: &Span| {
            let record = parts.bytes(record).unwrap_or_default();
            String::from_utf8_lossy(&record).contains(text)
        };
        let named = places.iter().find(|place| places.len() == 1 || holds(&place.record));
        let record = &named.or(places.first())?.record;
        Some(lines.as_ref().filter(|_| record.part.is_empty())?.line_of(record.at))
    }
}

fn too_large(session: &Session, ways: &Ways) -> Option<Complaint> {
    let tokens = session.measure.context_tokens;
    if tokens <= session.window {
        return None;
    }
    let what =
        format!("its context has {} tokens, and the window {}", grouped(tokens), grouped(session.window));
    Some(Complaint::new(what, ways.fit(session.window), ways.not_compacted().unwrap_or(TOO_LARGE)))
}

/// What helps where the messages that stay fill the window alone.
const TOO_LARGE: &str = "no compaction makes it small enough, since the messages that stay fill the window alone: in the \
     agent, go back before the largest one and name a file in its place, or take a model with a larger window";

/// What the session as it was said tells of its compactions.
#[derive(Default)]
struct Past {
    /// The last compactions that are so close to each other that the agent does nothing else.
    n_looped: usize,
    /// What the newest summary says that the session does not bear out.
    summary: Vec<Finding>,
}

impl Past {
    fn of(session: &Session, path: &Path) -> Result<Self, FormatError> {
        let mut compactions = Compactions::default();
        let Session { document, conversation, opened, .. } = session;
        let see = |segment: &Segment| compactions.see(segment);
        let (_, summary) = newest_summary(document.as_ref(), conversation, opened.vocabulary, see)?;
        let n_by_hand = History::beside(path, Access::Read)
            .and_then(|history| history.n_own_in_force(document.as_ref(), conversation));
        (0..n_by_hand.unwrap_or(0)).for_each(|_| compactions.forget_last(0));
        Ok(Self { n_looped: compactions.n_close(), summary: summary.unwrap_or_default() })
    }
}

/// The compactions of a session that were not taken back.
#[derive(Debug, Default)]
struct Compactions {
    /// For each how many messages came after it.
    n_after: Vec<usize>,
    /// How many messages were shown last that no compaction made; nothing at the start.
    n_shown: Option<usize>,
}

impl Compactions {
    fn see(&mut self, segment: &Segment) {
        let (n, n_new) = (segment.messages.len() - segment.n_synthetic(), segment.new_messages().len());
        match self.n_shown.replace(n) {
            None => {}
            // What had been folded is seen again.
            Some(n_before) if n.saturating_sub(n_new) > n_before => self.forget_last(n_new),
            Some(_) => self.n_after.push(n_new),
        }
    }

    /// Forgets the last one: what came after it came after the one before it, with so many messages more.
    fn forget_last(&mut self, n_more: usize) {
        let n = self.n_after.pop().unwrap_or(0) + n_more;
        self.n_after.last_mut().into_iter().for_each(|last| *last += n);
    }

    /// Returns how many of the last ones have few messages after them.
    fn n_close(&self) -> usize {
        self.n_after.iter().rev().take_while(|n| **n < FEW_MESSAGES).count()
    }
}

fn looped(n: usize, ways: &Ways) -> Option<Complaint> {
    (n >= LOOP).then(|| {
        let what = format!(
            "its last {n} compactions have fewer than {FEW_MESSAGES} messages between them: it compacts in a loop"
        );
        Complaint::new(what, ways.make_room(), LOOPED)
    })
}

/// What helps where nothing is left to fold.
const LOOPED: &str = "nothing is left to fold, so it is not the messages that fill the window: take out tools, or files of \
     instructions that the agent always loads, or take a model with a larger window";

/// Tells whether an agent that goes on from it is misled: it is said of what the session shows to be otherwise.
fn is_misleading(finding: &Finding) -> bool {
    use FindingKind::{FailedSince, TakenBack, TaskState, UnknownApproval};
    matches!(finding.kind, TaskState | TakenBack | FailedSince | UnknownApproval)
}

/// A newest summary that contradicts the session.
fn untrue(findings: &[Finding], file: &str, session: &Session) -> Option<Complaint> {
    let first = findings.iter().find(|it| is_misleading(it))?;
    let n = findings.iter().filter(|it| is_misleading(it)).count();
    let what = format!(
        "its newest summary contradicts the session in {}: “{}”, but {}; {} in all",
        count(n, "place", "places"),
        wb_message::text::one_line(&first.text, 120),
        first.why,
        count(findings.len(), "finding", "findings")
    );
    let is_summary = |it: &Message| digest_body(it).is_some() && !matches!(it, Message::BranchSummary { .. });
    let line = session.opened.messages.iter().rposition(is_summary).and_then(|at| lines_of(session)(at, ""));
    let complaint = Complaint::new(what, Some(audit_of(file)), UNTRUE).at_line(line);
    Some(Complaint { advice: Some(UNTRUE), ..complaint })
}

/// Says that there is something to be seen in the newest summary, where nothing of it misleads.
fn lacking(findings: &[Finding], file: &str) -> Option<String> {
    let is_one = !findings.is_empty() && !findings.iter().any(is_misleading);
    let n = count(findings.len(), "finding", "findings");
    is_one.then(|| {
        format!("its newest summary has {n}, and does not contradict the session: {}", audit_of(file))
    })
}

fn audit_of(file: &str) -> String {
    format!("wb audit {file}")
}

/// What helps an agent that goes on from what is not so.
const UNTRUE: &str =
    "tell the agent what is so before it goes on; the command below shows all that was found";

/// What is lost of a record, which makes calls or results of others stand alone, or hides what stands before.
fn of_lost(note: &Note, ways: &Ways) -> Option<Complaint> {
    let (complaint, line) = match note {
        Note::MissingRoles { n, line } => {
            let (verb, messages) = (if *n == 1 { "does" } else { "do" }, count(*n, "message", "messages"));
            let what = format!("{messages} {verb} not say who speaks");
            (Complaint::new(what, ways.mend_record(note), NOBODY), *line)
        }
        Note::LostParent { line } => {
            let what = "a line follows one that is not in the file, and the agent may see nothing before it";
            (Complaint::new(what.to_owned(), ways.mend_record(note), LOST), *line)
        }
        _ => return None,
    };
    Some(complaint.at_line(Some(line)))
}

const NOBODY: &str = "name the \"role\" of what begins at this line in an editor, after a copy of the file";

/// What keeps an agent from its session, or from a part of it.
fn of_note(note: &Note, session: &Session, path: &Path, ways: &Ways) -> Option<Complaint> {
    let (what, line, advice) = match note {
        Note::TruncatedLastLine { line } => {
            ("its last line was cut off while it was written".to_owned(), *line, CUT_OFF)
        }
        Note::UnreadableRecords { n, line } => {
            let (names, advice) = unread(session, path, *line);
            let which = which_lines(*n, *line, session);
            (format!("{} cannot be read{which}", count(*n, names[0], names[1])), *line, advice)
        }
        _ => return None,
    };
    Some(Complaint::new(what, ways.mend_record(note), advice).at_line(Some(line)))
}

/// Returns what the records of a session are called, one and several, and what helps where one cannot be read.
fn unread(session: &Session, path: &Path, line: usize) -> ([&'static str; 2], &'static str) {
    let is_one_file = session.document.parts().list("").is_ok_and(|parts| parts.len() == 1);
    let (lines, elements) = (["line", "lines"], ["element", "elements"]);
    match JsonLayout::at(path, line) {
        _ if !is_one_file => (["row", "rows"], UNREAD_ROW),
        JsonLayout::Document | JsonLayout::Cut => (elements, UNREAD_ELEMENT),
        JsonLayout::Glued => (lines, GLUED),
        JsonLayout::Spread => (lines, SPREAD),
        JsonLayout::Line => (lines, UNREAD),
    }
}

/// Names the first few of several lines that cannot be read; nothing where the session is none of lines.
fn which_lines(n: usize, first: usize, session: &Session) -> String {
    let found = if n > 1 { unreadable_lines(session.document.parts()) } else { Vec::new() };
    if found.first() != Some(&first) || found.len() > n {
        return String::new();
    }
    let numbers: Vec<String> = found.iter().map(ToString::to_string).collect();
    format!(": {}{}", numbers.join(", "), if n > found.len() { ", …" } else { "" })
}

const CUT_OFF: &str = "what it said is lost; if the agent does not open the session, or before another program appends to it, \
     take the line out in an editor";
const UNREAD: &str = "wb reads the others and leaves it as it stands; if the agent does not open the session, take the line \
     out in an editor, after a copy of the file, and ask `wb doctor` again";
const UNREAD_ELEMENT: &str = "wb reads the others and leaves it as it stands; if the agent does not open the session, take the whole \
     element out in an editor, from the `{` at this line to its `}` with one comma beside it, after a copy of the file, and ask \
     `wb doctor` again";
const UNREAD_ROW: &str = "wb reads the others and leaves it as it stands";

const LOST: &str = "nothing that wb writes brings the line back: take it from a copy of the file, or tell the agent what it has to know";

fn heavy(n_bytes: u64) -> Option<Complaint> {
    let what = format!("its file has {} MB, which most agents read whole", n_bytes >> 20);
    (n_bytes > LARGE_BYTES).then(|| Complaint::new(what, None, HEAVY))
}

const HEAVY: &str = "a compaction leaves what it folds in the file of most agents: begin a new session, for which `wb convert \
     FILE --to AGENT` writes what the model still sees";

fn people(page: &mut Page<'_>, diagnosis: &Diagnosis) -> io::Result<()> {
    page.heading(&escaped(&diagnosis.file), diagnosis.format)?;
    if diagnosis.complaints.is_empty() {
        page.prose("", 2, &format!("{GOOD}nothing is seen that would keep it from going on{GOOD:#}"))?;
    }
    for Complaint { what, line, mend, advice } in &diagnosis.complaints {
        let line = line.map_or_else(String::new, |line| format!(" (line {line})"));
        page.prose("", 2, &format!("{BAD}✗{BAD:#} {}{line}", escaped(what)))?;
        if let Some(advice) = advice {
            page.prose("  ", 4, &format!("{DIM}{advice}{DIM:#}"))?;
        }
        if let Some(mend) = mend {
            page.prose("  ", 4, &format!("{DIM}{}{DIM:#}", escaped(mend)))?;
        }
    }
    meter::notes(page, &diagnosis.notes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_dialect::Dialect;

    use super::*;

    /// Returns how many compactions are close, given how many messages each segment shows of those before and says anew.
    fn n_close(segments: &[(usize, usize)]) -> usize {
        let mut compactions = Compactions::default();
        for (n_seen, n_new) in segments.iter().copied() {
            let digest = Message::CompactionSummary { summary: "Done.".to_owned(), tokens_before: 9 };
            let said = vec![Message::user("more"); n_seen + n_new];
            compactions.see(&Segment { messages: [vec![digest], said].concat(), n_seen: n_seen + 1 });
        }
        compactions.n_close()
    }

    #[test]
    fn a_compaction_that_was_taken_back_is_none() {
        assert_eq!(n_close(&[(0, 20), (2, 3), (2, 4), (2, 1)]), 3);
        // Three compactions with much between them, and then what had been folded is seen again, step by step.
        let three = [(0, 20), (2, 28), (2, 28), (2, 8)];
        assert_eq!(n_close(&three), 0);
        let undone = [three.as_slice(), &[(38, 0), (66, 0), (84, 0)]].concat();
        assert_eq!(n_close(&undone), 0);
        // The messages that came after it came after the one before it.
        assert_eq!(n_close(&[(0, 20), (2, 3), (2, 4), (9, 2)]), 0);
        assert_eq!(n_close(&[(0, 20), (2, 3), (2, 1), (6, 2)]), 1);
    }

    #[test]
    fn what_is_refused_of_the_whole_request_names_no_message() {
        let body = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "assistant", "content": "I speak first."}]});
        let mut found = wb_dialect::validate(&body, Dialect::Anthropic).remove(0);
        found.message = Some(3);
        assert_eq!(place(&found), "message 3");
        found.message = None;
        assert_eq!(place(&found), "the request");
    }
}
