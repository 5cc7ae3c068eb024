//! What would help a session: each command is planned first, and named only where it does.

use std::collections::HashSet;
use std::path::PathBuf;

use wb_formats::{SentAs, repair};
use wb_message::Patch;
use wb_record::{NotExpressible, Note, items};

use crate::clock;
use crate::escape::file_word;
use crate::outcome::Outcome;
use crate::session::{Session, place_word};
use crate::validity::Validity;

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
        format!("wb repair {} {}", file_word(&self.path), place_word(&self.path, "mended.jsonl"))
    }

    fn compact(&self, more: &str) -> String {
        let (file, place) = (file_word(&self.path), place_word(&self.path, "compacted.jsonl"));
        format!("wb compact {file} {place}{}{more}", self.window)
    }
}

/// What commands would make of a session.
#[derive(Debug)]
pub(super) struct Ways {
    commands: Commands,
    /// What providers refuse of it now.
    pub(super) now: Validity,
    /// What `wb repair` makes of it.
    mended: Mended,
    /// What `wb compact --in-place` would make of it, and with `--force`.
    compacted: Option<Compacted>,
    forced: Option<Compacted>,
}

/// A compaction that can be written.
#[derive(Debug)]
struct Compacted {
    tokens_before: u64,
    tokens_after: u64,
    broken: HashSet<String>,
}

impl Ways {
    /// Plans what may help: a mend where something is refused, compactions where they are asked about.
    pub(super) fn of(session: &mut Session, is_looped: bool) -> Self {
        let sent = SentAs::of(&session.opened);
        let now = Validity::of(&session.opened.messages, &sent);
        let is_sound = now.is_valid() && !session.opened.notes.iter().any(is_of_a_damage);
        let mended = if is_sound { Mended::default() } else { mended(session, &sent) };
        let is_large = session.measure.context_tokens > session.window;
        let compacted = if is_large { compacted(session, &now) } else { None };
        let is_left = now.violations().iter().any(|it| !mended.mends(&it.rule));
        let forced = if is_left || is_looped { compacted_by_force(session, &now) } else { None };
        let commands = Commands { path: PathBuf::from(&session.file), window: session.policy.options() };
        Self { commands, now, mended, compacted, forced }
    }

    /// Returns what helps where no command mends what breaks a rule; nothing is known of most rules.
    pub(super) fn advice(&self, rule: &str) -> Option<&'static str> {
        self.mended.by_agent.filter(|_| rule == "call-unanswered")
    }

    /// Returns the command that mends what breaks a rule.
    pub(super) fn mend(&self, rule: &str) -> Option<String> {
        if self.mended.mends(rule) {
            return Some(self.commands.repair());
        }
        let forced = self.forced.as_ref().filter(|it| !it.broken.contains(rule));
        forced.map(|_| self.commands.compact(" --force"))
    }

    /// Returns the command that mends what a note tells of a record.
    pub(super) fn mend_record(&self, note: &Note) -> Option<String> {
        let is_mended = match note {
            Note::MissingRoles { .. } => self.mended.gives_roles,
            Note::LostParent { .. } => self.mended.relinks_lines,
            Note::TruncatedLastLine { .. } => self.mended.takes_torn_line,
            _ => false,
        };
        is_mended.then(|| self.commands.repair())
    }

    /// Returns the command that brings the context into its window.
    pub(super) fn fit(&self, most: u64) -> Option<String> {
        let fits = self.compacted.as_ref().is_some_and(|it| it.tokens_after <= most);
        fits.then(|| self.commands.compact(""))
    }

    /// Returns the command that makes room where compactions come too soon.
    pub(super) fn make_room(&self) -> Option<String> {
        let saves = |it: &&Compacted| {
            it.tokens_before.saturating_sub(it.tokens_after) * LEAST_SAVED >= it.tokens_before.max(1)
        };
        self.forced.as_ref().filter(saves).map(|_| self.commands.compact(" --force"))
    }
}

/// Returns whether a note tells of a record that `wb repair` may mend.
fn is_of_a_damage(note: &Note) -> bool {
    matches!(note, Note::MissingRoles { .. } | Note::LostParent { .. } | Note::TruncatedLastLine { .. })
}

/// What a mend makes of a session.
#[derive(Debug, Default)]
struct Mended {
    /// The rules that are broken still; nothing where there is no mend that can be written.
    after: Option<HashSet<String>>,
    /// Whether it gives messages their role back, hangs lines on the line before them, and takes a last line out that was
    /// cut off.
    gives_roles: bool,
    relinks_lines: bool,
    takes_torn_line: bool,
    /// What helps where the agent does it itself, or must write the session anew first.
    by_agent: Option<&'static str>,
}

impl Mended {
    /// Returns whether nothing breaks a rule any more.
    fn mends(&self, rule: &str) -> bool {
        self.after.as_ref().is_some_and(|left| !left.contains(rule))
    }
}

fn mended(session: &Session, sent: &SentAs<'_>) -> Mended {
    let done = repair(session.document.as_ref(), &session.conversation, &session.opened, &clock::stamp());
    match done {
        Ok(done) if !done.changes.is_empty() => Mended {
            after: Some(broken(&Validity::of(&done.messages, sent))),
            gives_roles: !done.roles.is_empty(),
            relinks_lines: !done.relinked.is_empty(),
            takes_torn_line: done.torn_line.is_some(),
            by_agent: None,
        },
        Err(why @ (NotExpressible::ByAgent { .. } | NotExpressible::Layout { .. })) => {
            Mended { by_agent: Some(why.hint()), ..Mended::default() }
        }
        _ => Mended::default(),
    }
}

fn compacted_by_force(session: &mut Session, now: &Validity) -> Option<Compacted> {
    let policy = session.policy;
    session.policy.force = true;
    let compacted = compacted(session, now);
    session.policy = policy;
    compacted
}

/// Compacts a session in memory; nothing where the command would write nothing.
fn compacted(session: &mut Session, now: &Validity) -> Option<Compacted> {
    if session.why_not_native().is_some() {
        return None;
    }
    let mut outcome = Outcome::of(session);
    let after = Validity::of(&outcome.messages, &SentAs::of(&session.opened));
    outcome.take_back(session);
    let is_taken = after.is_valid() || after.new_since(now).is_empty();
    (is_taken && is_written(session, &outcome.patch)).then(|| Compacted {
        tokens_before: outcome.tokens_before,
        tokens_after: outcome.tokens_after,
        broken: broken(&after),
    })
}

fn broken(validity: &Validity) -> HashSet<String> {
    validity.violations().iter().map(|violation| violation.rule.to_string()).collect()
}

/// Tells whether the session's format can hold a change, and there is one.
fn is_written(session: &Session, patch: &Patch) -> bool {
    let items = items(patch, session.opened.messages.len());
    let rendered = session.document.render(&session.conversation, &session.opened, &items, &clock::stamp());
    rendered.is_ok_and(|set| !set.is_empty())
}
