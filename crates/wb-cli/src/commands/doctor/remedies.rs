//! Finds the commands that help a session: each is planned first, and named only if it helps.

use std::collections::HashSet;
use std::path::Path;

use wb_dialect::Violation;
use wb_formats::{SentAs, SessionRepair, lone_surrogates, repair_checked};
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
    repair: String,
    compact: String,
}

impl Commands {
    fn new(path: &Path, options: &str) -> Self {
        let file = file_word(path);
        let (repaired, compacted) = (place_word(path, "repaired.jsonl"), place_word(path, "compacted.jsonl"));
        Self {
            repair: format!("wb repair {file} {repaired}"),
            compact: format!("wb compact {file} {compacted}{options}"),
        }
    }

    fn compact(&self, more: &str) -> String {
        format!("{}{more}", self.compact)
    }
}

/// The effects that commands would have on a session.
#[derive(Debug)]
pub(crate) struct Remedies {
    commands: Commands,
    /// The violations that providers refuse now.
    pub(crate) now: Validity,
    /// The positions of half characters that the provider refuses.
    pub(crate) half_characters: Vec<Span>,
    /// The effect of `wb repair`.
    repair: RepairEffect,
    /// The effect of `wb compact --in-place`, with `--force` if needed, or the advice if the result
    /// cannot be written.
    compacted: Result<Option<CompactionEffect>, &'static str>,
    forced: Option<CompactionEffect>,
}

/// A compaction that can be written.
#[derive(Debug)]
struct CompactionEffect {
    tokens_before: u64,
    tokens_after: u64,
    broken: HashSet<String>,
}

impl Remedies {
    /// Plans a repair if something is refused, and compactions if they are asked about.
    pub(crate) fn plan(session: &mut Session, asks_for_more: bool) -> Self {
        let sent = SentAs::from_view(&session.opened);
        let now = Validity::read(session.document.as_ref(), &session.opened, &sent);
        let half_characters = lone_surrogates(session.document.as_ref(), &session.opened).unwrap_or_default();
        let is_damaged = !half_characters.is_empty() || session.opened.notes.iter().any(is_repairable);
        let is_sound = now.is_valid() && !is_damaged;
        let repair = if is_sound { RepairEffect::default() } else { try_repair(session, &now) };
        let is_large = session.measure.context_tokens > session.window;
        let compacted = if is_large { try_compaction(session, &now) } else { Ok(None) };
        let is_left = now.violations().iter().any(|it| !repair.fixes(&it.rule));
        let forced = if is_left || asks_for_more { try_forced_compaction(session, &now) } else { None };
        let commands = Commands::new(Path::new(&session.file), &session.policy.options());
        Self { commands, now, half_characters, repair, compacted, forced }
    }

    /// Returns the advice if the agent must rewrite the session first.
    pub(crate) fn repair_advice(&self) -> Option<&'static str> {
        self.repair.advice
    }

    /// Returns the command that fixes violations of a rule.
    pub(crate) fn fix_rule(&self, rule: &str) -> Option<String> {
        if self.repair.fixes(rule) {
            return Some(self.commands.repair.clone());
        }
        let forced = self.forced.as_ref().filter(|it| !it.broken.contains(rule));
        forced.map(|_| self.commands.compact(" --force"))
    }

    /// Returns the command that fixes the record in a note.
    pub(crate) fn fix_record(&self, note: &Note) -> Option<String> {
        let is_fixed = match note {
            Note::MissingRoles { .. } => !self.repair.done.roles.is_empty(),
            Note::LostParent { .. } | Note::CopiedParent { .. } => {
                let done = &self.repair.done;
                [&done.relinked, &done.parted, &done.restored].iter().any(|lines| !lines.is_empty())
            }
            Note::UndecryptableCompaction { .. } => self.repair.done.unfolded.is_some(),
            Note::TruncatedLastLine { .. } => self.repair.done.torn_line.is_some(),
            Note::LineSeparators { .. } => !self.repair.done.restored.is_empty(),
            Note::UnreadableRecords { n, .. } => {
                self.repair.done.parted.len() + self.repair.done.restored.len() >= *n
            }
            _ => false,
        };
        is_fixed.then(|| self.commands.repair.clone())
    }

    /// Returns the command that fixes a request.
    pub(crate) fn fix_request(&self) -> String {
        self.commands.repair.clone()
    }

    /// Returns the command that replaces half characters.
    pub(crate) fn fix_half_characters(&self) -> Option<String> {
        (self.repair.done.n_lone_surrogates > 0).then(|| self.commands.repair.clone())
    }

    /// Returns the command that fits the context into its window.
    pub(crate) fn fit_window(&self, most: u64) -> Option<String> {
        let compacted = self.compacted.as_ref().ok().and_then(Option::as_ref);
        compacted.filter(|it| it.tokens_after <= most).map(|_| self.commands.compact(""))
    }

    /// Returns the advice if no compaction can be written.
    pub(crate) fn compaction_advice(&self) -> Option<&'static str> {
        self.compacted.as_ref().err().copied()
    }

    /// Returns the command that replaces a compaction, even of a session within its budget.
    pub(crate) fn compact_again(&self) -> Option<String> {
        self.forced.as_ref().map(|_| self.commands.compact(" --force"))
    }

    /// Returns the command that makes room where compactions come too soon.
    pub(crate) fn make_room(&self) -> Option<String> {
        let saves = |it: &&CompactionEffect| {
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
            | Note::CopiedParent { .. }
            | Note::UndecryptableCompaction { .. }
            | Note::TruncatedLastLine { .. }
            | Note::UnreadableRecords { .. }
            | Note::LineSeparators { .. }
    )
}

