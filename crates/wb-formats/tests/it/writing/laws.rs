//! Laws for every session of every writable format: unchanged records are not touched, written ones
//! are read again as the patch says, and undoing restores the same bytes.

use std::ops::Range;
use std::path::Path;

use wb_message::{Block, Edit, Message, Pairing, Patch, markers, runs};
use wb_record::{ChangeSet, Document, Item, MemoryParts, ONLY_CONVERSATION, Parts, Stamp, View, items};

pub(crate) use wb_testkit::laws::content as said;
use wb_testkit::shared::bytes_of;

use crate::support::fixtures;

/// The number of edits tried, so that a test can check that there were some.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tried {
    pub(crate) folds: usize,
    pub(crate) cleared: usize,
    pub(crate) previews: usize,
    pub(crate) refused: usize,
}

const STAMP: Stamp =
    Stamp { now_ms: 1_800_000_000_000, seed: 7, tokens_before: 90_000, tokens_after: 9_000, by_hand: true };

/// Checks the laws on the newest conversation of a session in memory, with folds at `n_cuts`
/// places.
pub(crate) fn holds(parts: &MemoryParts, n_cuts: usize) -> Tried {
    let document = wb_formats::open(Box::new(parts.clone())).unwrap();
    let name = wb_formats::newest(document.as_ref()).unwrap();
    let view = document.view(&name).unwrap();
    assert_eq!(view.provenance.len(), view.messages.len());
    let same: Vec<Item<'_>> = (0..view.messages.len()).map(Item::Same).collect();
    assert_eq!(document.render(&name, &view, &same, &STAMP).unwrap(), ChangeSet::default());
    let mut tried = Tried::default();
    for patch in patches(document.as_ref(), &view, n_cuts, &mut tried) {
        compacts(parts, &name, &patch, &mut tried);
    }
    tried
}

/// Writes a patch, reads it again, writes a second one over it, and takes both back.
pub(crate) fn compacts(before: &MemoryParts, name: &str, patch: &Patch, tried: &mut Tried) {
    let mut document = wb_formats::open(Box::new(before.clone())).unwrap();
    let view = document.view(name).unwrap();
    let Ok(set) = document.render(name, &view, &items(patch, view.messages.len()), &STAMP) else {
        tried.refused += 1;
        return;
    };
    document.commit(&set).unwrap();
    let lead = lead(before, &view);
    assert!(document.parts().whole("").unwrap_or_default().starts_with(&lead), "what leads the file moved");
    assert_eq!(said(&document.view(name).unwrap().messages), said(&applied(patch, view.messages)));
    let planned = applied(patch, document_of(before).view(name).unwrap().messages);
    assert_eq!(
        wb_message::content_fingerprints(&document.view(name).unwrap().messages),
        wb_message::content_fingerprints(&planned)
    );
    let anew = wb_formats::open(Box::new(copy(document.parts()))).unwrap().view(name).unwrap();
    let now = document.view(name).unwrap();
    assert_eq!((said(&anew.messages), anew.provenance), (said(&now.messages), now.provenance.clone()));
    let n_segments = document.segments(name).unwrap().count();
    assert!(n_segments < 2 || now.is_compacted(), "{name}: {:?}", now.notes);
    let again = fold_all_but(now.messages.len().min(2), &now);
    let second = document.render(name, &now, &items(&again, now.messages.len()), &STAMP);
    if let Ok(second) = second {
        document.commit(&second).unwrap();
        // Formats without ids give them in order, which a fold changes.
        let (read, by_order) = (document.view(name).unwrap(), applied(&again, now.messages));
        let by_order = now.provenance.with_ids_by_order(&by_order);
        assert_eq!(said(&read.provenance.with_ids_by_order(&read.messages)), said(&by_order));
        document.commit(&second.inverse()).unwrap();
    }
    document.commit(&set.inverse()).unwrap();
    assert_eq!(&copy(document.parts()), before);
}

/// Returns the bytes before all messages of a view, such as a header; what a compaction hides may
/// be removed.
fn lead(parts: &MemoryParts, view: &View) -> Vec<u8> {
    let places = (0..view.messages.len()).flat_map(|at| view.provenance.places(at));
    let starts = places.filter(|place| place.record.part.is_empty()).map(|place| place.record.at);
    let end = if view.is_compacted() { None } else { starts.min() };
    parts.held("").unwrap_or_default()[..usize::try_from(end.unwrap_or(0)).unwrap()].to_vec()
}

fn document_of(parts: &MemoryParts) -> Box<dyn Document> {
    wb_formats::open(Box::new(parts.clone())).unwrap()
}

