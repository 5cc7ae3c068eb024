//! A compaction that the agent writes: it gets the text, and the result is recognized by its
//! content.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wb_message::markers::digest_body;
use wb_message::{Message, piece_fingerprints};
use xxhash_rust::xxh3::xxh3_64;

use crate::view::View;

/// A compaction that an agent writes into its session itself: the fingerprints of the records that
/// it was asked to write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DelegatedCompaction {
    digest: Option<u64>,
    /// Of each message that stays: its calls and results, or its text if it has none. An agent may
    /// write it again in other pieces.
    kept: Vec<u64>,
}

impl DelegatedCompaction {
    /// Describes a compaction by its digest and the messages that stay after it.
    pub fn new<'a>(digest: &str, kept: impl IntoIterator<Item = &'a Message>) -> Self {
        let summary = Message::CompactionSummary { summary: digest.to_owned(), tokens_before: 0 };
        Self { digest: fingerprint(&summary), kept: kept.into_iter().flat_map(piece_fingerprints).collect() }
    }

    /// Returns the messages of a view that it brought or kept, if the view contains it.
    pub(crate) fn messages(&self, view: &View) -> Option<Range<usize>> {
        let at = view.messages.iter().position(|message| fingerprint(message) == self.digest)?;
        let mut left = self.kept.clone();
        let mut is_known = |message: &Message| {
            // The agent's custom messages in between are ignored.
            matches!(message, Message::Custom { .. })
                || piece_fingerprints(message).all(|piece| remove_piece(&mut left, piece))
        };
        let n = view.messages[at + 1..].iter().take_while(|message| is_known(message)).count();
        let known = &view.messages[at..=at + n];
        // Custom messages after all that stays, such as one to continue, came since.
        let is_custom = |message: &&Message| matches!(message, Message::Custom { .. });
        let n_last = known.iter().rev().take_while(is_custom).count();
        Some(at..at + 1 + n - n_last)
    }
}

/// Removes a piece from those that are left; returns whether it was one of them.
fn remove_piece(left: &mut Vec<u64>, piece: u64) -> bool {
    left.iter().position(|known| *known == piece).map(|at| left.swap_remove(at)).is_some()
}

/// Returns the fingerprint of a digest's text; nothing if the message is none.
fn fingerprint(message: &Message) -> Option<u64> {
    Some(xxh3_64(digest_body(message)?.trim().as_bytes()))
}

#[cfg(test)]
mod tests {
    use wb_message::markers::DIGEST_HEADER;
    use wb_message::{Block, ToolVocabulary};

    use super::*;

    fn call(id: &str) -> Message {
        let input = serde_json::json!({});
        Message::Assistant {
            content: vec![Block::ToolCall { id: id.into(), name: "ls".into(), input }],
            error_message: None,
        }
    }

    #[test]
    fn what_was_kept_is_known_again_in_other_pieces_and_what_came_since_is_not() {
        let kept = [
            Message::assistant("I look."),
            call("a"),
            Message::tool_result("a", "ls", "x"),
            Message::user("go on"),
        ];
        let by_agent = DelegatedCompaction::new(&format!("{DIGEST_HEADER}\n\n# Objective\n- x\n"), &kept);
        let [said, call, result, prompt] = kept;
        let digest = Message::user(format!("{DIGEST_HEADER}\n\n# Objective\n- x"));
        let custom = Message::custom("date", "Today.");
        let mut view = View::new("x", ToolVocabulary::UNIVERSAL);
        let all =
            [custom.clone(), digest, said, custom.clone(), call, result, prompt.clone(), custom, prompt];
        view.messages = all.to_vec();
        assert_eq!(by_agent.messages(&view), Some(1..7));
        view.messages.remove(1);
        assert_eq!(by_agent.messages(&view), None);
    }
}
