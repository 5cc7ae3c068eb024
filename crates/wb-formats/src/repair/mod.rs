//! The repair of a session that a provider refuses: stage by stage, each in a file of its own.

mod doubled_call_ids;
mod empty_texts;
mod late_results;
mod lone_surrogates;
mod missing_parents;
mod nothing_lost;
mod refused_names;
mod torn_line;
mod unpaired_calls;
mod missing_call_ids;

use std::borrow::Cow;

use wb_dialect::Violation;
use wb_message::markers::{DIGEST_HEADER, DROPPED_MARK};
use wb_message::{Edit, Message, Patch};
use wb_record::{ChangeSet, ChangedPart, Document, MissingRole, NotExpressible, Note, Stamp, View, items};

use self::doubled_call_ids::with_own_ids;
use self::empty_texts::without_empty_texts;
use self::late_results::with_results_at_home;
pub use self::lone_surrogates::lone_surrogates;
use self::lone_surrogates::replaced;
use self::missing_call_ids::with_call_ids;
use self::missing_parents::linked_to_the_line_before;
use self::nothing_lost::loses_nothing;
use self::refused_names::with_names;
use self::torn_line::without_torn_line;
use self::unpaired_calls::{pairs_made_whole, with_own_results};
use crate::dialects::SentAs;

/// The name of the part of a session of one file.
const ONLY_PART: &str = "";

/// The repair of a conversation.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SessionRepair {
    /// What is to be written; nothing where there is nothing to repair.
    pub changes: ChangeSet,
    /// The messages as they are then.
    pub messages: Vec<Message>,
    /// The last line, where it was cut off while it was written, and goes.
    pub torn_line: Option<usize>,
    /// How many halves of characters are replaced.
    pub n_lone_surrogates: usize,
    /// The lines that follow the line before them, since the one that they followed is not in the file.
    pub relinked: Vec<usize>,
    /// The messages that get back the role that they lost.
    pub roles: Vec<MissingRole>,
    /// Why something stays as it is that could be repaired, where the format cannot hold it.
    pub not_held: Option<NotExpressible>,
}

/// Returns the smallest changes after which the providers of a format take a conversation; nothing is written.
///
/// First of all what is there of a last line that was cut off goes, halves of characters become U+FFFD, calls whose name is
/// refused get one that is taken, and a line that follows one which is not in the file is
/// linked to the line before it, so that what stands there is seen again, unless more is refused then. Messages get back the role that they lost, where it is known: what a call or result that is not read
/// belongs to would be taken for alone. As long as one is lost nothing else is mended. Empty texts that would be sent go
/// out of their lists. A result that stands behind what was said since its call moves to it. Of calls that have one id the later
/// ones get another, with their results, and a call without an id gets that of the result next to it. Then calls without a
/// result are answered, by the result next to them that answers no call, or by the one that stands before them, where there
/// is one, but for those that the agent answers itself and those of which another call of their message still
/// has the id; results without a call and second results go, and a model that speaks first gets a
/// message of the user in front. What a format cannot hold of ids and of the user's message stays, with the reason; of the
/// others it is an error.
///
/// A second run changes nothing: another id parts no result from its call, so that each call keeps the results it has,
/// and none that is answered is answered again. What comes to light by a repair of a session of one file is repaired with it.
pub fn repair(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let Some(torn_line) = view.notes.iter().find_map(torn_line) else {
        return in_rounds(document, conversation, view, stamp);
    };
    let set = without_torn_line(document.parts()).map_err(NotExpressible::unreadable)?;
    let mended = repaired_after(document, conversation, set, stamp, in_rounds)?;
    Ok(SessionRepair { torn_line: Some(torn_line), ..mended })
}

/// Returns the number of the last line, where it was cut off.
fn torn_line(note: &Note) -> Option<usize> {
    match note {
        Note::TruncatedLastLine { line } => Some(*line),
        _ => None,
    }
}

/// Repairs what is known of a session, and halves of characters first.
fn in_valid_text(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let halves = lone_surrogates(document, view).map_err(NotExpressible::unreadable)?;
    if halves.is_empty() || !is_one_file(document)? {
        return in_taken_names(document, conversation, view, stamp);
    }
    let n_lone_surrogates = halves.len();
    let set = replaced(document, halves).map_err(NotExpressible::unreadable)?;
    let mended = repaired_after(document, conversation, set, stamp, in_taken_names)?;
    Ok(SessionRepair { n_lone_surrogates, ..mended })
}

/// Repairs what is known of a session, and the names of calls that are refused first.
fn in_taken_names(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let sent = SentAs::of(view);
    if !is_refused(&sent.violations(&view.messages), "tool-name") {
        return repaired_once(document, conversation, view, stamp);
    }
    match with_names(document, conversation, view, &sent) {
        Ok(names) => repaired_after(document, conversation, names, stamp, repaired_once),
        Err(why) => {
            let mended = repaired_once(document, conversation, view, stamp)?;
            Ok(SessionRepair { not_held: mended.not_held.or(Some(why)), ..mended })
        }
    }
}

