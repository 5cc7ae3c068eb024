//! Fingerprints by which a message is recognized in other pieces.

use xxhash_rust::xxh3::xxh3_64;

use crate::message::Message;

/// Returns a fingerprint of each call and result of a message, or of its text if it has none.
///
/// An agent may write a message again, or send it, in other pieces; calls and results keep their
/// ids.
///
/// ```
/// use wb_message::{Message, piece_fingerprints};
///
/// let result = |text| piece_fingerprints(&Message::tool_result("c1", "bash", text)).next();
/// assert_eq!(result("ok"), result("[cleared]"));
/// assert_ne!(result("ok"), piece_fingerprints(&Message::user("ok")).next());
/// ```
pub fn piece_fingerprints(message: &Message) -> impl Iterator<Item = u64> {
    let ids =
        message.calls().map(|(id, ..)| ("call", id)).chain(message.answered_ids().map(|id| ("result", id)));
    let mut all: Vec<u64> = ids.map(|(what, id)| xxh3_64(format!("{what} {id}").as_bytes())).collect();
    if all.is_empty() {
        all.push(xxh3_64(text_of(message).trim().as_bytes()));
    }
    all.into_iter()
}

fn text_of(message: &Message) -> String {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => content.texts().collect(),
        Message::Assistant { content, .. } | Message::ToolResult { content, .. } => {
            content.iter().filter_map(|block| block.as_text()).collect()
        }
        Message::BashExecution { command, output, .. } => format!("{command}\n{output}"),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            summary.clone()
        }
    }
}
