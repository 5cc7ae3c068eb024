//! The repair of a session that a provider refuses: stage by stage, each in a file of its own.

mod children;
mod nothing_lost;
mod stage;
mod unreadable_lines;
mod torn_line;
mod lone_surrogates;
mod concatenated_records;
mod missing_parents;
mod undecryptable_compactions;
mod missing_roles;
mod empty_texts;
mod empty_answers;
mod refused_pictures;
mod unpaired_server_blocks;
mod unpaired_calls;
mod doubled_call_ids;
mod missing_call_ids;
mod tool_names;
mod late_results;

use std::collections::HashSet;

use wb_dialect::Violation;
use wb_message::Message;
use wb_record::{ChangeSet, Document, MissingRole, NotExpressible, Stamp, View};

pub use self::lone_surrogates::lone_surrogates;
use self::missing_parents::after_summarized;
use self::nothing_lost::loses_nothing;
use self::stage::{After, Current, Next, StageChanges, Uncovers, refused};
use crate::dialects::SentAs;

/// The repair of a conversation.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct SessionRepair {
    /// The changes to write; empty if there is nothing to repair.
    pub changes: ChangeSet,
    /// The messages after the repair.
    pub messages: Vec<Message>,
    /// The violations in them that are left.
    pub left: Vec<Violation>,
    /// The number of the last line, if it was cut off while it was written and is removed.
    pub torn_line: Option<usize>,
    /// The lines that could not be read and can be again, after zeros, bytes that are not UTF-8 and
    /// line ends within a text were replaced.
    pub restored: Vec<usize>,
    /// The number of lone surrogates that are replaced.
    pub n_lone_surrogates: usize,
    /// The lines that hold several records, each of which gets a line of its own.
    pub parted: Vec<usize>,
    /// The lines that are linked to the newest line before them, since their parent is not in the
    /// file, or is a copy of a summarized line.
    pub relinked: Vec<usize>,
    /// The number of messages that come back for a compaction that the provider cannot decrypt.
    pub unfolded: Option<usize>,
    /// The messages whose lost role is restored.
    pub roles: Vec<MissingRole>,
    /// The bytes of refused pictures that are replaced, in base64.
    replaced_pictures: HashSet<String>,
    /// The reason why something repairable stays unchanged: the format cannot hold the repair.
    pub not_held: Option<NotExpressible>,
}

impl SessionRepair {
    pub(crate) fn from_changes(changes: ChangeSet) -> Self {
        Self { changes, ..Self::default() }
    }

    /// Adds what a later round did, with the messages after it.
    fn followed_by(&mut self, mut more: Self) {
        self.messages = std::mem::take(&mut more.messages);
        self.left = std::mem::take(&mut more.left);
        self.take_in(more);
    }

    fn take_in(&mut self, more: Self) {
        self.changes.changes.extend(more.changes.changes);
        self.torn_line = self.torn_line.or(more.torn_line);
        self.restored.extend(more.restored);
        self.n_lone_surrogates += more.n_lone_surrogates;
        self.parted.extend(more.parted);
        self.relinked.extend(more.relinked);
        self.unfolded = self.unfolded.or(more.unfolded);
        self.roles.extend(more.roles);
        self.replaced_pictures.extend(more.replaced_pictures);
    }
}

