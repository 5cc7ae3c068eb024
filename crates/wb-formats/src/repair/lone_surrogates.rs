//! Lone surrogates: halves of characters in sent texts, which JavaScript writes as `\ud83d` alone
//! and Anthropic refuses as invalid JSON. Each becomes the replacement character, as it is read.

use std::borrow::Cow;
use std::io::{self, Read};

use memchr::memmem;
use wb_dialect::Dialect;
use wb_record::lines::repair_surrogates;
use wb_record::{Bytes, Change, ChangeSet, Document, NotExpressible, PartReader, Parts, Span, View};

use super::SessionRepair;
use super::stage::{Current, Next};
use crate::dialects::SentAs;

/// The bytes of an escape.
const ESCAPE: usize = 6;
/// The bytes of its start, by which the escape of a surrogate is known.
const ESCAPE_START: usize = 3;
/// The bytes in which escapes are searched at once.
const CHUNK_BYTES: usize = 64 * 1024;

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    let halves = lone_surrogates(current.document(), &current.view).map_err(NotExpressible::unreadable)?;
    if halves.is_empty() || !current.is_one_file()? {
        return Ok(Next::Nothing);
    }
    let n_lone_surrogates = halves.len();
    let changes = replaced(current.document(), halves).map_err(NotExpressible::unreadable)?;
    current.step(SessionRepair { n_lone_surrogates, ..SessionRepair::from_changes(changes) })
}

/// Returns the positions of lone surrogates in the records of a view, if its provider refuses them.
pub fn lone_surrogates(document: &dyn Document, view: &View) -> io::Result<Vec<Span>> {
    if !SentAs::from_view(view).dialects.contains(&Dialect::Anthropic) {
        return Ok(Vec::new());
    }
    if !may_have_surrogates(document.parts())? {
        return Ok(Vec::new());
    }
    let (mut found, mut last) = (Vec::new(), None);
    let places = (0..view.messages.len()).flat_map(|at| view.provenance.places(at));
    for record in places.map(|place| &place.record) {
        if last.replace(record) == Some(record) {
            continue;
        }
        let before = document.parts().bytes(record)?;
        let Cow::Owned(after) = repair_surrogates(&before) else { continue };
        let mut at = 0;
        while let Some(next) = (at..before.len()).find(|at| before[*at] != after[*at]) {
            // The first two bytes of an escape stay.
            let start = record.at + next as u64 - 2;
            found.push(Span { part: record.part.clone(), at: start, len: ESCAPE as u64 });
            at = next - 2 + ESCAPE;
        }
    }
    Ok(found)
}

/// Returns whether a surrogate is escaped anywhere in a session of one file; any other may have
/// one.
fn may_have_surrogates(parts: &dyn Parts) -> io::Result<bool> {
    if parts.list("")? != [""] {
        return Ok(true);
    }
    let mut reader = PartReader::new(parts, "", 0)?;
    let (mut chunk, mut n_kept) = (vec![0; CHUNK_BYTES], 0);
    loop {
        let n_bytes = n_kept + reader.read(&mut chunk[n_kept..])?;
        let mut escapes = memmem::find_iter(&chunk[..n_bytes], b"\\u");
        if escapes.any(|at| chunk[..n_bytes].get(at + 2).is_some_and(|byte| matches!(byte, b'd' | b'D'))) {
            return Ok(true);
        }
        if n_bytes == n_kept {
            return Ok(false);
        }
        // An escape may continue in the next chunk.
        let start = n_bytes - n_bytes.min(ESCAPE_START - 1);
        chunk.copy_within(start..n_bytes, 0);
        n_kept = n_bytes - start;
    }
}

/// Returns the changes that replace lone surrogates.
fn replaced(document: &dyn Document, halves: Vec<Span>) -> io::Result<ChangeSet> {
    let change = |half: Span| {
        let (at, old) = (half.at, Bytes(document.parts().bytes(&half)?.into_owned()));
        Ok((half.part, Change::Splice { at, old, new: Bytes(b"\\ufffd".to_vec()) }))
    };
    Ok(ChangeSet { changes: halves.into_iter().map(change).collect::<io::Result<_>>()? })
}

#[cfg(test)]
mod tests {
    use wb_record::MemoryParts;

    use super::*;

    #[test]
    fn an_escape_is_found_across_two_chunks_and_no_other_counts() {
        let has = |before: usize, text: &str| {
            let text = "a".repeat(before) + text;
            may_have_surrogates(&MemoryParts::from_bytes(text)).unwrap()
        };
        for before in CHUNK_BYTES - 4..CHUNK_BYTES + 4 {
            assert!(has(before, r"\ud83d"), "{before}");
            assert!(has(before, r"\uDE00 and more"), "{before}");
            assert!(!has(before, r"\u00e9 \u"), "{before}");
        }
        assert!(!has(0, ""));
    }
}
