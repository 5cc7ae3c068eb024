//! Stands in until the crate with the rules of providers is there.

use serde_json::{Value, json};
use wb_message::{Block, Conversation, Turn};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Anthropic,
    OpenaiChat,
    OpenaiResponses,
    Gemini,
}

pub(crate) fn encode(conversation: &Conversation, dialect: Dialect) -> Value {
    let text = |turn: &Turn| turn.blocks().iter().filter_map(Block::as_text).collect::<String>();
    let texts: Vec<String> = conversation.turns.iter().map(text).collect();
    let messages: Vec<Value> = texts.iter().map(|text| json!({"role": "user", "content": text})).collect();
    let system = conversation.system.clone().unwrap_or_default();
    match dialect {
        Dialect::Anthropic => json!({"system": system, "messages": messages}),
        Dialect::OpenaiChat => {
            let first = json!({"role": "system", "content": system});
            json!({"messages": std::iter::once(first).chain(messages).collect::<Vec<_>>()})
        }
        Dialect::OpenaiResponses => json!({"instructions": system, "input": messages}),
        Dialect::Gemini => {
            let contents: Vec<Value> =
                texts.iter().map(|text| json!({"role": "user", "parts": [{"text": text}]})).collect();
            json!({"systemInstruction": {"parts": [{"text": system}]}, "contents": contents})
        }
    }
}
