//! Lines of a tree whose parent is not in the file, or is a copy of a summarized line: each is
//! linked to the newest line before it that belongs to the conversation.

use std::collections::HashSet;
use std::io;

use wb_message::Message;
use wb_record::json::{find, get};
use wb_record::{Bytes, Change, ChangeSet, Line, Lines, NotExpressible, Note, PartReader, Parts, View};

use super::SessionRepair;
use super::nothing_lost::loses_nothing;
use super::stage::{ChangedSession, Current, Next};

/// The keys of a line's id and of its parent's id.
const KEYS: [[&str; 2]; 2] = [["uuid", "parentUuid"], ["id", "parentId"]];

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    if !current.uncovers.lines || !current.document().abilities().fold_head.is_there() {
        return Ok(Next::Nothing);
    }
    let mut done = SessionRepair::default();
    let mut last: Option<ChangedSession> = None;
    loop {
        let (document, view) = match &last {
            Some(after) => (after.document.as_ref(), &after.view),
            None => (current.document(), &*current.view),
        };
        let Some(broken) = broken_link(view).filter(|it| !done.relinked.contains(&it.line)) else { break };
        let changes = relinked(document.parts(), broken);
        let more = changes.map_err(NotExpressible::unreadable)?.changes;
        let n_before = done.changes.changes.len();
        done.changes.changes.extend(more);
        let next = current.read_after(&done.changes)?;
        // If two lines share an id, it can lead in a circle, or elsewhere.
        if done.changes.changes.len() == n_before
            || !loses_nothing(after_summarized(view), next.messages(), &HashSet::new())
        {
            done.changes.changes.truncate(n_before);
            break;
        }
        done.relinked.push(broken.line);
        last = Some(next);
    }
    Ok(last.map_or(Next::Nothing, |after| Next::step_to(done, after)))
}

/// A line that does not follow the line that it should.
#[derive(Clone, Copy)]
struct BrokenLink {
    line: usize,
    /// The last line that it can follow.
    last: usize,
}

fn broken_link(view: &View) -> Option<BrokenLink> {
    view.notes.iter().find_map(|note| match note {
        Note::LostParent { line } => Some(BrokenLink { line: *line, last: line.saturating_sub(1) }),
        Note::CopiedParent { line, behind, .. } => Some(BrokenLink { line: *line, last: *behind }),
        _ => None,
    })
}

/// Returns the messages of a view without those that a compaction summarizes once a line follows
/// what it should.
pub(super) fn after_summarized(view: &View) -> &[Message] {
    let n_summarized = view.notes.iter().find_map(|note| match note {
        Note::CopiedParent { n_summarized, .. } => Some(*n_summarized),
        _ => None,
    });
    view.messages.get(n_summarized.unwrap_or(0)..).unwrap_or_default()
}

/// Returns the change that links a line to the newest line that it can follow, both of subagents or
/// neither; none if there is no such line, or the line is not in a tree.
fn relinked(parts: &dyn Parts, broken: BrokenLink) -> io::Result<ChangeSet> {
    let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
    // The last lines with an id under each of the keys, of the conversation and of subagents.
    let mut before: [[Option<Vec<u8>>; 2]; 2] = Default::default();
    while let Some(line) = lines.next_line()? {
        let side = usize::from(get(line.bytes, "isSidechain") == Some(b"true"));
        for ([own, parent], before) in KEYS.into_iter().zip(&mut before) {
            let (id, place) = (get(line.bytes, own), find(line.bytes, &[parent]));
            let Some((id, place)) = id.filter(|id| id.starts_with(b"\"")).zip(place) else { continue };
            if line.number == broken.line {
                let new = before[side].take().filter(|new| *new != line.bytes[place.clone()]);
                let change = new.map(|new| followed(line, &line.bytes[place.clone()], place.start, new));
                return Ok(ChangeSet { changes: change.into_iter().collect() });
            }
            if line.number <= broken.last {
                before[side] = Some(id.to_vec());
            }
        }
        if line.number >= broken.line {
            break;
        }
    }
    Ok(ChangeSet::default())
}

fn followed(line: Line<'_>, old: &[u8], at: usize, new: Vec<u8>) -> (String, Change) {
    let change = Change::Splice { at: line.at + at as u64, old: Bytes(old.to_vec()), new: Bytes(new) };
    (String::new(), change)
}
