//! Lines of a tree whose parent is not in the file: each is linked to the line before it.

use std::collections::HashSet;
use std::io;

use wb_record::json::{find, get};
use wb_record::{
    Bytes, Change, ChangeSet, Document, Line, Lines, NotExpressible, Note, PartReader, Parts, View,
};

use super::SessionRepair;
use super::nothing_lost::loses_nothing;
use super::stage::{After, Current, Next};

/// The keys of a line's id and of its parent's id.
const KEYS: [[&str; 2]; 2] = [["uuid", "parentUuid"], ["id", "parentId"]];

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    if !current.uncovers.lines || !current.document().abilities().fold_head.is_there() {
        return Ok(Next::Nothing);
    }
    let mut done = SessionRepair::default();
    let mut last: Option<(Box<dyn Document>, Box<View>)> = None;
    loop {
        let (document, view) = match &last {
            Some((document, view)) => (document.as_ref(), view.as_ref()),
            None => (current.document(), &*current.view),
        };
        let Some(line) = lost_parent(view).filter(|line| !done.relinked.contains(line)) else { break };
        let changes = linked_to_the_line_before(document.parts(), line);
        let more = changes.map_err(NotExpressible::unreadable)?.changes;
        let n_before = done.changes.changes.len();
        done.changes.changes.extend(more);
        let next = current.read_after(&done.changes)?;
        // If two lines share an id, it can lead in a circle, or elsewhere.
        if done.changes.changes.len() == n_before
            || !loses_nothing(&view.messages, &next.1.messages, &HashSet::new())
        {
            done.changes.changes.truncate(n_before);
            break;
        }
        done.relinked.push(line);
        last = Some(next);
    }
    Ok(last.map_or(Next::Nothing, |(document, view)| Next::step_to(done, After::Read(document, view))))
}

/// Returns the line whose parent is not in the file.
fn lost_parent(view: &View) -> Option<usize> {
    view.notes.iter().find_map(|note| match note {
        Note::LostParent { line } => Some(*line),
        _ => None,
    })
}

/// Returns the change that links a line to the nearest line before it that has an id, both of
/// subagents or neither; none if there is no such line, or the line is not in a tree.
fn linked_to_the_line_before(parts: &dyn Parts, number: usize) -> io::Result<ChangeSet> {
    let mut lines = Lines::new(PartReader::new(parts, "", 0)?);
    // The last lines with an id under each of the keys, of the conversation and of subagents.
    let mut before: [[Option<Vec<u8>>; 2]; 2] = Default::default();
    while let Some(line) = lines.next_line()? {
        let side = usize::from(get(line.bytes, "isSidechain") == Some(b"true"));
        for ([own, parent], before) in KEYS.into_iter().zip(&mut before) {
            let (id, place) = (get(line.bytes, own), find(line.bytes, &[parent]));
            let Some((id, place)) = id.filter(|id| id.starts_with(b"\"")).zip(place) else { continue };
            if line.number == number {
                let new = before[side].take().filter(|new| *new != line.bytes[place.clone()]);
                let change = new.map(|new| followed(line, &line.bytes[place.clone()], place.start, new));
                return Ok(ChangeSet { changes: change.into_iter().collect() });
            }
            before[side] = Some(id.to_vec());
        }
        if line.number >= number {
            break;
        }
    }
    Ok(ChangeSet::default())
}

fn followed(line: Line<'_>, old: &[u8], at: usize, new: Vec<u8>) -> (String, Change) {
    let change = Change::Splice { at: line.at + at as u64, old: Bytes(old.to_vec()), new: Bytes(new) };
    (String::new(), change)
}
