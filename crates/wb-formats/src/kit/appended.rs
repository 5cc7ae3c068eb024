//! Helpers for formats that append a digest and leave existing records unchanged: which messages
//! stay, and bodies of results replaced in their records.

use std::ops::Range;

use wb_message::{Block, Message};
use wb_record::{Item, NotExpressible, Wanted};

/// A record in a text, and its new form.
pub(crate) type ChangedRecord = (Range<usize>, Vec<u8>);

/// Returns the message of a view that an item keeps.
pub(crate) fn message_of(item: &Item<'_>) -> Option<usize> {
    match item {
        Item::Same(at) | Item::Body(at, _) => Some(*at),
        Item::Old(_) | Item::New(_) => None,
    }
}

/// Returns the messages that stay, in order; older records are refused, and so is another order.
pub(crate) fn kept_messages(wanted: &Wanted<'_>) -> Result<Vec<usize>, NotExpressible> {
    let kept: Vec<usize> = wanted.items.iter().filter_map(message_of).collect();
    if wanted.items.iter().any(|item| matches!(item, Item::Old(_))) || !kept.is_sorted() {
        return Err(refused(wanted, "records of before among others"));
    }
    Ok(kept)
}

/// Returns the records of results that get another body, with their place in the text.
pub(crate) fn changed_results(
    text: &[u8],
    wanted: &Wanted<'_>,
    with_body: impl Fn(&[u8], &[Block]) -> Vec<u8>,
) -> Result<Vec<ChangedRecord>, NotExpressible> {
    let mut changed = Vec::new();
    for item in wanted.items {
        let Item::Body(at, body) = item else { continue };
        if !matches!(wanted.view.messages[*at], Message::ToolResult { .. }) {
            return Err(refused(wanted, format!("another body for message {at}, which is no result")));
        }
        if body.iter().any(|block| block.as_text().is_none()) {
            return Err(refused(wanted, "a body with more than texts"));
        }
        let place = place_of(wanted, *at).filter(|place| place.end <= text.len());
        let place = place.ok_or_else(|| refused(wanted, "a result that is not in the file"))?;
        let record = with_body(&text[place.clone()], body);
        changed.push((place, record));
    }
    Ok(changed)
}

/// Returns the position of a message's first record.
pub(crate) fn place_of(wanted: &Wanted<'_>, at: usize) -> Option<Range<usize>> {
    let record = &wanted.view.provenance.places(at).first()?.record;
    let start = usize::try_from(record.at).ok()?;
    Some(start..start + usize::try_from(record.len).ok()?)
}

/// Returns the refusal of an edit.
pub(crate) fn refused(wanted: &Wanted<'_>, why: impl Into<String>) -> NotExpressible {
    NotExpressible::Refused { format: wanted.view.format, why: why.into() }
}
