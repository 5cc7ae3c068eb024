//! Flattening, pairing and patches.

use std::hint::black_box;

use wb_message::{Edit, Message, Pairing, Patch, Undo};
use wb_summarize::{flatten_into, flatten_transcript};

use super::{Bed, Build, Row, Sample, Target, read_all, repeated, reverted};

pub(super) const ROWS: [Build; 5] = [flatten, flatten_fresh, pair, patch, undo];

fn flatten(bed: &Bed) -> Row<'_> {
    let flat = flatten_transcript(&bed.messages);
    let mut buffer = String::with_capacity(flat.len());
    let mut copy = String::with_capacity(flat.len());
    Row {
        what: "flatten into a caller's buffer",
        limit_is: "memcpy of the output",
        target: Some(Target::times('e', 6.0)),
        subject: repeated(move || {
            buffer.clear();
            flatten_into(&mut buffer, black_box(&bed.messages));
            buffer.len()
        }),
        limit: repeated(move || {
            copy.clear();
            copy.push_str(black_box(&flat));
            black_box(&copy).len()
        }),
    }
}

fn flatten_fresh(bed: &Bed) -> Row<'_> {
    let flat = flatten_transcript(&bed.messages);
    Row {
        what: "flatten into a fresh buffer",
        limit_is: "a fresh copy of the output",
        target: None,
        subject: repeated(|| flatten_transcript(black_box(&bed.messages))),
        limit: repeated(move || black_box(&flat).clone()),
    }
}

fn pair(bed: &Bed) -> Row<'_> {
    Row {
        what: "pairing",
        limit_is: "reading every byte",
        target: None,
        subject: repeated(|| Pairing::new(black_box(&bed.messages))),
        limit: read_all(bed),
    }
}

/// A patch that folds the first nine tenths or so into one message, and the pairing for it.
fn folding(messages: &[Message]) -> (Patch, Pairing) {
    let pairing = Pairing::new(messages);
    let cut = pairing.legal_at_or_before(messages.len() * 9 / 10).unwrap_or(0);
    (Patch::new(vec![Edit::Fold { range: 0..cut, with: vec![Message::user("[digest]")] }]), pairing)
}

fn fold(messages: &mut Vec<Message>, patch: &Patch, pairing: &Pairing) -> Undo {
    patch.clone().apply_paired(messages, pairing).expect("a legal fold")
}

/// Moves every message to a new list and back.
fn moved(bed: &Bed) -> Sample<'_> {
    let mut messages = bed.messages.clone();
    repeated(move || {
        let mut new = Vec::with_capacity(messages.len());
        new.append(black_box(&mut messages));
        messages = new;
        messages.len()
    })
}

fn patch(bed: &Bed) -> Row<'_> {
    let (patch, pairing) = folding(&bed.messages);
    let apply = move |messages: &mut Vec<Message>| fold(messages, &patch, &pairing);
    Row {
        what: "check and apply a patch that folds nine tenths",
        limit_is: "moving every message to a new list",
        target: None,
        subject: reverted(bed.messages.clone(), apply, |messages, undo| undo.revert(messages)),
        limit: moved(bed),
    }
}

fn undo(bed: &Bed) -> Row<'_> {
    let (patch, pairing) = folding(&bed.messages);
    let mut messages = bed.messages.clone();
    let undo = Some(fold(&mut messages, &patch, &pairing));
    let revert = |(messages, undo): &mut (Vec<Message>, Option<Undo>)| {
        undo.take().expect("it was applied").revert(messages);
    };
    let apply = move |(messages, undo): &mut (Vec<Message>, Option<Undo>), ()| {
        *undo = Some(fold(messages, &patch, &pairing));
    };
    Row {
        what: "undo that patch",
        limit_is: "moving every message to a new list",
        target: None,
        subject: reverted((messages, undo), revert, apply),
        limit: moved(bed),
    }
}
