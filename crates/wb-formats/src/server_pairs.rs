//! Calls and results of tools that run on a provider's servers, each without the other, in records
//! whose messages show them as texts.

use std::io;

use serde_json::{Value, json};
use wb_dialect::{Dialect, Violation, validate};
use wb_message::markers::server_tool;
use wb_message::{Block, Message};
use wb_record::json::{elements, find};
use wb_record::{Document, Place, Span, View};

/// The rules on pairs of such calls and results.
const RULES: [&str; 2] = ["server-result-orphan", "server-call-unanswered"];

/// The keys that lead to the blocks of a record.
const CONTENT: [&[&str]; 2] = [&["message", "content"], &["content"]];

/// A call or a result without the other, and its place in the file.
#[derive(Debug)]
pub(crate) struct UnpairedBlock {
    pub(crate) violation: Violation,
    pub(crate) place: Span,
}

/// A block as the agent sends it.
struct RawBlock {
    value: Value,
    place: Span,
}

/// Finds the calls and results of servers' tools that the provider of a view refuses.
pub(crate) fn unpaired_blocks(document: &dyn Document, view: &View) -> io::Result<Vec<UnpairedBlock>> {
    if !view.messages.iter().any(has_server_block) {
        return Ok(Vec::new());
    }
    let answers = (0..view.messages.len()).map(|at| match &view.messages[at] {
        message if has_server_block(message) => blocks_of(document, view.provenance.places(at)),
        _ => Ok(Vec::new()),
    });
    let blocks = answers.collect::<io::Result<Vec<Vec<RawBlock>>>>()?;
    let sent = view.messages.iter().zip(&blocks).map(|(message, blocks)| {
        let role = if matches!(message, Message::Assistant { .. }) { "assistant" } else { "user" };
        json!({ "role": role, "content": blocks.iter().map(|block| &block.value).collect::<Vec<_>>() })
    });
    let body = json!({ "messages": sent.collect::<Vec<_>>() });
    let found = validate(&body, Dialect::Anthropic).into_iter();
    let found = found.filter(|it| RULES.contains(&it.rule.as_ref())).filter_map(|violation| {
        let block = violation.at.rsplit('/').next()?.parse::<usize>().ok()?;
        let place = blocks.get(violation.message?)?.get(block)?.place.clone();
        Some(UnpairedBlock { violation, place })
    });
    Ok(found.collect())
}

fn has_server_block(message: &Message) -> bool {
    let is_of_server = |block: &Block| block.as_text().is_some_and(|text| server_tool(text).is_some());
    matches!(message, Message::Assistant { .. }) && message.blocks().iter().any(is_of_server)
}

/// Reads the blocks of an answer from its records.
fn blocks_of(document: &dyn Document, places: &[Place]) -> io::Result<Vec<RawBlock>> {
    let mut blocks = Vec::new();
    for Place { record, .. } in places {
        let bytes = document.parts().bytes(record)?;
        let Some(list) = CONTENT.iter().find_map(|keys| find(&bytes, keys)) else { continue };
        for place in elements(&bytes[list.clone()]).unwrap_or_default() {
            let (start, len) = (list.start + place.start, place.len() as u64);
            let value = serde_json::from_slice(&bytes[start..start + place.len()]).unwrap_or_default();
            let at = record.at + start as u64;
            blocks.push(RawBlock { value, place: Span { part: record.part.clone(), at, len } });
        }
    }
    Ok(blocks)
}
