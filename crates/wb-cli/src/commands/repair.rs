//! `wb repair`: fixes what providers would refuse.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use wb_dialect::{Dialect, Violation, repair as repair_request, validate};
use wb_formats::{SentAs, SessionRepair, newest};
use wb_record::splice::{Joint, Piece, splices};
use wb_record::{
    Access, BorrowedPart, Bytes, Change, ChangeSet, Document, History, MissingRole, NotExpressible,
    ONLY_CONVERSATION, OperationKind, View, json,
};

use crate::args;
use crate::args::format_option;
use crate::commands::recall::session_index::renumber;
use crate::commands::validate::lines;
use crate::platform::clock::stamp;
use crate::session::copy::{copy_with, write_part};
use crate::session::history::{history_error, history_to_write};
use crate::session::input::{Input, RequestBody, input};
use crate::session::output_file::{check_target, write_out};
use crate::session::report::written;
use crate::session::validity::{Validity, otherwise};
use crate::session::{document, place_word};
use crate::terminal::escape::{escaped, file_word};
use crate::terminal::exit_code::Exit;
use crate::terminal::file_error::not_read;
use crate::terminal::number::count;
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM, GOOD};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The advice if a format cannot hold a repair.
const ASK_DOCTOR: &str = "`wb doctor FILE` reports whether a compaction fixes it";

/// The advice if nothing can be written.
const CONVERT: &str =
    "`wb convert FILE --to native -o OUT` writes what the model sees as a session that can be repaired";

/// The format name shown for a request.
const REQUEST: &str = "request";

/// The answer of `wb repair --json`.
#[derive(Debug, Default, Serialize)]
struct Repaired {
    file: String,
    format: String,
    #[serde(flatten)]
    damage: Damage,
    /// The lines of the list of operations that cannot be read and are removed from it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable_list_lines: Vec<usize>,
    /// The violations that are fixed.
    #[serde(rename = "mended")]
    fixed: Vec<Violation>,
    /// The violations that remain.
    left: Vec<Violation>,
    /// The reason why the format cannot hold a repair of the rest; none if no repair is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_held: Option<String>,
    /// The hint for the next step.
    #[serde(skip)]
    hint: String,
    /// Indicates that there is something to write.
    changed: bool,
    /// The number by which it can be undone; none if nothing was written into the file.
    operation: Option<u64>,
    written: bool,
    /// The other place that it was written to.
    #[serde(skip)]
    out: Option<PathBuf>,
}

impl Repaired {
    fn has_nothing(&self) -> bool {
        let is_sound = self.fixed.is_empty() && self.left.is_empty() && !self.changed;
        is_sound && self.unreadable_list_lines.is_empty()
    }
}

/// The fixes to the file itself.
#[derive(Debug, Default, Serialize)]
struct Damage {
    /// The last line, cut off during a write, which is removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    torn_line: Option<usize>,
    /// The lines that could not be read and can be again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restored: Vec<usize>,
    /// The number of half characters that are replaced.
    #[serde(skip_serializing_if = "is_zero")]
    n_lone_surrogates: usize,
    /// The lines that are split between the records on them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    parted: Vec<usize>,
    /// The lines that follow the newest line before them, since the one that they followed is not
    /// in the file or is a copy of a summarized one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    relinked: Vec<usize>,
    /// The number of messages that come back for a compaction that the provider cannot decrypt.
    #[serde(skip_serializing_if = "Option::is_none")]
    unfolded: Option<usize>,
    /// The messages that have their role again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    roles: Vec<Role>,
}

impl Damage {
    fn new(done: &SessionRepair) -> Self {
        Self {
            torn_line: done.torn_line,
            restored: done.restored.clone(),
            n_lone_surrogates: done.n_lone_surrogates,
            parted: done.parted.clone(),
            relinked: done.relinked.clone(),
            unfolded: done.unfolded,
            roles: done.roles.iter().filter_map(Role::new).collect(),
        }
    }

    /// Returns whether the repair makes messages visible.
    fn uncovers(&self) -> bool {
        !self.restored.is_empty()
            || !self.parted.is_empty()
            || !self.relinked.is_empty()
            || self.unfolded.is_some()
            || !self.roles.is_empty()
    }

