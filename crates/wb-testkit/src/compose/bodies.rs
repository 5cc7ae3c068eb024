//! Request bodies of any blocks.

use serde_json::{Value, json};

use super::Choices;
use super::blocks::{self, ANTHROPIC_ANSWER, ANTHROPIC_USER, CHAT, GEMINI, RESPONSES};

/// The most messages of a body.
const MOST_MESSAGES: usize = 7;
/// The number of ids of calls.
const N_IDS: usize = 3;

/// A body of one provider.
#[derive(Clone, Debug)]
pub struct Body {
    /// The name of the format.
    pub format: &'static str,
    /// The request.
    pub value: Value,
    /// Set if something in it is of this provider alone.
    pub is_own: bool,
}

/// Composes a body of a provider and of blocks by choices.
pub fn compose(choices: &mut Choices<'_>) -> Body {
    let dialect = choices.below(4);
    let n_messages = 1 + choices.below(MOST_MESSAGES);
    let mut is_own = dialect == 3;
    let messages = (0..n_messages).map(|nth| message(dialect, nth, choices, &mut is_own)).collect::<Vec<_>>();
    let format = ["anthropic-messages", "openai-chat", "openai-responses", "gemini-contents"][dialect];
    let key = ["messages", "messages", "input", "contents"][dialect];
    Body { format, value: json!({ key: messages }), is_own }
}

fn message(dialect: usize, nth: usize, choices: &mut Choices<'_>, is_own: &mut bool) -> Value {
    let (all, role) = match dialect {
        0 if nth.is_multiple_of(2) => (ANTHROPIC_USER, "user"),
        0 => (ANTHROPIC_ANSWER, "assistant"),
        1 => return one(CHAT, choices, is_own),
        2 => return one(RESPONSES, choices, is_own),
        _ => {
            let (role, part) = choices.pick(GEMINI);
            return json!({ "role": role, "parts": [blocks::with_id(part, choices.below(N_IDS))] });
        }
    };
    let n_blocks = 1 + choices.below(3);
    let content: Vec<Value> = (0..n_blocks).map(|_| one(all, choices, is_own)).collect();
    json!({ "role": role, "content": content })
}

fn one(all: &[blocks::Block], choices: &mut Choices<'_>, is_own: &mut bool) -> Value {
    let (block, of_provider) = choices.pick(all);
    *is_own |= of_provider;
    blocks::with_id(block, choices.below(N_IDS))
}

/// Returns a body around each single block that only its provider has.
pub fn of_each_block() -> Vec<Body> {
    let own = |all: &'static [blocks::Block]| {
        all.iter().filter(|(_, is_own)| *is_own).map(|(block, _)| blocks::with_id(block, 0))
    };
    let body = |format, value| Body { format, value, is_own: true };
    let of_anthropic = |role: &'static str| {
        move |block: Value| {
            let others =
                [json!({ "role": "user", "content": "Go." }), json!({ "role": role, "content": [block] })];
            body("anthropic-messages", json!({ "messages": others }))
        }
    };
    let of_chat = |message: Value| {
        body("openai-chat", json!({ "messages": [{ "role": "user", "content": "Go." }, message] }))
    };
    let of_gemini = |(role, part): &(&str, &str)| {
        let content = json!({ "role": role, "parts": [blocks::with_id(part, 0)] });
        body("gemini-contents", json!({ "contents": [content] }))
    };
    let of_anthropic_user = own(ANTHROPIC_USER).map(of_anthropic("user"));
    let bodies = of_anthropic_user.chain(own(ANTHROPIC_ANSWER).map(of_anthropic("assistant")));
    let bodies = bodies.chain(own(CHAT).map(of_chat)).chain(GEMINI.iter().map(of_gemini));
    bodies.chain(own(RESPONSES).map(|item| body("openai-responses", json!({ "input": [item] })))).collect()
}
