//! Finds an entry by a unique prefix of its id.

use std::collections::BTreeSet;
use std::ops::Bound;

use wb_session::{EntryId, Tree};

use super::session_log::OpenLog;
use crate::terminal::number::{count, grouped};
use crate::terminal::user_error::UserError;

/// Ids that a hint names.
const SHOWN_IDS: usize = 6;
/// The fewest characters of an id that are shown; those of pi's own ids.
const LEAST_CHARS: usize = 8;

/// Finds the entry of an abbreviated id; without one it is the leaf, which a session without
/// entries has not.
pub(crate) fn entry(log: &OpenLog, name: Option<&str>) -> Result<Option<EntryId>, UserError> {
    let Some(name) = name else { return Ok(log.session.leaf().cloned()) };
    let ids = ids(log.session.tree());
    if ids.contains(name) {
        return Ok(Some(name.into()));
    }
    let meant: Vec<&str> = beginning_with(&ids, name);
    match meant.as_slice() {
        [] => {
            let what = format!("no entry has an id like {name:?}");
            Err(UserError::of_file(&log.file, what, nearest(&ids, name)))
        }
        [id] => Ok(Some((*id).into())),
        several => {
            let what =
                format!("{} have an id that begins with {name:?}", count(several.len(), "entry", "entries"));
            Err(UserError::of_file(&log.file, what, format!("name one of {}", first_of(several, SHOWN_IDS))))
        }
    }
}

fn ids(tree: &Tree) -> BTreeSet<EntryId> {
    tree.nodes().map(|node| node.id).collect()
}

fn beginning_with<'a>(ids: &'a BTreeSet<EntryId>, start: &str) -> Vec<&'a str> {
    let from = (Bound::Included(start), Bound::Unbounded);
    ids.range::<str, _>(from).map(EntryId::as_str).take_while(|id| id.starts_with(start)).collect()
}

/// Names the ids that share the longest beginning with a name that none has.
fn nearest(ids: &BTreeSet<EntryId>, name: &str) -> String {
    let starts = name.char_indices().map(|(at, _)| &name[..at]).filter(|start| !start.is_empty());
    let near = starts.rev().map(|start| beginning_with(ids, start));
    match near.into_iter().find(|near| !near.is_empty()) {
        Some(near) => {
            let verb = if near.len() == 1 { "is" } else { "are" };
            format!("the nearest {verb} {}; `wb session tree` shows all", first_of(&near, SHOWN_IDS))
        }
        None if ids.is_empty() => "the session has no entries".to_owned(),
        None => "`wb session tree` shows the ids of all entries".to_owned(),
    }
}

/// Joins names, the first of many.
pub(crate) fn first_of(names: &[&str], n_shown: usize) -> String {
    let shown = names[..names.len().min(n_shown)].join(", ");
    match names.len().saturating_sub(n_shown) {
        _ if names.is_empty() => "none".to_owned(),
        0 => shown,
        n => format!("{shown} and {} more", grouped(n as u64)),
    }
}

/// The number of characters shown of an id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdWidth(usize);

impl IdWidth {
    /// Returns the width that keeps all ids of a tree distinct, 8 at least.
    pub(crate) fn new(tree: &Tree) -> Self {
        let ids = ids(tree);
        let shared =
            |one: &str, two: &str| one.chars().zip(two.chars()).take_while(|(one, two)| one == two).count();
        let most =
            ids.iter().zip(ids.iter().skip(1)).map(|(one, two)| shared(one.as_str(), two.as_str())).max();
        Self(most.map_or(0, |most| most + 1).max(LEAST_CHARS))
    }

    /// Returns the part of an id that is shown.
    pub(crate) fn short(self, id: &str) -> &str {
        id.char_indices().nth(self.0).map_or(id, |(at, _)| &id[..at])
    }
}