    fn is_none(&self) -> bool {
        self.torn_line.is_none() && self.n_lone_surrogates == 0 && !self.uncovers()
    }

    /// Describes each fix, done or planned, and its places in the file.
    fn in_words(&self, is_done: bool) -> Vec<(String, Vec<String>)> {
        let done = |verb: &str| if is_done { verb.to_owned() } else { format!("would be {verb}") };
        let follow = match (is_done, self.relinked.len()) {
            (false, _) => "would follow",
            (true, 1) => "follows",
            (true, _) => "follow",
        };
        let n_lines = |lines: &[usize]| count(lines.len(), "line", "lines");
        let places = |lines: &[usize]| lines.iter().map(|line| format!("line {line}")).collect::<Vec<_>>();
        let halves = count(self.n_lone_surrogates, "unpaired surrogate", "unpaired surrogates");
        let (parted, relinked) = (n_lines(&self.parted), n_lines(&self.relinked));
        let roles = self.roles.iter().map(|Role { line, role }| format!("line {line}: {role}")).collect();
        let torn =
            if is_done { "removed 1 truncated line" } else { "would remove 1 truncated line" }.to_owned();
        let instead = "the newest line before, in place of one that is missing or a copy";
        [
            (self.torn_line.is_some(), torn, places(self.torn_line.as_slice())),
            (
                !self.restored.is_empty(),
                format!("{} {}", n_lines(&self.restored), done("made readable")),
                places(&self.restored),
            ),
            (self.n_lone_surrogates > 0, format!("{halves} {} by U+FFFD", done("replaced")), Vec::new()),
            (
                !self.parted.is_empty(),
                format!("{parted} {} between its records", done("broken")),
                places(&self.parted),
            ),
            (!self.relinked.is_empty(), format!("{relinked} {follow} {instead}"), places(&self.relinked)),
            (self.unfolded.is_some(), self.unfolded_in_words(is_done), Vec::new()),
            (
                !self.roles.is_empty(),
                format!("{} {}", count(self.roles.len(), "role", "roles"), done("restored")),
                roles,
            ),
        ]
        .into_iter()
        .filter_map(|(is_there, what, places)| is_there.then_some((what, places)))
        .collect()
    }
}

