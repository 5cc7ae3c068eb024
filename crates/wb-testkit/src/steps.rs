//! The steps of a generated transcript, and their rendering as messages.
//!
//! A step describes calls by their fate instead of their ids, so that a shrunk list of steps is
//! still consistent.

use serde_json::{Value, json};
use wb_message::{Block, Content, Message};

/// The fate of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The result follows at once.
    Answered,
    /// Two results follow.
    Twice,
    /// The result comes with a later [`Step::Late`], or never.
    Late,
    /// No result comes.
    Never,
    /// The result precedes its call.
    Early,
}

/// A call and its result.
#[derive(Clone, Debug)]
pub(crate) struct CallStep {
    pub(crate) tool: &'static str,
    pub(crate) input: Value,
    pub(crate) same_id: bool,
    pub(crate) fate: Fate,
    pub(crate) result: Vec<Block>,
    pub(crate) failed: bool,
}

/// An assistant message and the results of its calls.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) blocks: Vec<Block>,
    pub(crate) calls: Vec<CallStep>,
    /// True if the results come in the reverse order of the calls.
    pub(crate) reversed: bool,
    /// True if the results are nested in one user message.
    pub(crate) nested: bool,
    /// The user's text between the results.
    pub(crate) interjection: Option<String>,
    pub(crate) error: Option<String>,
}

/// One step of a generated transcript.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Any message without calls and results.
    Plain(Message),
    Reply(Reply),
    /// The late results so far.
    Late,
    /// A result for an unknown call, or for the id of an earlier one.
    Stray {
        repeats: bool,
        content: Vec<Block>,
    },
}

/// The numbering of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    Unique,
    /// `call_0`, `call_1`, … in every reply.
    PerReply,
    /// Some unique, some equal.
    Mixed,
}

/// Builds the messages of a transcript; a tame one is valid for every provider.
pub(crate) fn render(steps: Vec<Step>, ids: Ids, tame: bool) -> Vec<Message> {
    let ids = if tame { Ids::Unique } else { ids };
    let mut stage = Stage { ids, tame, n_calls: 0, last_id: String::new(), late: vec![], messages: vec![] };
    for step in steps {
        stage.step(step);
    }
    if tame { start_with_user(stage.messages) } else { stage.messages }
}

fn start_with_user(mut messages: Vec<Message>) -> Vec<Message> {
    let first = messages.iter().position(|m| !matches!(m, Message::Custom { .. }));
    if let Some(at) = first.filter(|at| !matches!(messages[*at], Message::User { .. })) {
        messages.insert(at, Message::user("Please find out why the checkout test is flaky."));
    }
    messages
}

struct Stage {
    ids: Ids,
    tame: bool,
    n_calls: usize,
    last_id: String,
    late: Vec<Message>,
    messages: Vec<Message>,
}

impl Stage {
    fn step(&mut self, step: Step) {
        match step {
            Step::Plain(message) if self.tame => self.messages.push(tame_message(message)),
            Step::Plain(message) => self.messages.push(message),
            Step::Reply(reply) => self.reply(reply),
            Step::Late | Step::Stray { .. } if self.tame => {}
            Step::Late => self.messages.append(&mut self.late),
            Step::Stray { repeats, content } => {
                let id =
                    if repeats { self.last_id.clone() } else { format!("stray_{}", self.messages.len()) };
                self.messages.push(result(id, "read", content, false));
            }
        }
    }

    fn reply(&mut self, reply: Reply) {
        let Reply { mut blocks, calls, reversed, nested, interjection, error } = reply;
        let mut results = Vec::new();
        for (nth, mut call) in calls.into_iter().enumerate() {
            let id = self.id(nth, call.same_id);
            if self.tame {
                call = tame_call(call);
            }
            blocks.push(Block::call(&id, call.tool, call.input));
            self.sort_result(call.fate, result(id, call.tool, call.result, call.failed), &mut results);
        }
        let error_message = error.filter(|_| !self.tame);
        let reply = Message::Assistant { content: blocks, error_message };
        self.messages.push(if self.tame { tame_message(reply) } else { reply });
        if reversed {
            results.reverse();
        }
        if let Some(text) = interjection.filter(|_| !self.tame) {
            results.insert(results.len() / 2, Message::user(text));
        }
        self.messages.extend(if nested { vec![nest(&results)] } else { results });
    }

    fn sort_result(&mut self, fate: Fate, result: Message, results: &mut Vec<Message>) {
        match fate {
            Fate::Answered => results.push(result),
            Fate::Twice => results.extend([result.clone(), result]),
            Fate::Late => self.late.push(result),
            Fate::Never => {}
            Fate::Early => self.messages.push(result),
        }
    }

    fn id(&mut self, nth: usize, same: bool) -> String {
        self.n_calls += 1;
        self.last_id = match self.ids {
            Ids::Mixed if same => "call".to_owned(),
            Ids::PerReply => format!("call_{nth}"),
            Ids::Unique | Ids::Mixed => format!("toolu_{:04}", self.n_calls),
        };
        self.last_id.clone()
    }
}

fn result(id: String, tool: &str, content: Vec<Block>, failed: bool) -> Message {
    Message::ToolResult {
        tool_call_id: id,
        tool_name: tool.to_owned(),
        content,
        is_error: failed,
        is_refusal: false,
    }
}

/// Builds one user message with a result block for each result and the text of all other messages.
fn nest(results: &[Message]) -> Message {
    let blocks = results.iter().flat_map(|message| match message {
        Message::ToolResult { tool_call_id, content, is_error, .. } => {
            let output = json!(content);
            vec![Block::ToolResult { call_id: tool_call_id.clone(), output, is_error: Some(*is_error) }]
        }
        Message::User { content, .. } => content.texts().map(Block::text).collect(),
        _ => vec![],
    });
    Message::user(blocks.collect::<Vec<_>>())
}

fn tame_call(mut call: CallStep) -> CallStep {
    call.fate = Fate::Answered;
    if !call.input.is_object() {
        call.input = json!({});
    }
    tame_blocks(&mut call.result);
    call
}

/// Fills blank texts and empty bodies, which providers refuse.
fn tame_message(mut message: Message) -> Message {
    match &mut message {
        Message::User { content: Content::Text(text), .. }
        | Message::Custom { content: Content::Text(text), .. } => tame_text(text),
        Message::User { content: Content::Blocks(blocks), .. }
        | Message::Custom { content: Content::Blocks(blocks), .. }
        | Message::Assistant { content: blocks, .. }
        | Message::ToolResult { content: blocks, .. } => tame_blocks(blocks),
        Message::BashExecution { command, .. } => tame_text(command),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            tame_text(summary);
        }
    }
    message
}

fn tame_text(text: &mut String) {
    if text.trim().is_empty() {
        "ok".clone_into(text);
    }
}

fn tame_blocks(blocks: &mut Vec<Block>) {
    for block in blocks.iter_mut() {
        if let Block::Text { text } = block {
            tame_text(text);
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::text("ok"));
    }
}