fn applied(patch: &Patch, mut messages: Vec<Message>) -> Vec<Message> {
    let _ = patch.clone().apply(&mut messages).unwrap();
    messages
}

fn copy(parts: &dyn Parts) -> MemoryParts {
    let names = parts.list("").unwrap();
    names.into_iter().map(|name| (name.clone(), parts.whole(&name).unwrap())).collect()
}

/// Returns patches that a compaction may plan: folds of the head, with restored files, cleared and
/// shortened results.
fn patches(document: &dyn Document, view: &View, n_cuts: usize, tried: &mut Tried) -> Vec<Patch> {
    let able = document.abilities();
    let pairing = Pairing::new(&view.messages);
    let n = view.messages.len();
    // Text that the host writes anew each time has no record and does not interfere.
    let is_in_way =
        |at: &usize| markers::is_pinned(&view.messages[*at]) && !view.provenance.places(*at).is_empty();
    let pinned = (0..n).find(is_in_way);
    let end = pinned.filter(|_| !able.fold_inside.is_there()).unwrap_or(n);
    let is_cut = |at: &usize| *at <= end && pairing.is_legal(*at) && view.provenance.is_seam(*at);
    let is_cut = |at: &usize| is_cut(at) && !going(view, *at).is_empty();
    let legal: Vec<usize> = (1..n).filter(is_cut).collect();
    let step = legal.len().div_ceil(n_cuts).max(1);
    let mut all = Vec::new();
    for cut in legal.iter().rev().step_by(step).copied() {
        if !able.fold_head.is_there() {
            break;
        }
        tried.folds += 1;
        all.push(Patch::new(fold(view, cut, false)));
        let result = (cut..n).find(|at| matches!(view.messages[*at], Message::ToolResult { .. }));
        if let (Some(at), true) = (result, able.clear.is_there()) {
            tried.cleared += 1;
            let mut edits = fold(view, cut, able.insert.is_there());
            edits.push(Edit::Body { at, content: markers::cleared_body() });
            all.push(Patch::new(edits));
        }
        if let (Some(at), true) = (result, able.body.is_there()) {
            tried.previews += 1;
            let content = vec![Block::text("the start [… clipped …] the end")];
            let mut edits = fold(view, cut, false);
            edits.push(Edit::Body { at, content });
            all.push(Patch::new(edits));
        }
    }
    all
}

/// Returns what goes before a cut: all but pinned messages.
fn going(view: &View, cut: usize) -> Vec<Range<usize>> {
    runs((0..cut).filter(|at| !markers::is_pinned(&view.messages[*at])))
}

/// Folds the messages before a cut around what is pinned; the digest comes last.
fn fold(view: &View, cut: usize, restores: bool) -> Vec<Edit> {
    let digest = format!("{}\n# Goal\nKeep \"all\" of it, é and 😀.", markers::DIGEST_HEADER);
    let file = format!("{} src/a.rs\nfn a() {{}}", markers::RESTORED_FILE_PREFIX);
    let file = restores.then(|| Message::user(file.as_str()));
    let digest: Vec<Message> = [Message::user(digest.as_str())].into_iter().chain(file).collect();
    let ranges = going(view, cut);
    let n_ranges = ranges.len();
    let of_range = |(nth, range)| Edit::Fold {
        range,
        with: if nth + 1 < n_ranges { Vec::new() } else { digest.clone() },
    };
    ranges.into_iter().enumerate().map(of_range).collect()
}

/// Folds as much as can be while some messages stay.
pub(crate) fn fold_all_but(n_kept: usize, view: &View) -> Patch {
    let pairing = Pairing::new(&view.messages);
    let mut cut = pairing.legal_at_or_before(view.messages.len() - n_kept).unwrap_or(0);
    while !view.provenance.is_seam(cut) {
        cut = pairing.legal_at_or_before(cut - 1).unwrap_or(0);
    }
    Patch::new(fold(view, cut, false))
}

#[test]
fn what_is_written_is_read_again_and_undone_for_every_composed_file() {
    let mut folds = 0;
    for (_, bytes) in fixtures() {
        let parts = MemoryParts::from_bytes(*bytes);
        let is_written = |it: Box<dyn Document>| {
            it.view(ONLY_CONVERSATION).is_ok() && it.format().abilities().fold_head.is_there()
        };
        if wb_formats::open(Box::new(parts.clone())).is_ok_and(is_written) {
            folds += holds(&parts, 4).folds;
        }
    }
    assert!(folds > 3, "only {folds}");
}

#[test]
fn the_reference_says_what_the_formats_can_write() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/formats.md");
    let page = String::from_utf8(bytes_of(Path::new(file))).unwrap();
    assert_eq!(page, wb_formats::formats_table(), "cargo xtask schema writes it");
}
