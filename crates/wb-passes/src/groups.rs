//! Groups of messages that stay or go together.

use wb_budget::WeighedTranscript;

/// The groups of a transcript: a reply with the results of its calls, or a single message.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The group of each message; groups are numbered in the order of their first messages.
    pub(crate) by_message: Vec<usize>,
    /// The messages of each group in order.
    pub(crate) members: Vec<Vec<usize>>,
    /// The weight of each group in tokens.
    pub(crate) tokens: Vec<u64>,
}

impl Groups {
    pub(crate) fn new(view: &WeighedTranscript<'_>) -> Self {
        let roots = view.pairing.groups();
        let mut groups =
            Self { by_message: Vec::with_capacity(roots.len()), members: Vec::new(), tokens: Vec::new() };
        for (at, root) in roots.iter().map(|&root| root as usize).enumerate() {
            let group = if root == at { groups.members.len() } else { groups.by_message[root] };
            if root == at {
                groups.members.push(Vec::new());
                groups.tokens.push(0);
            }
            groups.by_message.push(group);
            groups.members[group].push(at);
            groups.tokens[group] = groups.tokens[group].saturating_add(view.weight(at));
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    use wb_budget::{TokenCounter, TokenHeuristic};
    use wb_message::{Block, Message};

    fn call(id: &str) -> Message {
        Message::assistant_blocks(vec![Block::call(id, "read", json!({}))])
    }

    fn nested(ids: &[&str]) -> Message {
        let block =
            |id: &&str| Block::ToolResult { call_id: (*id).to_owned(), output: json!("ok"), is_error: None };
        Message::user(ids.iter().map(block).collect::<Vec<_>>())
    }

    #[test]
    fn replies_with_a_common_result_message_are_one_group() {
        let messages =
            [call("a"), Message::user("u"), call("b"), call("c"), nested(&["c", "a"]), nested(&["b"])];
        let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
        let view = WeighedTranscript::new(&messages, &counter);
        let groups = Groups::new(&view);
        assert_eq!(groups.members, [vec![0, 3, 4], vec![1], vec![2, 5]]);
        assert_eq!(groups.by_message, [0, 1, 2, 0, 0, 2]);
        assert_eq!(groups.tokens[2], view.weight(2) + view.weight(5));
    }
}
