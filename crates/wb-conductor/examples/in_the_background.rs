//! Compacts while turns go on: a task asks for the digest, which is inserted when it arrives.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use wb_budget::{ModelCard, Usage};
use wb_conductor::{AgentContext, Compactor, from_fn};
use wb_message::{Conversation, Message};

/// Replaces a call of your provider.
async fn complete(_: Conversation) -> Result<String, std::io::Error> {
    Ok("# Objective\n- do the steps".to_owned())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let (mut messages, mut n_compactions) = (Vec::new(), 0);
    let compactor = Compactor::new().card(ModelCard::with_window(32_000)).summarizer(from_fn(complete));
    let mut context = AgentContext::from_compactor(compactor).start_above(Some(12_000));
    for n in 0..120 {
        messages.push(Message::user(format!("step {n} {}", "x".repeat(900))));
        for report in context.before_request(&mut messages) {
            println!("{report}");
            n_compactions += 1;
        }
        tokio::task::yield_now().await; // the request to your model
        messages.push(Message::assistant("Done."));
        context.after_response(&messages, &Usage::EMPTY);
    }
    assert!(n_compactions > 1 && messages.len() < 240, "{n_compactions} in {} messages", messages.len());
}
