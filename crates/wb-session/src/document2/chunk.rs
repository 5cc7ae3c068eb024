//! A conversation as text, in parts that fit a model's window.

use wb_message::Message;
use wb_message::text::clip_lines;

use crate::{SerializeOpts, convert_to_llm, serialize_conversation};

/// Serializes messages into texts of at most `max_bytes` bytes each, in order.
pub(crate) fn chunks(messages: &[Message], max_bytes: usize) -> Vec<String> {
    let mut chunks: Vec<String> = Vec::new();
    for message in messages {
        let piece = clip_lines(serialized(message), max_bytes);
        match chunks.last_mut() {
            _ if piece.is_empty() => {}
            Some(part) if part.len() + 2 + piece.len() <= max_bytes => part.extend(["\n\n", &piece]),
            _ => chunks.push(piece),
        }
    }
    chunks
}

/// Serializes one message; a message is copied only if a model cannot take it unchanged.
fn serialized(message: &Message) -> String {
    let opts = SerializeOpts::default();
    match message {
        Message::User { .. } | Message::Assistant { .. } | Message::ToolResult { .. } => {
            serialize_conversation(std::slice::from_ref(message), opts)
        }
        _ => serialize_conversation(&convert_to_llm([message.clone()]), opts),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_joined_until_a_part_is_full() {
        let messages: Vec<Message> =
            (0..40).map(|n| Message::user(format!("{n:03} {}", "x".repeat(90)))).collect();
        let chunks = chunks(&messages, 500);
        assert!(chunks.len() > 5 && chunks.iter().all(|part| part.len() <= 500));
        let all = chunks.join("\n\n");
        assert!((0..40).all(|n| all.contains(&format!("[User]: {n:03} "))));
    }

    #[test]
    fn what_says_nothing_makes_no_part() {
        assert!(chunks(&[Message::user("")], 100).is_empty());
        assert_eq!(chunks(&[Message::custom("note", "ready")], 100), ["[User]: ready"]);
    }
}
