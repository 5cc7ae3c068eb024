//! A model that answers thousands of requests, each in a different way.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde_json::json;
use wb_budget::{TokenCounter, Usage};
use wb_conductor::project;
use wb_invoke::{Emission, InvokeError, ModelInvoker, Reply, StopReason, StreamOptions};
use wb_message::{Block, Conversation, Turn};
use wb_tokens::Vocabulary;

/// The number of files to read.
pub(crate) const FILES: u64 = 40;
/// The message of a failed request.
pub(crate) const FAILURE: &str = "overloaded, as now and then";

/// Counts a request exactly.
pub(crate) fn tokens(conversation: &Conversation) -> u64 {
    let counter = Vocabulary::O200kBase.counter().unwrap();
    let messages = project(conversation.turns.clone()).messages;
    let tokens = messages.iter().map(|message| counter.message(message));
    tokens.fold(counter.overhead(conversation), u64::saturating_add)
}

/// Mixes a number (splitmix64).
pub(crate) fn random(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// Returns the prompt of a turn.
pub(crate) fn prompt(turn: u64) -> String {
    match turn % 7 {
        0 => format!(
            "Now m{}. {}",
            turn % FILES,
            "And look at what calls it, please. ".repeat((random(turn) % 60) as usize)
        ),
        3 => format!("From now on, never change part_{turn} without asking me."),
        _ => format!("Go on with turn {turn}."),
    }
}

/// Answers by the number of the request.
#[derive(Debug)]
pub(crate) struct Soaked {
    n: AtomicU64,
    has_usage: bool,
}

impl Soaked {
    pub(crate) fn new(has_usage: bool) -> Self {
        Self { n: AtomicU64::new(0), has_usage }
    }
}

impl ModelInvoker for Soaked {
    fn invoke(&self, conversation: Conversation, _: StreamOptions) -> BoxStream<'static, Emission> {
        let n = self.n.fetch_add(1, Ordering::Relaxed);
        let mut emissions = if conversation.tools.is_none() { digest(n) } else { answer(n, &conversation) };
        let has_usage = self.has_usage && conversation.tools.is_some();
        if let Some(Emission::Done { reply }) = emissions.last_mut().filter(|_| has_usage) {
            // It reports its usage, as providers do.
            reply.usage = Usage { input_tokens: tokens(&conversation), output_tokens: 1, ..Usage::EMPTY };
        }
        // The delay lets the agent be killed between any two of them.
        let timed = stream::iter(emissions).then(|emission| async {
            tokio::task::yield_now().await;
            emission
        });
        timed.boxed()
    }
}

/// A digest that is good, bad, or missing.
fn digest(n: u64) -> Vec<Emission> {
    match random(n) % 5 {
        0 => vec![Emission::Error { error: InvokeError::new("no digest today") }],
        1 => emissions(vec![Block::text("All done, nothing to report.")]),
        2 => emissions(vec![Block::text(
            "# Objective\n- Port src/none.rs.\n\n# Status\n- Shipped: all tests pass.\n".repeat(40),
        )]),
        _ => emissions(vec![Block::text(format!(
            "# Objective\n- Bring the modules to the new reader.\n\n# Status (Shipped / Active / Stuck)\n- Active: request {n}.\n"
        ))]),
    }
}

fn answer(n: u64, conversation: &Conversation) -> Vec<Emission> {
    // The number of answered calls of this turn.
    let n_results =
        conversation.turns.iter().rev().take_while(|turn| !matches!(turn, Turn::User { .. })).count();
    if random(n).is_multiple_of(97) {
        return vec![Emission::Error { error: InvokeError::new(FAILURE) }];
    }
    let text = Block::text(format!(
        "Request {n}: I look at the next part. {}",
        "So it is. ".repeat((n % 30) as usize)
    ));
    if n_results as u64 > random(n >> 2) % 8 {
        return emissions(vec![text]);
    }
    let n_calls = 1 + random(n ^ 5) % 3;
    emissions(std::iter::once(text).chain((0..n_calls).map(|nth| call(random(n * 4 + nth)))).collect())
}

fn call(n: u64) -> Block {
    let path = format!("src/m{}.rs", n % FILES);
    let (name, input) = match n >> 8 & 15 {
        0 => ("ls", json!({ "path": "src" })),
        1 => ("grep", json!({ "text": format!("_{}()", n % 1000) })),
        2 => ("edit", json!({ "path": format!("notes/{n}.md"), "old": "", "new": "learnt\n" })),
        3 => ("edit", json!({ "path": path, "old": "no such text", "new": "" })),
        4 => ("bash", json!({ "command": format!("seq {}; exit {}", n % 40_000, n % 2) })),
        5 => ("read", json!({ "path": "../secret" })),
        6 => ("read", json!("no object")),
        _ => ("read", json!({ "path": path })),
    };
    Block::call("", name, input)
}

fn emissions(blocks: Vec<Block>) -> Vec<Emission> {
    let has_calls = blocks.iter().any(|block| matches!(block, Block::ToolCall { .. }));
    let stop = if has_calls { StopReason::ToolCalls } else { StopReason::Complete };
    let text = blocks.iter().filter_map(Block::as_text).map(|text| Emission::Text { delta: text.to_owned() });
    let mut emissions: Vec<Emission> = text.collect();
    let reply = Reply { model: "soaked".to_owned(), blocks, usage: Usage::EMPTY, stop };
    emissions.push(Emission::Done { reply });
    emissions
}
