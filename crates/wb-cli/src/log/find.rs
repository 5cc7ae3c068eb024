//! Naming an entry by as much of its id as tells it from the others.

use std::collections::BTreeSet;
use std::ops::Bound;

use anyhow::Result;
use wb_session::{EntryId, Tree};

use super::opened::{Log, told};

/// Ids that a hint names.
const SHOWN_IDS: usize = 6;
/// The fewest characters of an id that are shown; those of pi's own ids.
const LEAST_CHARS: usize = 8;

/// Finds the entry of an abbreviated id; without one it is the leaf, which a session without entries has not.
pub(crate) fn entry(log: &Log, name: Option<&str>) -> Result<Option<EntryId>> {
    let Some(name) = name else { return Ok(log.session.leaf().cloned()) };
    let ids = ids(log.session.tree());
    let ids: BTreeSet<&str> = ids.iter().map(EntryId::as_str).collect();
    if ids.contains(name) {
        return Ok(Some(name.into()));
    }
    let meant: Vec<&str> = beginning_with(&ids, name);
    match meant.as_slice() {
        [] => Err(told(&log.file, &format!("no entry has an id like {name:?}"), &nearest(&ids, name))),
        [id] => Ok(Some((*id).into())),
        several => {
            let what = format!("{} entries have an id that begins with {name:?}", several.len());
            Err(told(&log.file, &what, &format!("name one of {}", listed(several))))
        }
    }
}

fn ids(tree: &Tree) -> Vec<EntryId> {
    tree.nodes().map(|node| node.id).collect()
}

fn beginning_with<'a>(ids: &BTreeSet<&'a str>, start: &str) -> Vec<&'a str> {
    let from = (Bound::Included(start), Bound::Unbounded);
    ids.range::<str, _>(from).take_while(|id| id.starts_with(start)).copied().collect()
}

/// Names the ids that share the longest beginning with a name that none has.
fn nearest(ids: &BTreeSet<&str>, name: &str) -> String {
    let starts = name.char_indices().map(|(at, _)| &name[..at]).filter(|start| !start.is_empty());
    let near = starts.rev().map(|start| beginning_with(ids, start));
    match near.into_iter().find(|near| !near.is_empty()) {
        Some(near) => {
            let verb = if near.len() == 1 { "is" } else { "are" };
            format!("the nearest {verb} {}; `wb session tree` shows all", listed(&near))
        }
        None if ids.is_empty() => "the session has no entries".to_owned(),
        None => "`wb session tree` shows the ids of all entries".to_owned(),
    }
}

fn listed(ids: &[&str]) -> String {
    let shown = ids[..ids.len().min(SHOWN_IDS)].join(", ");
    match ids.len().saturating_sub(SHOWN_IDS) {
        0 => shown,
        n => format!("{shown} and {n} more"),
    }
}

/// How many characters of an id are shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IdWidth(usize);

impl IdWidth {
    /// Returns the width that tells all ids of a tree apart, 8 at least.
    pub(crate) fn of(tree: &Tree) -> Self {
        let ids = ids(tree);
        let ids: BTreeSet<&str> = ids.iter().map(EntryId::as_str).collect();
        let shared =
            |one: &str, two: &str| one.chars().zip(two.chars()).take_while(|(one, two)| one == two).count();
        let most = ids.iter().zip(ids.iter().skip(1)).map(|(one, two)| shared(one, two)).max();
        Self(most.map_or(0, |most| most + 1).max(LEAST_CHARS))
    }

    /// Returns the part of an id that is shown.
    pub(crate) fn short(self, id: &str) -> &str {
        id.char_indices().nth(self.0).map_or(id, |(at, _)| &id[..at])
    }
}
