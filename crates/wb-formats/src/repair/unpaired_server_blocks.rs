//! Calls and results of servers' tools, each without the other: each becomes the text that its
//! message shows.

use std::io;

use serde_json::{Value, json};
use wb_record::{Bytes, Change, ChangeSet, Document, NotExpressible};

use super::SessionRepair;
use super::stage::{Current, Next};
use crate::server_pairs::{UnpairedBlock, unpaired_blocks};
use crate::shapes::server_block::server_text;

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    if !current.sent.has_server_tools() {
        return Ok(Next::Nothing);
    }
    let unpaired = unpaired_blocks(current.document(), &current.view).map_err(NotExpressible::unreadable)?;
    if unpaired.is_empty() {
        return Ok(Next::Nothing);
    }
    if let Some(why) = current.document().abilities().body.why_not() {
        return Ok(Next::Left(current.refused(why)));
    }
    let changes = with_texts(current.document(), unpaired).map_err(NotExpressible::unreadable)?;
    current.step(SessionRepair::from_changes(changes))
}

/// Returns the changes that replace blocks by texts.
fn with_texts(document: &dyn Document, mut blocks: Vec<UnpairedBlock>) -> io::Result<ChangeSet> {
    // In reverse order, so that no change moves the position of another.
    blocks.sort_by_key(|block| std::cmp::Reverse(block.place.at));
    let changes = blocks.into_iter().map(|UnpairedBlock { place, .. }| {
        let old = document.parts().bytes(&place)?.into_owned();
        let value: Value = serde_json::from_slice(&old).unwrap_or_default();
        let text = json!({ "type": "text", "text": server_text(&value).unwrap_or_default() });
        let new = Bytes(text.to_string().into_bytes());
        Ok((place.part, Change::Splice { at: place.at, old: Bytes(old), new }))
    });
    Ok(ChangeSet { changes: changes.collect::<io::Result<_>>()? })
}
