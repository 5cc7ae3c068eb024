//! A compaction that the provider cannot decrypt: the messages that it replaced come back.

use std::io;

use wb_message::Message;
use wb_message::markers::OPAQUE_TYPE;
use wb_record::{Bytes, Change, ChangeSet, Document, Item, NotExpressible, Note, Span, View};

use super::SessionRepair;
use super::stage::{Current, Next};

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    let is_refused = current.view.notes.iter().any(|it| matches!(it, Note::UndecryptableCompaction { .. }));
    let found = current.view.messages.iter().rposition(is_opaque).filter(|_| is_refused);
    let Some(at) = found.filter(|_| current.is_one_file().unwrap_or(false)) else { return Ok(Next::Nothing) };
    let Some(before) = before(current, at)? else { return Ok(Next::Nothing) };
    let mut old: Vec<&Span> = (0..before.messages.len())
        .flat_map(|at| before.provenance.places(at))
        .map(|place| &place.record)
        .collect();
    old.dedup();
    let old = old.into_iter().map(|record| Item::Old(record.clone()));
    let items: Vec<Item<'_>> = old.chain((at + 1..current.view.messages.len()).map(Item::Same)).collect();
    let changes = current.document().render(current.conversation, &current.view, &items, &current.stamp)?;
    let unfolded = Some(before.messages.len());
    current.step(SessionRepair { unfolded, ..SessionRepair::from_changes(changes) })
}

/// Returns whether a message is a compaction that only the provider can read.
pub(super) fn is_opaque(message: &Message) -> bool {
    match message {
        Message::Custom { custom_type, .. } => custom_type == OPAQUE_TYPE,
        Message::CompactionSummary { summary, .. } => summary.is_empty(),
        _ => false,
    }
}

/// Returns the session as it was before a compaction, and before all that nobody can read; none if
/// it had no message.
fn before(current: &Current<'_>, compaction: usize) -> Result<Option<View>, NotExpressible> {
    let (mut view, mut at) = (current.view.clone().into_owned(), compaction);
    loop {
        let Some(place) = view.provenance.places(at).first() else { return Ok(None) };
        let cut = without_line_of(current.document(), place.record.at).map_err(NotExpressible::unreadable)?;
        view = current.read_after(&cut)?.view;
        match view.messages.iter().rposition(is_opaque) {
            Some(earlier) => at = earlier,
            None => return Ok((!view.messages.is_empty()).then_some(view)),
        }
    }
}

/// Returns the change that cuts a file off before the line of a place.
fn without_line_of(document: &dyn Document, place: u64) -> io::Result<ChangeSet> {
    let whole = document.parts().whole("")?;
    let place = usize::try_from(place).unwrap_or(usize::MAX).min(whole.len());
    let start = whole[..place].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let change = Change::Cut { at: start as u64, old: Bytes(whole[start..].to_vec()) };
    Ok(ChangeSet { changes: vec![(String::new(), change)] })
}