/// Repairs one kind of damage.
type Stage = fn(&Current<'_>) -> Result<Next, NotExpressible>;

/// The stages; each can rely on the repairs of those before it.
///
/// A line whose parent is not in the file, or is a copy of a summarized one, is linked to the
/// newest line before it, so that the conversation is visible again. A call or result without a
/// role is not read, so that its counterpart would look unpaired: as long as one role is missing,
/// later stages repair nothing. Only calls with unique ids can each be answered.
const STAGES: [Stage; 16] = [
    unreadable_lines::stage,
    torn_line::stage,
    lone_surrogates::stage,
    concatenated_records::stage,
    missing_parents::stage,
    undecryptable_compactions::stage,
    missing_roles::stage,
    tool_names::stage,
    empty_texts::stage,
    empty_answers::stage,
    refused_pictures::stage,
    unpaired_server_blocks::stage,
    missing_call_ids::stage,
    late_results::stage,
    doubled_call_ids::stage,
    unpaired_calls::stage,
];

/// The maximum number of repairs by one stage, each of what the previous one revealed, such as
/// another copy of a line.
const MOST_TIMES: usize = 256;

/// The maximum number of attempts to reveal what stays hidden.
const MOST_ROUNDS: u64 = 4;

/// The number of id seeds of each step.
const SEEDS: u64 = 1 << 20;

/// Returns the smallest changes after which the providers of a format accept a conversation;
/// nothing is written.
///
/// Lines that cannot be read are joined, separated or freed of what does not belong there, if they
/// can be read then. A cut-off last line is removed, lone surrogates become U+FFFD, records on one
/// line get lines of their own, and lines whose parent is missing or copied are linked. A lost role
/// is restored if it can be inferred, and calls get an accepted name; empty texts are removed
/// from their lists, or marked if nothing else is in them, and answers without content are removed
/// where the agent sends them. Refused pictures get the media type of their bytes, or become texts,
/// and calls and results of servers' tools without the other become texts. Calls without an id get
/// that of the unpaired result next to them, or a new one; late results move to their calls, and if
/// several calls share an id, the later ones get another, with their results. The messages that a
/// compaction replaced come back if the provider cannot decrypt it.
///
/// Then calls without a result are answered: by the unpaired result next to them or before them, if
/// there is one, else by a mark. Exceptions are calls that the agent answers itself, unless their
/// result is there, and those whose id another call of their message has. Results without a call
/// and second results are removed, and where a provider wants the user to speak first, a user
/// message is added. Ids, names, pictures and the user message stay unchanged if a format cannot
/// hold the repair, with the reason; any other such repair is an error, unless another one was made
/// before.
///
/// Records that a change reveals are repaired with it if the session is one file, and stay hidden
/// if more would be refused then. A second run changes nothing.
pub fn repair(
    document: &dyn Document,
    conversation: &str,
    view: &View,
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let violations = SentAs::from_view(view).violations_in(document, view);
    repair_checked(document, conversation, (view, &violations), stamp)
}

/// Repairs a conversation as [`repair`] does, given what [`SentAs::violations_in`] returns for it.
pub fn repair_checked(
    document: &dyn Document,
    conversation: &str,
    checked: (&View, &[Violation]),
    stamp: &Stamp,
) -> Result<SessionRepair, NotExpressible> {
    let (mut repaired, mut stays_hidden) = uncovered(document, conversation, checked, stamp)?;
    // Repairs made meanwhile may reveal what would have been worse before.
    for nth in 1..MOST_ROUNDS {
        let start = Current::new(document, conversation, checked, stamp, Uncovers::ALL);
        if !stays_hidden || repaired.changes.is_empty() || !start.is_one_file()? {
            break;
        }
        let then = start.read_after(&repaired.changes)?;
        let stamp = Stamp {
            seed: stamp.seed.wrapping_add(nth * SEEDS * (MOST_TIMES * STAGES.len()) as u64),
            ..stamp.clone()
        };
        let checked = (&then.view, repaired.left.as_slice());
        match uncovered(then.document.as_ref(), conversation, checked, &stamp) {
            Ok((more, stays)) if !more.changes.is_empty() => {
                stays_hidden = stays;
                repaired.followed_by(more);
            }
            _ => break,
        }
    }
    Ok(repaired)
}

/// Repairs a session, and reveals what is hidden if no more is refused then; returns whether
/// something stays hidden.
fn uncovered(
    document: &dyn Document,
    conversation: &str,
    checked: (&View, &[Violation]),
    stamp: &Stamp,
) -> Result<(SessionRepair, bool), NotExpressible> {
    let mut uncovers = Uncovers::ALL;
    let mut stays_hidden = false;
    let (view, known) = checked;
    loop {
        let repaired = in_stages(Current::new(document, conversation, checked, stamp, uncovers))?;
        let is_whole = loses_nothing(after_summarized(view), &repaired.messages, &repaired.replaced_pictures);
        let has_lines =
            [&repaired.restored, &repaired.parted, &repaired.relinked].iter().any(|it| !it.is_empty());
        let has_uncovered = has_lines || !repaired.roles.is_empty();
        if is_whole && (!has_uncovered || repaired.left.len() <= known.len()) {
            return Ok((repaired, stays_hidden));
        }
        if !has_uncovered {
            // If lines are duplicated, a changed one can lead elsewhere.
            return Err(refused(document, "what would be written hides a message"));
        }
        (uncovers, stays_hidden) = (uncovers.less(), true);
    }
}

/// Runs the stages, and starts again from the first one after each change.
fn in_stages(mut current: Current<'_>) -> Result<SessionRepair, NotExpressible> {
    let mut done = SessionRepair::default();
    let mut times = [0; STAGES.len()];
    while let Some((stage, step)) = next_step(&current, &times, &mut done)? {
        times[stage] += 1;
        done.take_in(step.done);
        let is_read = matches!(step.after, After::Read(..));
        current = current.followed_by(step.after);
        if !is_read {
            break;
        }
        // Each new line has ids of its own.
        current.stamp.seed = current.stamp.seed.wrapping_add(SEEDS);
    }
    let (messages, left) = current.into_checked();
    Ok(SessionRepair { messages, left, ..done })
}

/// Returns the first stage with changes and those changes; reports why something stays unchanged.
fn next_step(
    current: &Current<'_>,
    times: &[usize],
    done: &mut SessionRepair,
) -> Result<Option<(usize, Box<StageChanges>)>, NotExpressible> {
    done.not_held = None;
    for (nth, stage) in STAGES.iter().enumerate().filter(|(nth, _)| times[*nth] < MOST_TIMES) {
        match stage(current) {
            Ok(Next::Nothing) => {}
            Ok(Next::Step(step)) => return Ok(Some((nth, step))),
            Ok(Next::Left(why)) => done.not_held = Some(why),
            Ok(Next::Stop(why)) => {
                done.not_held = why;
                break;
            }
            Err(why) if done.changes.is_empty() => return Err(why),
            Err(why) => {
                done.not_held = Some(why);
                break;
            }
        }
    }
    Ok(None)
}
