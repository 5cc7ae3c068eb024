//! Items of the Responses API as they are written: new ones, and others with another body.

use serde_json::{Value, json};
use wb_message::{Block, Content, Message};
use wb_record::json::{find, set};

use super::content_value::{digest_text, result};

/// Returns an item of a message with another body; only the value of its body is replaced.
pub(crate) fn changed_item(item: &[u8], message: &Message, body: &[Block]) -> Result<Vec<u8>, String> {
    let (key, value) = match message {
        Message::ToolResult { .. } => ("output", output(body)?),
        Message::User { .. } => ("content", parts(body, "input_text")?),
        Message::Assistant { .. } => return Err("an answer".to_owned()),
        _ => return Err("which is no result and not the user's".to_owned()),
    };
    if find(item, &[key]).is_none() {
        return Err("which has none that is known".to_owned());
    }
    Ok(set(item, key, value.to_string().as_bytes()))
}

/// Returns a user message as an item.
pub(crate) fn user_item(text: &str) -> Vec<u8> {
    let content = [json!({"type": "input_text", "text": text})];
    json!({"type": "message", "role": "user", "content": content}).to_string().into_bytes()
}

/// Returns a message that no record holds as an item.
pub(crate) fn new_item(message: &Message) -> Result<Vec<u8>, String> {
    let texts = |content: &Content| match content {
        Content::Text(text) => parts(&[Block::text(text)], "input_text"),
        Content::Blocks(blocks) => parts(blocks, "input_text"),
    };
    let (role, content) = match message {
        Message::User { content, .. } => ("user", texts(content)?),
        Message::Assistant { content, .. } => ("assistant", parts(content, "output_text")?),
        Message::Custom { custom_type, content }
            if ["developer", "system"].contains(&custom_type.as_str()) =>
        {
            (custom_type.as_str(), texts(content)?)
        }
        Message::ToolResult { tool_call_id, content, .. } => {
            let output = output(content)?;
            let item = json!({"type": "function_call_output", "call_id": tool_call_id, "output": output});
            return Ok(item.to_string().into_bytes());
        }
        _ => return digest_text(message).map(|text| user_item(&text)),
    };
    Ok(json!({"type": "message", "role": role, "content": content}).to_string().into_bytes())
}

/// Returns the body of a result: a text where it is one.
pub(crate) fn output(body: &[Block]) -> Result<Value, String> {
    result(body, |block| part(block, "input_text"))
}

/// Returns blocks as parts of a body.
fn parts(blocks: &[Block], text_type: &str) -> Result<Value, String> {
    blocks.iter().map(|block| part(block, text_type)).collect()
}

fn part(block: &Block, text_type: &str) -> Result<Value, String> {
    match block {
        Block::Text { text } => Ok(json!({"type": text_type, "text": text})),
        Block::Image { media_type, data_base64 } => {
            let url = format!("data:{media_type};base64,{data_base64}");
            Ok(json!({"type": "input_image", "image_url": url}))
        }
        _ => Err("a new message with more than texts and pictures".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER};

    use super::*;

    #[test]
    fn what_cannot_be_said_is_refused() {
        let call = Message::assistant_blocks(vec![Block::call("c", "f", json!({}))]);
        for message in [Message::bash("ls", "", None), Message::custom("hint", "x"), call] {
            assert!(new_item(&message).is_err());
        }
    }

    #[test]
    fn every_digest_is_an_item_of_the_user_with_our_header() {
        let summary = Message::CompactionSummary { summary: "S".into(), tokens_before: 1 };
        let branch = Message::BranchSummary { summary: "B".into(), from_id: "x".into() };
        for (message, expected) in [(summary, DIGEST_HEADER), (branch, BRANCH_HEADER)] {
            let item = String::from_utf8(new_item(&message).unwrap()).unwrap();
            assert!(
                item.starts_with(
                    r#"{"type":"message","role":"user","content":[{"type":"input_text","text":""#
                )
            );
            assert!(item.contains(expected), "{item}");
        }
    }
}
