//! Every session in the form of every provider, read again: messages, calls and results are
//! unchanged.
//!
//! Not compared, for the reasons given: where one turn of a side ends and the next one begins
//! (providers want the turns of one side in one), reasoning and pictures (each provider takes only
//! its own), ids (each provider has a shape of its own for them; which result answers which call is
//! compared), names of results (they are those of the calls), and whether results precede what
//! the user says next to them (where the provider looks for them).

use serde_json::{Value, json};
use wb_dialect::{Dialect, EncodedRequest};
use wb_formats::{Agent, format_of};
use wb_message::markers::{BRANCH_HEADER, DIGEST_HEADER, is_pinned};
use wb_message::{Block, Message, Pairing};
use wb_record::{MemoryParts, Parts, Stamp};

use crate::support::{fixtures, open};

/// The content of one side until the other speaks.
#[derive(Clone, Debug, Default, PartialEq)]
struct Round {
    is_model: bool,
    texts: String,
    /// Texts and calls in their order, where the dialect can say it.
    order: String,
    /// Names and arguments.
    calls: Vec<(String, Value)>,
    /// Texts, whether the tool failed, and the number of the call that is answered, in order of the
    /// calls.
    results: Vec<(Option<usize>, String, bool)>,
}

impl Round {
    fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.calls.is_empty() && self.results.is_empty()
    }

    fn say(&mut self, text: &str) {
        self.texts.extend(text.split_whitespace());
    }

    /// Notes the order of blocks; consecutive texts count as one.
    fn note(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::ToolCall { .. } => self.order.push('c'),
                Block::Text { text } if !text.trim().is_empty() && !self.order.ends_with('t') => {
                    self.order.push('t');
                }
                _ => {}
            }
        }
    }
}

/// Returns the content of a transcript, reduced to the compared parts.
fn rounds(messages: &[Message], dialect: Dialect) -> Vec<Round> {
    let pairing = Pairing::new(messages);
    let answered = |at: usize| {
        let pair = pairing.pairs().iter().find(|pair| pair.result as usize == at);
        pair.and_then(|pair| {
            pairing.pairs().iter().map(|it| it.call).filter(|call| *call < pair.call).count().into()
        })
    };
    let mut rounds: Vec<Round> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let is_model = matches!(message, Message::Assistant { .. });
        let mut round = Round { is_model, ..Round::default() };
        match message {
            Message::ToolResult { content, is_error, .. } => {
                let text: String = texts(content).split_whitespace().collect();
                round.results.push((answered(at), text, *is_error && can_fail(dialect)));
            }
            Message::BashExecution { command, output, .. } => round.say(&format!("$ {command}\n{output}")),
            Message::BranchSummary { summary, .. } => round.say(&format!("{BRANCH_HEADER}\n{summary}")),
            Message::CompactionSummary { summary, .. } => round.say(&format!("{DIGEST_HEADER}\n{summary}")),
            Message::Assistant { content, .. } => {
                round.say(&texts(content));
                round.calls = content.iter().filter_map(call).collect();
                if has_order(dialect) {
                    round.note(content);
                }
            }
            Message::User { content, .. } | Message::Custom { content, .. } => {
                content.texts().for_each(|text| round.say(text));
            }
        }
        match rounds.last_mut() {
            _ if round.is_empty() => {}
            Some(last) if last.is_model == is_model => {
                last.texts += &round.texts;
                let is_one = last.order.ends_with('t') && round.order.starts_with('t');
                last.order.push_str(&round.order[usize::from(is_one)..]);
                last.calls.extend(round.calls);
                last.results.extend(round.results);
            }
            _ => rounds.push(round),
        }
    }
    for round in &mut rounds {
        round.results.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
    }
    rounds
}

/// Returns whether a dialect can say that a tool failed.
fn can_fail(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Anthropic | Dialect::Gemini)
}

/// Returns whether a dialect can express that a text follows a call.
fn has_order(dialect: Dialect) -> bool {
    dialect != Dialect::OpenaiChat
}

fn texts(blocks: &[Block]) -> String {
    blocks.iter().filter_map(Block::as_text).collect::<Vec<_>>().join("\n")
}

/// Returns the name and the arguments of a call: those that are no object are sent as one.
fn call(block: &Block) -> Option<(String, Value)> {
    let Block::ToolCall { name, input, .. } = block else { return None };
    let input = match input {
        Value::Object(_) => input.clone(),
        Value::Null => json!({}),
        Value::String(text) => serde_json::from_str(text)
            .ok()
            .filter(Value::is_object)
            .unwrap_or_else(|| json!({ "input": text })),
        other => json!({ "input": other }),
    };
    Some((name.clone(), input))
}

