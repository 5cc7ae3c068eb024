//! Sessions from a seed, one after the other: none is kept.

use serde_json::{Value, json};

/// The formats of the sessions.
pub(crate) const FORMATS: [&str; 4] =
    ["openai-chat", "anthropic-messages", "openai-responses", "gemini-contents"];

/// The approximate bytes of a session.
const BYTES: usize = 4000;

/// Numbers from a seed (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % below.max(1) as u64).unwrap_or_default()
    }
}

/// Returns the messages of a session as JSON.
pub(crate) fn session(format: &str, seed: u64) -> String {
    let mut chance = Chance::new(seed);
    let number = chance.next(1000);
    let request = format!(
        "Fix the rounding in src/cart_{number}.rs. Never touch src/billing.rs, and always run the tests before you commit."
    );
    let mut messages = vec![user(format, &request)];
    let mut n_bytes = request.len();
    for step in 0.. {
        if n_bytes > BYTES - 400 {
            break;
        }
        let path = format!("src/part_{}.rs", chance.next(40));
        let lines = 2 + chance.next(12);
        let text: String = (0..lines)
            .map(|line| {
                format!(
                    "{line}: pub fn total_{}(cents: u64) -> u64 {{ cents * {} }}\n",
                    chance.next(900),
                    chance.next(90)
                )
            })
            .collect();
        n_bytes += text.len() + 250;
        step_messages(format, &format!("call_{seed}_{step}"), &path, &text, &mut messages);
    }
    messages.push(assistant(
        format,
        "All parts are read. The rounding is done in cents now, and 12 of 12 tests pass.",
    ));
    Value::from(messages).to_string()
}

fn user(format: &str, text: &str) -> Value {
    match format {
        "gemini-contents" => json!({ "role": "user", "parts": [{ "text": text }] }),
        _ => json!({ "role": "user", "content": text }),
    }
}

fn assistant(format: &str, text: &str) -> Value {
    match format {
        "gemini-contents" => json!({ "role": "model", "parts": [{ "text": text }] }),
        "anthropic-messages" => json!({ "role": "assistant", "content": [{ "type": "text", "text": text }] }),
        _ => json!({ "role": "assistant", "content": text }),
    }
}

fn step_messages(format: &str, id: &str, path: &str, text: &str, messages: &mut Vec<Value>) {
    let arguments = json!({ "path": path });
    match format {
        "openai-chat" => {
            let function = json!({ "name": "read_file", "arguments": arguments.to_string() });
            let calls = json!([{ "id": id, "type": "function", "function": function }]);
            messages.push(json!({ "role": "assistant", "content": null, "tool_calls": calls }));
            messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
        }
        "anthropic-messages" => {
            let call = json!({ "type": "tool_use", "id": id, "name": "read_file", "input": arguments });
            messages.push(json!({ "role": "assistant", "content": [call] }));
            let result = json!({ "type": "tool_result", "tool_use_id": id, "content": text });
            messages.push(json!({ "role": "user", "content": [result] }));
        }
        "openai-responses" => {
            let arguments = arguments.to_string();
            messages.push(json!({ "type": "function_call", "call_id": id, "name": "read_file", "arguments": arguments }));
            messages.push(json!({ "type": "function_call_output", "call_id": id, "output": text }));
        }
        _ => {
            let call = json!({ "functionCall": { "name": "read_file", "args": arguments } });
            messages.push(json!({ "role": "model", "parts": [call] }));
            let response =
                json!({ "functionResponse": { "name": "read_file", "response": { "output": text } } });
            messages.push(json!({ "role": "user", "parts": [response] }));
        }
    }
}

/// Damages a text: bytes replaced, removed or repeated.
pub(crate) fn mutated(text: &str, seed: u64) -> Vec<u8> {
    let mut chance = Chance::new(seed);
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=chance.next(4) {
        let at = chance.next(bytes.len());
        match chance.next(4) {
            0 => bytes.truncate(at),
            1 => bytes[at] = u8::try_from(chance.next(256)).unwrap_or_default(),
            2 => drop(bytes.drain(at..(at + chance.next(60)).min(bytes.len()))),
            _ => {
                let piece = bytes[at..(at + chance.next(200)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        if bytes.is_empty() {
            bytes.push(b' ');
        }
    }
    bytes
}
