//! The commonest host, a loop over a list of messages: 300 turns of an agent with tools in a window
//! of 32,000 tokens, with its overhead counted, and every compaction undone at the end.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use serde_json::json;
use wb_budget::{ModelCard, TokenCounter, TokenHeuristic, Usage, estimate_tokens};
use wb_conductor::AgentContext;
use wb_message::{Block, Conversation, Message, ToolDescriptor};

/// The parts of each request other than the transcript.
fn conversation() -> Conversation {
    let read = ToolDescriptor {
        name: "read".to_owned(),
        description: "Returns the lines of a file.".to_owned(),
        parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
    };
    let system = Some("You are a coding agent. Read before you write. ".repeat(40));
    Conversation { system, turns: Vec::new(), tools: Some(vec![read]) }
}

/// One turn of the agent: a file is read, with a remark about it.
fn turn(messages: &mut Vec<Message>, n: usize) {
    let (id, path) = (format!("call_{n}"), format!("src/module_{}.rs", n % 12));
    messages.push(Message::assistant_blocks(vec![Block::call(&id, "read", json!({"path": path}))]));
    messages.push(Message::tool_result(&id, "read", format!("// {path}, turn {n}\n").repeat(60)));
    messages.push(Message::assistant(format!("Module {} is fine as of turn {n}.", n % 12)));
}

fn main() {
    let conversation = conversation();
    let overhead = TokenHeuristic::DEFAULT.overhead(&conversation);
    let mut context = AgentContext::new(ModelCard::with_window(32_000)).overhead_of(&conversation);
    let (mut messages, mut undos) = (vec![Message::user("Review every module.")], Vec::new());
    for n in 0..300 {
        if n % 25 == 24 {
            messages.push(Message::user(format!("And what of turn {n}?")));
        }
        for report in context.before_request(&mut messages) {
            println!("turn {n}: {report}");
            undos.extend(report.undo);
        }
        assert!(estimate_tokens(&messages) + overhead <= 32_000, "never over the window");
        turn(&mut messages, n);
        context.after_response(&messages, &Usage::EMPTY);
    }
    let n_compactions = undos.len();
    for undo in undos.into_iter().rev() {
        context.undo(&mut messages, undo);
    }
    assert_eq!(messages.len(), 1 + 300 * 3 + 12, "all of it is back");
    println!("{n_compactions} compactions, all undone: {} messages", messages.len());
}
