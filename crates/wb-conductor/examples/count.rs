//! Counts a transcript, its overhead, and a text with a custom tokenizer.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

use wb_budget::{TokenCounter, TokenHeuristic, estimate_tokens};
use wb_message::{Conversation, Message};

fn main() {
    // host:
    let messages = [Message::user("Why is the build red?"), Message::assistant("A test fails.")];
    let sent = Conversation { system: Some("You are a coding agent.".into()), ..Conversation::default() };
    let overhead = TokenHeuristic::DEFAULT.overhead(&sent);
    let words = |text: &str| text.split_whitespace().count() as u64; // your tokenizer
    let counted: u64 = messages.iter().map(|message| words.message(message)).sum();
    println!("{} tokens and {overhead}; by words {counted}", estimate_tokens(&messages));
    // :host
    assert_eq!((estimate_tokens(&messages), overhead, counted), (22, 7, 20));
}