impl Damage {
    fn unfolded_in_words(&self, is_done: bool) -> String {
        let verb = match (is_done, self.unfolded) {
            (false, _) => "would replace",
            (true, Some(1)) => "replaces",
            (true, _) => "replace",
        };
        let n = count(self.unfolded.unwrap_or(0), "message", "messages");
        format!("{n} of before {verb} a compaction that the provider cannot decrypt")
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(n: &usize) -> bool {
    *n == 0
}

/// A message that gets back the role that it lost.
#[derive(Debug, Serialize)]
struct Role {
    line: usize,
    role: &'static str,
}

impl Role {
    fn new(lost: &MissingRole) -> Option<Self> {
        Some(Self { line: lost.line, role: lost.role? })
    }
}

/// A planned write, with what it fixes.
struct Planned {
    report: Repaired,
    set: ChangeSet,
    /// The content expected after the write.
    expected: Expected,
    /// The conversation and its view before the write.
    conversation: String,
    view: View,
    document: Box<dyn Document>,
}

/// The content expected after a repair.
#[derive(Debug)]
enum Expected {
    Session(Validity),
    Request(Value),
}

impl Expected {
    /// Returns whether a document now has the expected content.
    fn is_met(&self, now: &View, document: &dyn Document) -> bool {
        match self {
            Self::Session(expected) => Validity::read(document, now, &SentAs::from_view(now)) == *expected,
            Self::Request(expected) => {
                let bytes = document.parts().whole(ONLY_CONVERSATION);
                let read = bytes.ok().and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
                read.as_ref() == Some(expected)
            }
        }
    }
}

/// Repairs a session or a request.
pub(crate) fn repair(shell: &Shell, args: &args::Repair) -> Result<Exit> {
    if let Some(out) = args.write.out.as_deref().filter(|out| *out != Path::new("-")) {
        check_target(out, std::iter::once(args.file.as_path()), args.write.overwrite, "-o")?;
    }
    let is_in_place = args.write.in_place && !args.write.dry_run;
    let access = if is_in_place { Access::Write } else { Access::Read };
    let out = args.write.out.as_ref().filter(|_| !args.write.dry_run);
    let mut planned = shell.timed("repairing", || plan(&args.file, access))?;
    let file = args.file.display().to_string();
    planned.report.unreadable_list_lines = repair_list(&args.file, out.is_some(), is_in_place)?;
    match out {
        Some(out) => {
            let copy = copy_with(&file, planned.document.as_ref(), &planned.set)?;
            check_copy(&planned, copy.as_ref(), &args.file)?;
            write_out(out, &args.file, args.write.overwrite, |file| {
                write_part(copy.parts(), file).map(drop)
            })?;
        }
        None if is_in_place && !planned.set.is_empty() => {
            planned.report.operation = Some(write_in_place(&file, &mut planned, args)?);
        }
        None => {}
    }
    let written = out.is_some() || planned.report.operation.is_some();
    let is_raw = out.is_some_and(|out| out == Path::new("-"));
    let changed = !planned.set.is_empty();
    let repaired = Repaired { file, changed, written, out: out.cloned(), ..planned.report };
    if shell.is_json && !is_raw {
        shell.print_json(&repaired)?;
    } else if is_raw {
        shell.say(|page| render_text(page, &repaired, is_in_place));
    } else {
        shell.print(|page| render_text(page, &repaired, is_in_place))?;
    }
    Ok(if repaired.left.is_empty() { Exit::Done } else { Exit::Found })
}

/// Returns the lines of the list of operations that cannot be read; in place, they are removed.
fn repair_list(file: &Path, is_elsewhere: bool, is_in_place: bool) -> Result<Vec<usize>, UserError> {
    let lines = match is_in_place {
        // Nothing belongs to standard input or to a new file.
        _ if is_elsewhere || file == Path::new("-") => return Ok(Vec::new()),
        true => History::rebuild_list(file),
        false => History::unreadable_lines(file),
    };
    lines.map_err(|error| history_error(&file.display().to_string(), &error))
}

fn plan(path: &Path, access: Access) -> Result<Planned, UserError> {
    match input(path)? {
        Input::Request(request) => plan_request(path, access, request),
        Input::Session(read) => {
            // A pipe cannot be read twice.
            let document = if access == Access::Write { document(path, access)? } else { read };
            plan_session(path, document)
        }
    }
}

/// Plans the repair of a session: of its messages, so that each format writes them in its own way.
fn plan_session(path: &Path, document: Box<dyn Document>) -> Result<Planned, UserError> {
    let failed = |error| not_read(path, &error);
    let conversation = newest(document.as_ref()).map_err(failed)?;
    let view = document.view(&conversation).map_err(failed)?;
    let sent = SentAs::from_view(&view);
    let before = Validity::read(document.as_ref(), &view, &sent);
    let mut done =
        wb_formats::repair_checked(document.as_ref(), &conversation, (&view, before.violations()), &stamp())
            .map_err(|error| {
                let file = path.display().to_string();
                let hint = hint(document.as_ref(), Some(&error), path);
                UserError::of_file(file, error.to_string(), hint)
            })?;
    let mut after = Validity::with_violations(&done.messages, std::mem::take(&mut done.left));
    let mut fixed: Vec<Violation> = before.new_since(&after).into_iter().cloned().collect();
    let damage = Damage::new(&done);
    let mut messages = &done.messages;
    if !is_of_use(&damage, &fixed) {
        (done.changes, after, messages) = (ChangeSet::default(), before, &view.messages);
    }
    let mut left = after.violations().to_vec();
    let found = &mut [(view.messages.as_slice(), fixed.as_mut_slice()), (messages, &mut left)];
    renumber(document.as_ref(), &view, found).map_err(failed)?;
    let report = Repaired {
        format: view.format.to_owned(),
        damage,
        fixed,
        left,
        hint: hint(document.as_ref(), done.not_held.as_ref(), path),
        not_held: done.not_held.map(|why| why.to_string()),
        ..Repaired::default()
    };
    Ok(Planned {
        report,
        set: done.changes,
        expected: Expected::Session(after),
        conversation,
        view,
        document,
    })
}

/// Returns whether there is a visible fix; a change without one is useless.
fn is_of_use(damage: &Damage, fixed: &[Violation]) -> bool {
    !damage.is_none() || !fixed.is_empty()
}

/// Returns the hint for when a format cannot hold a repair.
fn hint(document: &dyn Document, why: Option<&NotExpressible>, path: &Path) -> String {
    let hint = match why {
        Some(why @ NotExpressible::Layout { .. }) => why.hint(),
        _ if document.abilities().fold_head.is_there() => ASK_DOCTOR,
        _ => CONVERT,
    };
    hint.replace("FILE", &file_word(path))
}

/// Plans the repair of a request: of its body, by the rules of its provider.
fn plan_request(path: &Path, access: Access, request: RequestBody) -> Result<Planned, UserError> {
    let failed = |error| not_read(path, &error);
    let RequestBody { bytes, mut body, dialects } = request;
    let dialect = dialects.first().copied().unwrap_or(Dialect::OpenaiChat);
    let before = body.clone();
    let fixed = repair_request(&mut body, dialect);
    let left = validate(&body, dialect);
    let opened = match access {
        Access::Write => document(path, access)?,
        Access::Read => format_option::open(Box::new(wb_record::MemoryParts::from_bytes(bytes.clone())))
            .map_err(failed)?,
    };
    let conversation = newest(opened.as_ref()).map_err(failed)?;
    let view = opened.view(&conversation).map_err(failed)?;
    let set = spliced(&bytes, &before, &body, dialect.messages_key()).ok_or_else(|| {
        let what = "cannot be repaired in place: more than its messages and tools would change";
        UserError::of_file(path.display().to_string(), what, "please report this with the request")
    })?;
    Ok(Planned {
        report: Repaired { format: REQUEST.into(), fixed, left, ..Repaired::default() },
        set,
        expected: Expected::Request(body),
        conversation,
        view,
        document: opened,
    })
}

/// The tools of a request, which a repair may rename or load.
const TOOLS: &str = "tools";

/// Returns the changes that make one body of another, of which only messages and tools differ, or
/// keys are gone; all other bytes stay.
fn spliced(text: &[u8], before: &Value, after: &Value, key: &str) -> Option<ChangeSet> {
    let (old, new) = (before.as_object()?, after.as_object()?);
    if new.keys().any(|key| !old.contains_key(key)) {
        return None;
    }
    let unequal = old.iter().filter(|(key, value)| new.get(*key) != Some(value));
    let mut keys: Vec<&str> = unequal.map(|(key, _)| key.as_str()).collect();
    if keys.iter().any(|it| ![key, TOOLS].contains(it) && new.contains_key(*it)) {
        return None;
    }
    // In reverse order, so that no change moves the position of another.
    keys.sort_by_key(|key| Reverse(json::find(text, &[key]).map(|place| place.start)));
    let mut set = ChangeSet::default();
    for key in keys {
        let changes = match after.get(key) {
            Some(after) => spliced_list(text, &before[key], after, key)?,
            None => vec![without_key(text, key)],
        };
        set.changes.extend(changes.into_iter().map(|change| (String::new(), change)));
    }
    Some(set)
}

/// Returns the change that removes a key of a body.
fn without_key(text: &[u8], key: &str) -> Change {
    let after = json::remove(text, key);
    let start = text.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let end = start + text.len() - after.len();
    Change::Splice { at: start as u64, old: Bytes(text[start..end].to_vec()), new: Bytes::default() }
}

/// Returns the changes that make one list of a body of another.
fn spliced_list(text: &[u8], before: &Value, after: &Value, key: &str) -> Option<Vec<Change>> {
    let list = json::find(text, &[key])?;
    let start = list.start;
    let records: Vec<_> =
        json::elements(&text[list])?.into_iter().map(|it| start + it.start..start + it.end).collect();
    let (old, new) = (before.as_array()?, after.as_array()?);
    if old.len() != records.len() {
        return None;
    }
    if old.is_empty() {
        let (at, old) = (start as u64, Bytes(text[json::find(text, &[key])?].to_vec()));
        return Some(vec![Change::Splice { at, old, new: Bytes(after.to_string().into_bytes()) }]);
    }
    let mut places: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (nth, value) in old.iter().enumerate() {
        places.entry(value.to_string()).or_default().push_back(nth);
    }
    let mut next = 0;
    let mut piece = |value: &Value| {
        let text = value.to_string();
        let known = places.get_mut(&text).and_then(|places| {
            while places.front().is_some_and(|nth| *nth < next) {
                places.pop_front();
            }
            places.pop_front()
        });
        known.map_or(Piece::New(text.into_bytes()), |nth| {
            next = nth + 1;
            Piece::Stays(nth)
        })
    };
    let pieces: Vec<Piece> = new.iter().map(&mut piece).collect();
    splices(&BorrowedPart(text), &records, &pieces, Joint::Comma, |_| false).ok()
}

fn write_in_place(file: &str, planned: &mut Planned, args: &args::Repair) -> Result<u64, UserError> {
    let failed = |error| history_error(file, &error);
    let mut history = history_to_write(&args.file, planned.document.as_ref(), args.write.allow_open)?;
    let Planned { document, conversation, view, set, expected, .. } = planned;
    let done = history.change(OperationKind::Repair, document.as_mut(), conversation, view, set, &stamp());
    let (id, now) = done.map_err(failed)?;
    if !expected.is_met(&now, document.as_ref()) {
        history.undo(document.as_mut(), Some(id), &stamp()).map_err(failed)?;
        return Err(otherwise(file, "the session is as it was"));
    }
    Ok(id)
}

/// Refuses a copy that reads otherwise than planned.
fn check_copy(planned: &Planned, copy: &dyn Document, path: &Path) -> Result<(), UserError> {
    let now = copy.view(&planned.conversation).map_err(|error| not_read(path, &error))?;
    let is_met = planned.expected.is_met(&now, copy);
    if is_met { Ok(()) } else { Err(otherwise(&path.display().to_string(), "nothing was written")) }
}

/// Reports the lines that the list of operations loses.
fn list_fix(page: &mut Page<'_>, repaired: &Repaired, is_done: bool) -> io::Result<()> {
    let lines = &repaired.unreadable_list_lines;
    if lines.is_empty() {
        return Ok(());
    }
    let verb = if is_done { "removed" } else { "would remove" };
    let n_lines = count(lines.len(), "unreadable line", "unreadable lines");
    let list = "the .wb-log file; a file next to it keeps what is removed";
    page.prose("", 2, &format!("{GOOD}{verb} {n_lines} of {list}{GOOD:#}"))?;
    lines.iter().try_for_each(|line| writeln!(page, "line {line}"))
}

/// Explains why a violation remains, with a hint.
fn explain_rest(page: &mut Page<'_>, repaired: &Repaired) -> io::Result<()> {
    if let Some(why) = &repaired.not_held {
        page.prose("  ", 4, &format!("not repaired: {}", escaped(why)))?;
    }
    if repaired.hint.is_empty() {
        return Ok(());
    }
    page.prose("  ", 4, &format!("{DIM}{}{DIM:#}", escaped(&repaired.hint)))
}

fn render_text(page: &mut Page<'_>, repaired: &Repaired, is_in_place: bool) -> io::Result<()> {
    page.heading(&escaped(&repaired.file), &repaired.format)?;
    for (what, places) in repaired.damage.in_words(repaired.written) {
        page.prose("", 2, &format!("{GOOD}{what}{GOOD:#}"))?;
        places.iter().try_for_each(|place| page.prose("", 2, place))?;
    }
    list_fix(page, repaired, is_in_place)?;
    if repaired.has_nothing() {
        page.prose("", 2, &format!("{GOOD}nothing to repair{GOOD:#}"))?;
    }
    if !repaired.fixed.is_empty() {
        let verb = if repaired.written { "repaired" } else { "would be repaired" };
        let found = count(repaired.fixed.len(), "finding", "findings");
        page.prose("", 2, &format!("{GOOD}{found} {verb}{GOOD:#}"))?;
        lines(page, &repaired.fixed, !repaired.damage.uncovers())?;
    }
    if !repaired.left.is_empty() {
        let left = count(repaired.left.len(), "finding stays", "findings stay");
        page.prose("", 2, &format!("{BAD}{left}{BAD:#}"))?;
        lines(page, &repaired.left, true)?;
        explain_rest(page, repaired)?;
    }
    if repaired.written {
        return written(page, &repaired.file, repaired.out.as_deref(), repaired.operation);
    }
    if !repaired.changed && (is_in_place || repaired.unreadable_list_lines.is_empty()) {
        return Ok(());
    }
    let path = Path::new(&repaired.file);
    let place = place_word(path, "repaired.jsonl");
    writeln!(page, "\n{DIM}repair it:{DIM:#} wb repair {} {place}", escaped(&file_word(path)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_record::{MemoryParts, Parts};

    use super::*;

    #[test]
    fn a_change_after_which_all_is_refused_as_before_is_of_no_use() {
        assert!(!is_of_use(&Damage::default(), &[]));
        for damage in [
            Damage { relinked: vec![3], ..Damage::default() },
            Damage { torn_line: Some(3), ..Damage::default() },
            Damage { n_lone_surrogates: 1, ..Damage::default() },
        ] {
            assert!(is_of_use(&damage, &[]), "{damage:?}");
        }
        let body = json!({"model": "m", "max_tokens": 1, "messages": [{"role": "assistant", "content": "I speak first."}]});
        let fixed = validate(&body, Dialect::Anthropic);
        assert!(!fixed.is_empty() && is_of_use(&Damage::default(), &fixed));
    }

    #[test]
    fn a_request_changes_only_where_it_is_repaired() {
        let text = br#"{ "model": "m",  "messages" : [ {"role":"user","content":"a"} , {"role":"tool"} ], "x": 1.50 }"#;
        let before: Value = serde_json::from_slice(text).unwrap();
        let mut after = before.clone();
        after["messages"][1] = json!({"role": "user", "content": "b"});
        let set = spliced(text, &before, &after, "messages").unwrap();
        let mut parts = MemoryParts::from_bytes(text.to_vec());
        parts.commit(&set).unwrap();
        let text_after = String::from_utf8(parts.whole("").unwrap()).unwrap();
        assert!(
            text_after.starts_with(r#"{ "model": "m",  "messages" : [ {"role":"user","content":"a"} "#),
            "{text_after}"
        );
        assert!(text_after.ends_with(r#" ], "x": 1.50 }"#), "{text_after}");
        assert_eq!(serde_json::from_str::<Value>(&text_after).unwrap(), after);
        after["model"] = json!("n");
        assert!(spliced(text, &before, &after, "messages").is_none());
    }

    #[test]
    fn tools_change_next_to_messages() {
        let text = br#"{ "tools": [ {"name": "a"} , {"name": "b"} ], "messages": [ 1, 2 ] }"#;
        let before: Value = serde_json::from_slice(text).unwrap();
        let empty = br#"{"messages": [ ]}"#;
        let filled = json!({ "messages": [1] });
        let set = spliced(empty, &json!({ "messages": [] }), &filled, "messages").unwrap();
        let mut parts = MemoryParts::from_bytes(empty.to_vec());
        parts.commit(&set).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&parts.whole("").unwrap()).unwrap(), filled);
        let after = json!({ "tools": [{ "name": "a" }, { "name": "c" }], "messages": [1, 3] });
        let set = spliced(text, &before, &after, "messages").unwrap();
        let mut parts = MemoryParts::from_bytes(text.to_vec());
        parts.commit(&set).unwrap();
        let text_after = String::from_utf8(parts.whole("").unwrap()).unwrap();
        assert!(text_after.starts_with(r#"{ "tools": [ {"name": "a"} , {"#), "{text_after}");
        assert_eq!(serde_json::from_str::<Value>(&text_after).unwrap(), after);
    }
}
