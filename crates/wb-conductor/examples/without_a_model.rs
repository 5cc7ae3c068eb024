//! Gates and compacts without a model: nothing waits, and no runtime is needed.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use wb_budget::ModelCard;
use wb_conductor::{AgentContext, CondenseOpts};
use wb_message::Message;

fn main() {
    let work = |n| [Message::user(format!("step {n} {}", "x".repeat(900))), Message::assistant("Done.")];
    let mut messages: Vec<Message> = (0..60).flat_map(work).collect();
    let before = messages.clone();
    // host:
    let mut context = AgentContext::new(ModelCard::with_window(12_000));
    if context.is_over(&messages) {
        let report = context.compact_locally(&mut messages, &CondenseOpts::default());
        println!("{report}");
        if let Some(undo) = report.undo {
            context.undo(&mut messages, undo); // and back
        }
    }
    // :host
    assert_eq!(messages, before);
}
