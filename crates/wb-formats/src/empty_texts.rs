//! Blocks with an empty text, which Anthropic refuses where they are sent as they stand: each goes out of its list.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;

use wb_message::{Block, Message};
use wb_record::json::{elements, members, set, text};
use wb_record::splice::{Joint, Piece, splices};
use wb_record::{BorrowedPart, Change, ChangeSet, Document, Span, View};

/// The text of a block that stands alone in its list: no message may be empty.
pub const EMPTY: &str = "(empty)";

/// Returns the changes after which no list of blocks has one with an empty text; nothing else changes.
pub(crate) fn without_empty_texts(document: &dyn Document, view: &View) -> io::Result<ChangeSet> {
    let with_empty = (0..view.messages.len()).filter(|at| has_empty_text(&view.messages[*at]));
    let places = with_empty.flat_map(|at| view.provenance.of(at));
    let records: BTreeSet<&Span> = places.map(|place| &place.record).collect();
    let mut all = Vec::new();
    for record in records {
        let bytes = document.parts().bytes(record)?;
        let mut lists = Vec::new();
        find_lists(&bytes, 0, &mut lists);
        for list in lists {
            let at = record.at + list.start as u64;
            let changes = without_empty(&bytes[list])?.into_iter();
            all.extend(changes.filter_map(|change| Some((record.part.clone(), moved(change, at)?))));
        }
    }
    // From the end on, so that no change moves the place of another.
    all.sort_by_key(|(_, (at, _))| Reverse(*at));
    Ok(ChangeSet { changes: all.into_iter().map(|(part, (_, change))| (part, change)).collect() })
}

fn has_empty_text(message: &Message) -> bool {
    message.blocks().iter().any(|block| matches!(block, Block::Text { text } if text.is_empty()))
}

/// Finds the lists of blocks in a record.
fn find_lists(value: &[u8], from: usize, lists: &mut Vec<Range<usize>>) {
    for member in members(value).unwrap_or_default() {
        if ["message", "content"].contains(&member.key.as_ref()) {
            find_lists(&value[member.value.clone()], from + member.value.start, lists);
        }
    }
    if value.starts_with(b"[") {
        for place in elements(value).unwrap_or_default() {
            find_lists(&value[place.clone()], from + place.start, lists);
        }
        lists.push(from..from + value.len());
    }
}

/// Returns the changes that take the blocks with an empty text out of a list, the last first.
fn without_empty(list: &[u8]) -> io::Result<Vec<Change>> {
    let blocks = elements(list).unwrap_or_default();
    let is_empty = |block: &Range<usize>| {
        let of = |key| text(&list[block.clone()], &[key]);
        of("type").as_deref() == Some("text") && of("text").as_deref() == Some("")
    };
    let mut pieces: Vec<Piece> =
        (0..blocks.len()).filter(|at| !is_empty(&blocks[*at])).map(Piece::Stays).collect();
    if let ([first, ..], true) = (blocks.as_slice(), pieces.is_empty()) {
        let told = serde_json::Value::from(EMPTY).to_string();
        pieces.push(Piece::New(set(&list[first.clone()], "text", told.as_bytes())));
    }
    splices(&BorrowedPart(list), &blocks, &pieces, Joint::Comma, |_| false)
}

/// Returns a change of a list as one of the part in which the list stands, with its place.
fn moved(change: Change, by: u64) -> Option<(u64, Change)> {
    match change {
        Change::Splice { at, old, new } => Some((at + by, Change::Splice { at: at + by, old, new })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wb_record::{MemoryParts, Parts};

    fn mended(list: &str) -> String {
        let changes = without_empty(list.as_bytes()).unwrap().into_iter();
        let mut parts = MemoryParts::of(list);
        parts.commit(&ChangeSet { changes: changes.map(|it| (String::new(), it)).collect() }).unwrap();
        String::from_utf8(parts.whole("").unwrap()).unwrap()
    }

    #[test]
    fn empty_texts_go_with_a_comma_and_one_that_stands_alone_says_so() {
        let (empty, other) = (r#"{"type":"text","text":""}"#, r#"{"type": "text", "text": "a"}"#);
        assert_eq!(mended(&format!("[{empty}, {other} ,{empty}]")), format!("[{other}]"));
        assert_eq!(mended(&format!("[{empty},{empty}]")), r#"[{"type":"text","text":"(empty)"}]"#);
        assert_eq!(mended(&format!("[ {other} ]")), format!("[ {other} ]"));
        assert_eq!(mended("[]"), "[]");
    }
}