/// Repairs what is known of a session, and then what comes to light by it.
fn in_rounds(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let mut mended = in_valid_text(document, conversation, view, stamp)?;
    for nth in 1..MOST_TIMES {
        if mended.changes.is_empty() || !is_one_file(document)? {
            break;
        }
        let copy = copy(document, &mended.changes)?;
        let view = copy.view(conversation).map_err(NotExpressible::unreadable)?;
        // Each new line has ids of its own.
        let stamp = Stamp { seed: stamp.seed.wrapping_add(nth * SEEDS), ..stamp.clone() };
        match in_valid_text(copy.as_ref(), conversation, &view, &stamp) {
            Ok(more) if !more.changes.is_empty() => mended = mended.followed_by(more),
            _ => break,
        }
    }
    Ok(mended)
}

/// How many times a session is repaired at most, each time what came to light by the time before.
const MOST_TIMES: u64 = 4;

/// How many seeds of ids each time has.
const SEEDS: u64 = 1 << 20;

impl SessionRepair {
    fn followed_by(mut self, more: Self) -> Self {
        self.changes.changes.extend(more.changes.changes);
        self.relinked.extend(more.relinked);
        self.roles.extend(more.roles);
        self.n_lone_surrogates += more.n_lone_surrogates;
        Self {
            n_lone_surrogates: self.n_lone_surrogates,
            changes: self.changes,
            relinked: self.relinked,
            roles: self.roles,
            ..more
        }
    }
}

/// Repairs what is known of a session without halves of characters.
fn repaired_once(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let (relinked, set) = with_parents(document, conversation, view)?;
    if !relinked.is_empty() {
        let mended = repaired_after(document, conversation, set, stamp, in_whole_lines)?;
        let mended = SessionRepair { relinked, ..mended };
        // What was hidden before may hold what is refused and cannot be mended.
        let is_better = n_refused(&mended.messages, view) <= n_refused(&view.messages, view);
        if is_better && loses_nothing(&view.messages, &mended.messages) {
            return Ok(mended);
        }
    }
    let mended = in_whole_lines(document, conversation, view, stamp)?;
    // Where lines are there twice, a changed one can lead elsewhere.
    if !loses_nothing(&view.messages, &mended.messages) {
        return Err(refused(document, "what would be written hides a message"));
    }
    Ok(mended)
}

/// Repairs a conversation of which no line has to be linked to another.
fn in_whole_lines(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let lost = lost_roles(document, conversation, view)?;
    let Some(first) = lost.first() else { return repaired(document, conversation, view, stamp) };
    let first = first.line;
    let roles: Vec<MissingRole> = lost.into_iter().filter(|lost| lost.role.is_some()).collect();
    if !roles.is_empty() {
        // A role that is known again can tell that of the message beside it.
        let set = with_roles(document, &roles)?;
        let mut mended = repaired_after(document, conversation, set, stamp, in_whole_lines)?;
        if n_refused(&mended.messages, view) <= n_refused(&view.messages, view) {
            mended.roles.splice(0..0, roles);
            return Ok(mended);
        }
    }
    // What is not read may be the call or the result that is missing.
    let why = NotExpressible::unreadable(format_args!("line {first} does not say who speaks"));
    let is_refused = n_refused(&view.messages, view) > 0;
    let (messages, not_held) = (view.messages.clone(), is_refused.then_some(why));
    Ok(SessionRepair { messages, not_held, ..SessionRepair::default() })
}

/// Returns how much of messages the providers of the format of a view refuse.
fn n_refused(messages: &[Message], view: &View) -> usize {
    SentAs::of(view).violations(messages).len()
}

/// Returns the lines that follow one which is not in the file, the last first, and the changes that hang each on the line
/// before it.
fn with_parents(
    document: &dyn Document,
    conversation: &str,
    view: &View,
) -> Result<(Vec<usize>, ChangeSet), NotExpressible> {
    let (mut relinked, mut set) = (Vec::new(), ChangeSet::default());
    let mut lost = if document.abilities().fold_head.is_there() { lost_parent(view) } else { None };
    let (mut changed, mut seen) = (None, Cow::Borrowed(view));
    while let Some(line) = lost.filter(|line| !relinked.contains(line)) {
        let parts = changed.as_deref().unwrap_or(document).parts();
        let more = linked_to_the_line_before(parts, line).map_err(NotExpressible::unreadable)?;
        let n_before = set.changes.len();
        set.changes.extend(more.changes);
        let next = copy(document, &set)?;
        let seen_then = next.view(conversation).map_err(NotExpressible::unreadable)?;
        // Where two lines have one id, it can lead in a circle, or elsewhere.
        if set.changes.len() == n_before || !loses_nothing(&seen.messages, &seen_then.messages) {
            set.changes.truncate(n_before);
            break;
        }
        relinked.push(line);
        (lost, seen, changed) = (lost_parent(&seen_then), Cow::Owned(seen_then), Some(next));
    }
    Ok((relinked, set))
}

