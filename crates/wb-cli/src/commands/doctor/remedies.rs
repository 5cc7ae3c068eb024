//! Finds the commands that help a session: each is planned first, and named only if it helps.

use std::collections::HashSet;
use std::path::PathBuf;

use wb_formats::{SentAs, SessionRepair, lone_surrogates, repair};
use wb_message::Patch;
use wb_record::{ChangeSet, NotExpressible, Note, Span, items};

use crate::platform::clock;
use crate::session::outcome::Outcome;
use crate::session::validity::Validity;
use crate::session::{Session, place_word};
use crate::terminal::escape::file_word;

/// The part of a context that a compaction must take away to be worth it.
const LEAST_SAVED: u64 = 10;

/// The commands that change a session.
#[derive(Debug)]
struct Commands {
    path: PathBuf,
    window: String,
}

impl Commands {
    fn repair(&self) -> String {
        format!("wb repair {} {}", file_word(&self.path), place_word(&self.path, "repaired.jsonl"))
    }

    fn compact(&self, more: &str) -> String {
        let (file, place) = (file_word(&self.path), place_word(&self.path, "compacted.jsonl"));
        format!("wb compact {file} {place}{}{more}", self.window)
    }
}

/// The effects that commands would have on a session.
#[derive(Debug)]
pub(crate) struct Remedies {
    commands: Commands,
    /// The violations that providers refuse now.
    pub(crate) now: Validity,
    /// The positions of half characters that the provider refuses.
    pub(crate) halves: Vec<Span>,
    /// The effect of `wb repair`.
    mended: Mended,
    /// The effect of `wb compact --in-place`, with `--force` if needed, or the advice if the result
    /// cannot be written.
    compacted: Result<Option<Compacted>, &'static str>,
    forced: Option<Compacted>,
}

/// A compaction that can be written.
#[derive(Debug)]
struct Compacted {
    tokens_before: u64,
    tokens_after: u64,
    broken: HashSet<String>,
}

impl Remedies {
    /// Plans a repair if something is refused, and compactions if they are asked about.
    pub(crate) fn plan(session: &mut Session, is_looped: bool) -> Self {
        let sent = SentAs::from_view(&session.opened);
        let now = Validity::of(&session.opened.messages, &sent);
        let halves = lone_surrogates(session.document.as_ref(), &session.opened).unwrap_or_default();
        let is_damaged = !halves.is_empty() || session.opened.notes.iter().any(is_repairable);
        let is_sound = now.is_valid() && !is_damaged;
        let mended = if is_sound { Mended::default() } else { mended(session, &sent) };
        let is_large = session.measure.context_tokens > session.window;
        let compacted = if is_large { compacted(session, &now) } else { Ok(None) };
        let is_left = now.violations().iter().any(|it| !mended.mends(&it.rule));
        let forced = if is_left || is_looped { compacted_by_force(session, &now) } else { None };
        let commands = Commands { path: PathBuf::from(&session.file), window: session.policy.options() };
        Self { commands, now, halves, mended, compacted, forced }
    }

    /// Returns the advice if the agent must rewrite the session first.
    pub(crate) fn advice(&self) -> Option<&'static str> {
        self.mended.advice
    }

    /// Returns the command that fixes violations of a rule.
    pub(crate) fn mend(&self, rule: &str) -> Option<String> {
        if self.mended.mends(rule) {
            return Some(self.commands.repair());
        }
        let forced = self.forced.as_ref().filter(|it| !it.broken.contains(rule));
        forced.map(|_| self.commands.compact(" --force"))
    }

    /// Returns the command that fixes the record in a note.
    pub(crate) fn mend_record(&self, note: &Note) -> Option<String> {
        let is_mended = match note {
            Note::MissingRoles { .. } => !self.mended.done.roles.is_empty(),
            Note::LostParent { .. } => {
                !self.mended.done.relinked.is_empty() || !self.mended.done.parted.is_empty()
            }
            Note::TruncatedLastLine { .. } => self.mended.done.torn_line.is_some(),
            Note::UnreadableRecords { n, .. } => self.mended.done.parted.len() == *n,
            _ => false,
        };
        is_mended.then(|| self.commands.repair())
    }

    /// Returns the command that fixes a request.
    pub(crate) fn mend_request(&self) -> String {
        self.commands.repair()
    }

    /// Returns the command that replaces halves of characters.
    pub(crate) fn mend_halves(&self) -> Option<String> {
        (self.mended.done.n_lone_surrogates > 0).then(|| self.commands.repair())
    }

    /// Returns the command that fits the context into its window.
    pub(crate) fn fit(&self, most: u64) -> Option<String> {
        let compacted = self.compacted.as_ref().ok().and_then(Option::as_ref);
        compacted.filter(|it| it.tokens_after <= most).map(|_| self.commands.compact(""))
    }

    /// Returns the advice if no compaction can be written.
    pub(crate) fn not_compacted(&self) -> Option<&'static str> {
        self.compacted.as_ref().err().copied()
    }

    /// Returns the command that makes room where compactions come too soon.
    pub(crate) fn make_room(&self) -> Option<String> {
        let saves = |it: &&Compacted| {
            it.tokens_before.saturating_sub(it.tokens_after) * LEAST_SAVED >= it.tokens_before.max(1)
        };
        self.forced.as_ref().filter(saves).map(|_| self.commands.compact(" --force"))
    }
}

