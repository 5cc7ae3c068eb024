//! Formats keep their promises: no edit that their abilities allow is refused.

use std::ops::ControlFlow;

use wb_message::{Block, Edit, Message, Pairing, Patch, markers};
use wb_record::{Document, MemoryParts, NotExpressible, Stamp, View, items};

use crate::support::fixtures;
use crate::writing::laws::compacts;

/// Results that keep their body, and why.
const KEEP_THEIRS: [(&str, usize, &str); 2] = [
    ("codex/items.jsonl", 9, "tools that a search found stand in a list, not in a text"),
    ("opencode/failures.json", 7, "the host answers a call that was never run, in no part that is written"),
];

/// Edits of one session that its format promises, each with its name.
fn promised(document: &dyn Document, view: &View) -> Vec<(String, Patch)> {
    let able = document.abilities();
    let mut all = Vec::new();
    for (at, message) in view.messages.iter().enumerate() {
        let is_result = matches!(message, Message::ToolResult { .. });
        let is_body = is_result || matches!(message, Message::BashExecution { .. });
        if !is_body || view.provenance.fixed().contains(&at) {
            continue;
        }
        let of = |content: Vec<Block>| Patch::new(vec![Edit::Body { at, content }]);
        if able.clear.is_there() && is_result {
            all.push((format!("clear {at}"), of(markers::cleared_body())));
        }
        if able.body.is_there() {
            all.push((format!("body {at}"), of(vec![Block::text("the start [… clipped …] the end")])));
        }
    }
    if able.fold_head.is_there() {
        all.extend(heads(view).map(|cut| (format!("fold 0..{cut}"), fold(cut))));
    }
    all
}

/// Returns the seams before which everything can be folded, since no pinned message precedes them.
fn heads(view: &View) -> impl Iterator<Item = usize> {
    let pairing = Pairing::new(&view.messages);
    let n_free = view.messages.iter().take_while(|message| !markers::is_pinned(message)).count();
    (1..=n_free.min(view.messages.len().saturating_sub(1)))
        .filter(move |cut| pairing.is_legal(*cut) && view.provenance.is_seam(*cut))
}

fn fold(cut: usize) -> Patch {
    let digest = format!("{}\n# Goal\nKeep it.", markers::DIGEST_HEADER);
    Patch::new(vec![Edit::Fold { range: 0..cut, with: vec![Message::user(digest)] }])
}

/// Returns why an edit is refused that was promised.
fn refusal(document: &dyn Document, view: &View, name: &str, patch: &Patch) -> ControlFlow<Option<String>> {
    let stamp = Stamp { now_ms: 1_800_000_000_000, seed: 7, ..Stamp::default() };
    match document.render(name, view, &items(patch, view.messages.len()), &stamp) {
        Ok(_) => ControlFlow::Continue(()),
        Err(NotExpressible::SplitsRecord { at, .. })
            if !(view.provenance.is_seam(at) && view.provenance.is_seam(at + 1)) =>
        {
            ControlFlow::Break(None)
        }
        Err(error) => ControlFlow::Break(Some(error.to_string())),
    }
}

#[test]
fn no_edit_that_a_format_promises_is_refused() {
    let (mut refused, mut n_written) = (Vec::new(), 0);
    for (file, bytes) in fixtures() {
        let parts = MemoryParts::from_bytes(*bytes);
        let Ok(document) = wb_formats::open(Box::new(parts.clone())) else { continue };
        let Ok(name) = wb_formats::newest(document.as_ref()) else { continue };
        let Ok(view) = document.view(&name) else { continue };
        for (edit, patch) in promised(document.as_ref(), &view) {
            let is_edit = |at: usize| edit == format!("clear {at}") || edit == format!("body {at}");
            if KEEP_THEIRS.iter().any(|(known, at, _)| known == file && is_edit(*at)) {
                continue;
            }
            match refusal(document.as_ref(), &view, &name, &patch) {
                ControlFlow::Continue(()) => {
                    n_written += 1;
                    compacts(&parts, &name, &patch, &mut crate::writing::laws::Tried::default());
                }
                ControlFlow::Break(None) => {}
                ControlFlow::Break(Some(why)) => refused.push(format!("{file} {edit}: {why}")),
            }
        }
    }
    assert!(n_written > 100, "only {n_written}");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
