//! The members of a request outside of its messages: the system text and the tools.

use std::io;

use serde_json::Value;
use wb_budget::TokenCounter;
use wb_message::{Block, Content, Message};
use wb_record::Document;
use wb_record::json::members;

use crate::formats::row_of;
use crate::kit::json_text::body_of;

/// The content of a request outside of its messages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SystemAndTools {
    /// The system text, in the form that a message list would have it.
    pub system: Option<Message>,
    /// The number of defined tools.
    pub n_tools: usize,
    /// Their definitions as JSON.
    tools: String,
}

impl SystemAndTools {
    /// Returns the content of a document outside of its messages; empty if it is not a request.
    ///
    /// # Errors
    /// The document cannot be read.
    pub fn from_document(document: &dyn Document) -> io::Result<Self> {
        let Some(keys) = row_of(document.format().name()).and_then(|row| row.system_keys) else {
            return Ok(Self::default());
        };
        let whole = document.parts().whole("")?;
        let body = body_of(&whole).1;
        let members = members(body).unwrap_or_default();
        let value = |key: &str| -> Option<Value> {
            let member = members.iter().rfind(|member| member.key == key)?;
            serde_json::from_slice(&body[member.value.clone()]).ok()
        };
        let mut outside = Self::default();
        for key in keys.iter().chain(&["tools", "functions"]) {
            match value(key) {
                Some(Value::Array(tools)) if !keys.contains(key) => {
                    outside.n_tools += tools.iter().map(n_tools).sum::<usize>();
                    outside.tools += &Value::Array(tools).to_string();
                }
                Some(member) if keys.contains(key) && outside.system.is_none() => {
                    outside.system = system_text(&member);
                }
                _ => {}
            }
        }
        Ok(outside)
    }

    /// Returns its size in tokens.
    pub fn tokens(&self, counter: &dyn TokenCounter) -> u64 {
        let system = self.system.as_ref().map_or(0, |system| counter.message(system));
        system.saturating_add(counter.text(&self.tools))
    }
}

/// Reads a system text: a string, or texts in a list or under `parts`.
fn system_text(member: &Value) -> Option<Message> {
    let text = |part: &Value| part.as_str().or_else(|| part["text"].as_str()).map(Block::text);
    let content: Content = match member.get("parts").unwrap_or(member) {
        Value::String(text) => text.as_str().into(),
        Value::Array(parts) => parts.iter().filter_map(text).collect::<Vec<_>>().into(),
        part => vec![text(part)?].into(),
    };
    let says_nothing = content.texts().all(|text| text.trim().is_empty());
    (!says_nothing).then(|| Message::custom("system", content))
}

/// Counts the tools in one of a list; Gemini has several in one.
fn n_tools(tool: &Value) -> usize {
    let declared = ["functionDeclarations", "function_declarations"].iter().find_map(|key| tool.get(key));
    declared.and_then(Value::as_array).map_or(1, Vec::len)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wb_record::MemoryParts;

    use super::*;

    fn outside(body: &Value) -> (Option<String>, usize) {
        let document = crate::open(Box::new(MemoryParts::from_bytes(body.to_string()))).unwrap();
        let SystemAndTools { system, n_tools, .. } =
            SystemAndTools::from_document(document.as_ref()).unwrap();
        let text = |it: Message| match it {
            Message::Custom { content, .. } => content.texts().collect::<Vec<_>>().join("|"),
            other => panic!("{other:?}"),
        };
        (system.map(text), n_tools)
    }

    #[test]
    fn each_provider_has_its_member_for_the_system_text() {
        let said = json!([{ "role": "user", "content": "hi" }]);
        let anthropic =
            |system: Value| outside(&json!({ "system": system, "messages": said, "tools": [{}, {}] }));
        assert_eq!(anthropic(json!("S.")), (Some("S.".into()), 2));
        let parts = json!([{ "type": "text", "text": "S." }, { "type": "text", "text": "T." }]);
        assert_eq!(anthropic(parts), (Some("S.|T.".into()), 2));
        assert_eq!(anthropic(json!(" ")), (None, 2));
        let item = json!([{ "type": "message", "role": "user", "content": "hi" }]);
        assert_eq!(
            outside(&json!({ "model": "m", "instructions": "S.", "input": item })),
            (Some("S.".into()), 0)
        );
        let contents = json!([{ "role": "user", "parts": [{ "text": "hi" }] }]);
        let tools = json!([{ "functionDeclarations": [{}, {}, {}] }]);
        let system = json!({ "parts": [{ "text": "S." }] });
        let gemini = json!({ "systemInstruction": system, "contents": contents, "tools": tools });
        assert_eq!(outside(&gemini), (Some("S.".into()), 3));
        let chat = json!([{ "role": "system", "content": "S." }, { "role": "user", "content": "hi" }]);
        assert_eq!(outside(&json!({ "model": "m", "messages": chat, "tools": [{}] })), (None, 1));
    }
}