/// Returns whether a note is about a record that `wb repair` may fix.
pub(crate) fn is_repairable(note: &Note) -> bool {
    matches!(
        note,
        Note::MissingRoles { .. }
            | Note::LostParent { .. }
            | Note::TruncatedLastLine { .. }
            | Note::UnreadableRecords { .. }
    )
}

/// The effect of a repair on a session.
#[derive(Debug, Default)]
struct Mended {
    /// The rules still broken; none if no repair can be written.
    after: Option<HashSet<String>>,
    /// The other fixes, without the changes and the messages.
    done: SessionRepair,
    /// The advice if the agent must rewrite the session first.
    advice: Option<&'static str>,
}

impl Mended {
    /// Returns whether the repair removes all violations of a rule.
    fn mends(&self, rule: &str) -> bool {
        self.after.as_ref().is_some_and(|left| !left.contains(rule))
    }
}

fn mended(session: &Session, sent: &SentAs<'_>) -> Mended {
    let done = repair(session.document.as_ref(), &session.conversation, &session.opened, &clock::stamp());
    match done {
        Ok(mut done) if !done.changes.is_empty() => {
            let after = Some(broken(&Validity::of(&done.messages, sent)));
            (done.changes, done.messages) = (ChangeSet::default(), Vec::new());
            Mended { after, done, advice: None }
        }
        Err(why @ NotExpressible::Layout { .. }) => Mended { advice: Some(why.hint()), ..Mended::default() },
        _ => Mended::default(),
    }
}

fn compacted_by_force(session: &mut Session, now: &Validity) -> Option<Compacted> {
    let policy = session.policy;
    session.policy.force = true;
    let compacted = compacted(session, now);
    session.policy = policy;
    compacted.ok().flatten()
}

/// Compacts a session in memory; none if the command would write nothing, and the advice if it
/// cannot.
fn compacted(session: &mut Session, now: &Validity) -> Result<Option<Compacted>, &'static str> {
    if session.why_not_native().is_some() {
        return Err(NOT_NATIVE);
    }
    let mut outcome = Outcome::of(session);
    let after = Validity::of(&outcome.messages, &SentAs::from_view(&session.opened));
    outcome.take_back(session);
    let is_taken = after.is_valid() || after.new_since(now).is_empty();
    let is_written = is_taken && is_written(session, &outcome.patch)?;
    Ok(is_written.then(|| Compacted {
        tokens_before: outcome.tokens_before,
        tokens_after: outcome.tokens_after,
        broken: broken(&after),
    }))
}

/// The advice if the format of a session cannot hold a digest.
const NOT_NATIVE: &str =
    "its format cannot hold a digest; `wb compact FILE -o OUT` writes the result in the format of wb";

fn broken(validity: &Validity) -> HashSet<String> {
    validity.violations().iter().map(|violation| violation.rule.to_string()).collect()
}

/// Returns whether there is a change, or the advice if the session cannot hold it.
fn is_written(session: &Session, patch: &Patch) -> Result<bool, &'static str> {
    let items = items(patch, session.opened.messages.len());
    let rendered = session.document.render(&session.conversation, &session.opened, &items, &clock::stamp());
    rendered.map(|set| !set.is_empty()).map_err(|why| why.hint())
}