/// Returns the line that follows one which is not in the file.
fn lost_parent(view: &View) -> Option<usize> {
    view.notes.iter().find_map(|note| match note {
        Note::LostParent { line } => Some(*line),
        _ => None,
    })
}

/// Repairs a conversation of a session as it stands.
type Stage = fn(&dyn Document, &str, &View, &Stamp) -> Result<SessionRepair, NotExpressible>;

/// Repairs a session as it will be after changes, which come first then.
fn repaired_after(
    document: &dyn Document,
    conversation: &str,
    set: ChangeSet,
    stamp: &Stamp,
    repair: Stage,
) -> Result<SessionRepair, NotExpressible> {
    let copy = copy(document, &set)?;
    let view = copy.view(conversation).map_err(NotExpressible::unreadable)?;
    let mended = repair(copy.as_ref(), conversation, &view, stamp);
    let mut mended = mended.unwrap_or_else(|why| SessionRepair {
        messages: view.messages.clone(),
        not_held: Some(why),
        ..SessionRepair::default()
    });
    mended.changes.changes.splice(0..0, set.changes);
    Ok(mended)
}

/// Returns the messages that lost their role.
fn lost_roles(
    document: &dyn Document,
    conversation: &str,
    view: &View,
) -> Result<Vec<MissingRole>, NotExpressible> {
    if !view.notes.iter().any(|note| matches!(note, Note::MissingRoles { .. })) {
        return Ok(Vec::new());
    }
    document.lost_roles(conversation).map_err(NotExpressible::unreadable)
}

/// Returns the changes that give messages their roles.
fn with_roles(document: &dyn Document, roles: &[MissingRole]) -> Result<ChangeSet, NotExpressible> {
    if let Some(why) = document.abilities().body.why_not() {
        return Err(refused(document, why));
    }
    // From the end on, so that no change moves the place of another.
    let change = |lost: &MissingRole| Some((lost.record.part.clone(), lost.change()?));
    Ok(ChangeSet { changes: roles.iter().rev().filter_map(change).collect() })
}

/// Returns the changes after which no text is empty.
fn with_texts(document: &dyn Document, view: &View) -> Result<ChangeSet, NotExpressible> {
    if let Some(why) = document.abilities().body.why_not() {
        return Err(refused(document, why));
    }
    without_empty_texts(document, view).map_err(NotExpressible::unreadable)
}

/// Repairs what is refused of messages that all have a role.
fn repaired(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let sent = SentAs::of(view);
    let violations = sent.violations(&view.messages);
    if violations.is_empty() {
        return Ok(SessionRepair { messages: view.messages.clone(), ..SessionRepair::default() });
    }
    if is_refused(&violations, "text-blank") {
        let texts = with_texts(document, view)?;
        if !texts.is_empty() {
            return repaired_after(document, conversation, texts, stamp, in_whole_lines);
        }
    }
    if is_refused(&violations, "result-nameless") && document.abilities().call_ids.is_there() {
        let ids = with_call_ids(document, view).map_err(NotExpressible::unreadable)?;
        if !ids.is_empty() {
            return repaired_after(document, conversation, ids, stamp, in_whole_lines);
        }
    }
    // Of calls that have one id, which of them a result answers is known when each has its own.
    if is_refused(&violations, "result-misplaced") && !is_refused(&violations, "call-repeated") {
        let home = with_results_at_home(document, conversation, view, &sent, stamp).unwrap_or_default();
        if !home.is_empty() {
            return repaired_after(document, conversation, home, stamp, in_whole_lines);
        }
    }
    let plain = patched(document, conversation, view, &sent, stamp);
    // What goes between two answers of the model makes one of them, in which no id may stand twice.
    let is_doubled = |found: &[Violation]| is_refused(found, "call-repeated");
    let comes_up = |it: &SessionRepair| is_doubled(&sent.violations(&it.messages));
    if !is_doubled(&violations) && !plain.as_ref().is_ok_and(comes_up) {
        return plain;
    }
    // Only calls that have ids of their own can each be answered.
    match with_ids(document, conversation, view) {
        Ok((ids, copy)) => {
            let view = copy.view(conversation).map_err(NotExpressible::unreadable)?;
            let mut mended = patched(copy.as_ref(), conversation, &view, &sent, stamp)?;
            mended.changes.changes.splice(0..0, ids.changes);
            Ok(mended)
        }
        Err(why) => Ok(SessionRepair { not_held: Some(why), ..plain? }),
    }
}

