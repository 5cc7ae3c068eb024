//! A check that a session derived from another has lost none of its content.

use std::collections::HashSet;

use serde_json::Value;
use wb_message::{Block, Content, Message};

/// A part of the content of the user or the model.
#[derive(PartialEq)]
enum ContentPart<'a> {
    Text(&'a str),
    /// A call, whose id and name may have changed.
    Call(&'a Value),
    /// The bytes of a picture.
    Picture(&'a str),
    Other(&'a Block),
}

/// Returns whether all content of the user, the host, the model and digests is still there, in
/// order; results, pictures that were `replaced` and empty texts do not count.
pub(super) fn loses_nothing(before: &[Message], after: &[Message], replaced: &HashSet<String>) -> bool {
    let mut after = parts(after);
    let is_replaced =
        |part: &ContentPart<'_>| matches!(part, ContentPart::Picture(data) if replaced.contains(*data));
    parts(before).filter(|(_, part)| !is_replaced(part)).all(|part| after.any(|it| it == part))
}

/// Returns the content, each part with whether it comes from the model.
fn parts(messages: &[Message]) -> impl Iterator<Item = (bool, ContentPart<'_>)> {
    messages.iter().flat_map(|message| {
        let is_model = matches!(message, Message::Assistant { .. });
        let is_result = matches!(message, Message::ToolResult { .. });
        let blocks = message.blocks().iter().filter(move |_| !is_result).filter_map(part);
        let said = plain(message).into_iter().chain(blocks);
        said.filter(|part| !matches!(part, ContentPart::Text(text) if text.is_empty()))
            .map(move |part| (is_model, part))
    })
}

/// Returns the text of a message that has no blocks.
fn plain(message: &Message) -> Option<ContentPart<'_>> {
    match message {
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. }
        | Message::BashExecution { command: text, .. }
        | Message::BranchSummary { summary: text, .. }
        | Message::CompactionSummary { summary: text, .. } => Some(ContentPart::Text(text)),
        _ => None,
    }
}

fn part(block: &Block) -> Option<ContentPart<'_>> {
    match block {
        Block::Text { text } => Some(ContentPart::Text(text)),
        Block::ToolCall { input, .. } => Some(ContentPart::Call(input)),
        Block::Image { data_base64, .. } => Some(ContentPart::Picture(data_base64)),
        Block::ToolResult { .. } => None,
        other => Some(ContentPart::Other(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn more_may_be_said_and_nothing_less_or_in_another_order() {
        let call = |id: &str| Message::assistant_blocks(vec![Block::call(id, "ls", json!({}))]);
        let loses_nothing = |before: &[_], after: &[_]| loses_nothing(before, after, &HashSet::new());
        let before = [Message::user("look"), call("c1"), Message::tool_result("c1", "ls", "a.rs")];
        assert!(loses_nothing(&before, &[Message::user("mark"), before[0].clone(), call("c2")]));
        assert!(!loses_nothing(&before, &before[..1]));
        assert!(!loses_nothing(&before, &[call("c1"), Message::user("look")]));
        assert!(!loses_nothing(&before, &[Message::assistant("look"), call("c1")]));
    }

    #[test]
    fn only_a_picture_that_was_replaced_may_be_gone() {
        let before = [Message::user(vec![Block::text("look"), Block::image("image/png", "AAAA")])];
        let after = [Message::user(vec![Block::text("look"), Block::text("[image]")])];
        assert!(!loses_nothing(&before, &after, &HashSet::new()));
        assert!(loses_nothing(&before, &after, &HashSet::from(["AAAA".to_owned()])));
        let other_type = [Message::user(vec![Block::text("look"), Block::image("image/gif", "AAAA")])];
        assert!(loses_nothing(&before, &other_type, &HashSet::new()));
    }
}
