//! Compacts with a closure as the model; if it fails, the digest is built from the transcript
//! itself.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use std::time::Duration;

use futures::executor::block_on;
use wb_budget::ModelCard;
use wb_conductor::{AgentContext, Compactor, CondenseOpts, DigestSource, Summarizer, from_fn};
use wb_message::{Conversation, Message};

/// Replaces a call of your provider.
async fn complete(conversation: Conversation) -> Result<String, std::io::Error> {
    assert_eq!(conversation.turns.len(), 1);
    Ok("# Objective\n- do sixty steps\n# Status\n- Shipped: most of them".to_owned())
}

fn main() {
    let work = |n| [Message::user(format!("step {n} {}", "x".repeat(900))), Message::assistant("Done.")];
    let mut messages: Vec<Message> = (0..60).flat_map(work).collect();
    // host:
    let model = Summarizer::new(from_fn(complete)).timeout(Duration::from_mins(1));
    let compactor = Compactor::new().card(ModelCard::with_window(12_000)).summarizer(model);
    let mut context = AgentContext::from_compactor(compactor);
    let report = block_on(context.compact(&mut messages, &CondenseOpts::default()));
    println!("{report}");
    // :host
    assert_eq!(report.digest, Some(DigestSource::Model { cut_off: false }));
}