/// Returns the messages after the system text, which is in a member of its own.
fn behind_system(messages: &[Message]) -> &[Message] {
    let is_system = |message: &&Message| {
        matches!(message, Message::Custom { custom_type, .. } if ["system", "developer"].contains(&custom_type.as_str()))
            && is_pinned(message)
    };
    &messages[messages.iter().take_while(is_system).count()..]
}

/// Returns a request with the fields that a client adds to the conversation.
fn request(messages: &[Message], dialect: Dialect) -> Value {
    let mut body = EncodedRequest::from_messages(messages, dialect).body;
    body["model"] = "model-x".into();
    if dialect == Dialect::Anthropic {
        body["max_tokens"] = 1024.into();
    }
    body
}

/// Returns whether a request is one of Anthropic and of Chat Completions: nothing but texts is in
/// it.
fn is_of_both(body: &Value, format: &str) -> bool {
    format == "openai-chat" && body.get("system").is_none() && !body.to_string().contains("\"tool_use\"")
}

/// Returns the difference after a session was encoded and read again.
fn difference(messages: &[Message], dialect: Dialect) -> Option<String> {
    let body = request(messages, dialect);
    let again = match open(body.to_string().as_bytes()) {
        Ok(again) if again.format != format_of(dialect).name() && !is_of_both(&body, again.format) => {
            return Some(format!("read as {}", again.format));
        }
        Ok(again) => again.messages,
        Err(error) => return Some(error.to_string()),
    };
    let (before, after) = (rounds(behind_system(messages), dialect), rounds(behind_system(&again), dialect));
    if before == after {
        return None;
    }
    let at = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    Some(format!("round {at}\n    was {:?}\n    is  {:?}", before.get(at), after.get(at)))
}

#[test]
fn every_session_says_the_same_after_it_went_through_a_request_of_each_provider() {
    let (mut lost, mut n_kept) = (Vec::new(), 0);
    for (file, bytes) in fixtures() {
        let Ok(view) = open(bytes) else { continue };
        if view.messages.is_empty() {
            continue;
        }
        for dialect in Dialect::ALL {
            match difference(&view.messages, dialect) {
                None => n_kept += 1,
                Some(what) => lost.push(format!("{file} as {dialect}: {what}")),
            }
        }
    }
    assert!(lost.is_empty(), "{n_kept} kept, {} not:\n{}", lost.len(), lost.join("\n"));
    assert!(n_kept > 200, "only {n_kept}");
}

/// Returns the difference after a session was created for an agent and opened again.
fn difference_as(messages: &[Message], agent: Agent) -> Option<String> {
    let stamp = Stamp { now_ms: 1_800_000_000_000, seed: 7, ..Stamp::default() };
    let set = match agent.create(messages, "/w", &stamp) {
        Ok(set) => set,
        Err(error) => return Some(error.to_string()),
    };
    let mut parts = MemoryParts::default();
    parts.commit(&set).unwrap();
    let again = match open(&parts.whole("").unwrap()) {
        Ok(again) => again,
        Err(error) => return Some(error.to_string()),
    };
    assert_eq!((again.format, again.usage.len()), (agent.format().name(), 0));
    // Failures are shown as texts if the provider has no flag.
    let dialect = agent.dialect().unwrap_or(Dialect::Anthropic);
    let (mut before, after) = (rounds(behind_system(messages), dialect), rounds(&again.messages, dialect));
    // A result that answers no call is left out.
    for round in &mut before {
        round.results.retain(|(call, ..)| call.is_some());
    }
    before.retain(|round| !round.is_empty());
    let at = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    (before != after)
        .then(|| format!("round {at}\n    was {:?}\n    is  {:?}", before.get(at), after.get(at)))
}

#[test]
fn every_session_says_the_same_after_it_was_written_anew_for_another_agent() {
    let (mut lost, mut n_kept) = (Vec::new(), 0);
    for (file, bytes) in fixtures() {
        let Ok(view) = open(bytes) else { continue };
        if view.messages.is_empty() {
            continue;
        }
        for agent in Agent::ALL {
            match difference_as(&view.messages, agent) {
                None => n_kept += 1,
                Some(what) => lost.push(format!("{file} as {agent:?}: {what}")),
            }
        }
    }
    assert!(lost.is_empty(), "{n_kept} kept, {} not:\n{}", lost.len(), lost.join("\n"));
    assert!(n_kept > 150, "only {n_kept}");
}