fn is_refused(violations: &[Violation], rule: &str) -> bool {
    violations.iter().any(|violation| violation.rule == rule)
}

/// Repairs by a patch, in which calls are answered by what was said, and by marks where the format cannot hold that.
fn patched(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    sent: &SentAs<'_>,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let marked = pairs_made_whole(&view.messages, sent).unwrap_or_default();
    let pairs = with_own_results(marked.clone(), &view.messages);
    let by = |pairs: &Patch| patched_by(pairs, document, conversation, view, sent, stamp);
    let is_same = pairs == marked;
    by(&pairs).or_else(|why| if is_same { Err(why) } else { by(&marked) })
}

/// Repairs by a patch, with a user who speaks first if one is wanted and the format can hold one.
fn patched_by(
    pairs: &Patch,
    document: &dyn Document,
    conversation: &str,
    view: &View,
    sent: &SentAs<'_>,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let rendered = |patch: Patch| {
        let patch = view.with_whole_records(patch);
        let wanted = items(&patch, view.messages.len());
        let changes = document.render(conversation, view, &wanted, stamp)?;
        let messages = if is_one_file(document)? {
            let read = copy(document, &changes)?.view(conversation).map_err(NotExpressible::unreadable)?;
            let is_mended = pairs_made_whole(&read.messages, sent).is_none()
                && sent.violations(&read.messages).len() <= sent.violations(&view.messages).len();
            // Where ids are missing, a reader can take a result for that of another call.
            if !is_mended {
                return Err(refused(document, "what would be written is read otherwise than it is meant"));
            }
            read.messages
        } else {
            after(patch, &view.messages)
        };
        Ok(SessionRepair { changes, messages, ..SessionRepair::default() })
    };
    let first = after(pairs.clone(), &view.messages);
    if !is_refused(&sent.violations(&first), "user-first") {
        return rendered(pairs.clone());
    }
    // A log that holds nothing of ours but a digest holds it as one.
    let digest = format!("{DIGEST_HEADER}\n{DROPPED_MARK}");
    let with_user = |text: &str| rendered(with_user_first(pairs, &view.messages, text));
    with_user(DROPPED_MARK).or_else(|why| {
        let held = with_user(&digest);
        held.or_else(|_| Ok(SessionRepair { not_held: Some(why), ..rendered(pairs.clone())? }))
    })
}

/// Returns messages after a patch, which keeps the pairs and so is never refused.
fn after(patch: Patch, messages: &[Message]) -> Vec<Message> {
    let mut after = messages.to_vec();
    let _ = patch.apply(&mut after);
    after
}

/// Adds what the user says before the model speaks.
fn with_user_first(patch: &Patch, messages: &[Message], text: &str) -> Patch {
    let is_model = |message: &Message| matches!(message, Message::Assistant { .. });
    let at = messages.iter().position(is_model).unwrap_or(0);
    let mut edits = patch.edits.clone();
    edits.push(Edit::Fold { range: at..at, with: vec![Message::user(text)] });
    Patch::new(edits)
}

/// Returns the changes after which calls have ids of their own, and the session as it is then, in memory.
fn with_ids(
    document: &dyn Document,
    conversation: &str,
    view: &View,
) -> Result<(ChangeSet, Box<dyn Document>), NotExpressible> {
    if let Some(why) = document.abilities().call_ids.why_not() {
        return Err(refused(document, why));
    }
    let ids = with_own_ids(document, view).map_err(NotExpressible::unreadable)?;
    if ids.is_empty() {
        return Err(refused(document, "the calls that have one id stand in one record, or the id is none"));
    }
    let copy = copy(document, &ids)?;
    copy.view(conversation).map_err(NotExpressible::unreadable)?;
    Ok((ids, copy))
}

/// Returns a document as it will be after changes.
fn copy(document: &dyn Document, changes: &ChangeSet) -> Result<Box<dyn Document>, NotExpressible> {
    if !is_one_file(document)? {
        return Err(refused(document, "the ids and names of calls in a database stay as they are"));
    }
    let copy = ChangedPart::of(document.parts().again().map_err(NotExpressible::unreadable)?, changes);
    let copy = Box::new(copy.map_err(NotExpressible::unreadable)?);
    document.format().open(copy).map_err(NotExpressible::unreadable)
}

fn is_one_file(document: &dyn Document) -> Result<bool, NotExpressible> {
    Ok(document.parts().list("").map_err(NotExpressible::unreadable)? == [ONLY_PART])
}

fn refused(document: &dyn Document, why: &str) -> NotExpressible {
    NotExpressible::Refused { format: document.format().name(), why: why.to_owned() }
}
