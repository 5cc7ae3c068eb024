//! The target of a change of a view: a patch, or the reverse of one, in the one form that formats
//! write.

use std::borrow::Cow;

use wb_message::{Block, Edit, Message, Patch};

use crate::parts::span::Span;

/// One message or record of the target view.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// Message `at` of the view, unchanged.
    Same(usize),
    /// Message `at` of the view with another body.
    Body(usize, Cow<'a, [Block]>),
    /// A record of before, byte for byte: an undo never goes through [`Message`], which loses
    /// native fields.
    Old(Span),
    /// A message that no record holds: a digest, a restored file.
    New(&'a Message),
}

/// Turns a patch into items, given how many messages the view has.
///
/// ```
/// use wb_message::{Edit, Message, Patch};
/// use wb_record::{Item, items};
///
/// let fold = Edit::Fold { range: 0..2, with: vec![Message::user("digest")] };
/// let patch = Patch::new(vec![fold]);
/// let items = items(&patch, 3);
/// assert!(matches!(items[..], [Item::New(_), Item::Same(2)]));
/// ```
pub fn items(patch: &Patch, n_messages: usize) -> Vec<Item<'_>> {
    let (mut items, mut next) = (Vec::new(), 0);
    for edit in &patch.edits {
        match edit {
            Edit::Body { at, content } => {
                items.extend((next..*at).map(Item::Same));
                items.push(Item::Body(*at, Cow::Borrowed(content)));
                next = at + 1;
            }
            Edit::Fold { range, with } => {
                items.extend((next..range.start).map(Item::Same));
                items.extend(with.iter().map(Item::New));
                next = range.end;
            }
        }
    }
    items.extend((next..n_messages).map(Item::Same));
    items
}

/// Returns whether the items are an unchanged view of `n_messages`.
pub(crate) fn is_unchanged(items: &[Item<'_>], n_messages: usize) -> bool {
    items.len() == n_messages && items.iter().enumerate().all(|(at, item)| *item == Item::Same(at))
}