/// The effect of a repair on a session.
#[derive(Debug, Default)]
struct RepairEffect {
    /// The rules still broken; none if no repair can be written.
    after: Option<HashSet<String>>,
    /// The other fixes, without the changes and the messages.
    done: SessionRepair,
    /// The advice if the agent must rewrite the session first.
    advice: Option<&'static str>,
}

impl RepairEffect {
    /// Returns whether the repair removes all violations of a rule.
    fn fixes(&self, rule: &str) -> bool {
        self.after.as_ref().is_some_and(|left| !left.contains(rule))
    }
}

fn try_repair(session: &Session, now: &Validity) -> RepairEffect {
    let checked = (&session.opened, now.violations());
    let done = repair_checked(session.document.as_ref(), &session.conversation, checked, &clock::stamp());
    match done {
        Ok(mut done) if !done.changes.is_empty() => {
            let after = Some(broken(&done.left));
            (done.changes, done.messages) = (ChangeSet::default(), Vec::new());
            RepairEffect { after, done, advice: None }
        }
        Err(why @ NotExpressible::Layout { .. }) => {
            RepairEffect { advice: Some(why.hint()), ..RepairEffect::default() }
        }
        _ => RepairEffect::default(),
    }
}

fn try_forced_compaction(session: &mut Session, now: &Validity) -> Option<CompactionEffect> {
    let policy = session.policy;
    session.policy.force = true;
    let effect = try_compaction(session, now);
    session.policy = policy;
    effect.ok().flatten()
}

/// Compacts a session in memory; none if the command would write nothing, and the advice if it
/// cannot.
fn try_compaction(session: &mut Session, now: &Validity) -> Result<Option<CompactionEffect>, &'static str> {
    if session.why_not_native().is_some() {
        return Err(NOT_NATIVE);
    }
    let mut outcome = Outcome::new(session, None);
    let after = Validity::new(&outcome.messages, &SentAs::from_view(&session.opened));
    outcome.restore(session);
    let is_taken = after.is_valid() || after.new_since(now).is_empty();
    let is_written = is_taken && is_written(session, &outcome.patch)?;
    Ok(is_written.then(|| CompactionEffect {
        tokens_before: outcome.tokens_before,
        tokens_after: outcome.tokens_after,
        broken: broken(after.violations()),
    }))
}

/// The advice if the format of a session cannot hold a digest.
const NOT_NATIVE: &str =
    "its format cannot hold a digest; `wb compact FILE -o OUT` writes the result in the format of wb";

fn broken(violations: &[Violation]) -> HashSet<String> {
    violations.iter().map(|violation| violation.rule.to_string()).collect()
}

/// Returns whether there is a change, or the advice if the session cannot hold it.
fn is_written(session: &Session, patch: &Patch) -> Result<bool, &'static str> {
    let items = items(patch, session.opened.messages.len());
    let rendered = session.document.render(&session.conversation, &session.opened, &items, &clock::stamp());
    rendered.map(|set| !set.is_empty()).map_err(|why| why.hint())
}
