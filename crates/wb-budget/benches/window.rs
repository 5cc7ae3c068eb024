//! What it costs to bring a buffer of half its messages too many back into its budget, per message.
//!
//! The cost of a message at 64 000 and 100 000 messages is to be within three times that at 1 000.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use serde_json::json;
use wb_budget::ContextWindow;
use wb_message::{Block, Message};

const SIZES: [usize; 4] = [1_000, 10_000, 64_000, 100_000];
const TOKENS: u32 = 10;

fn main() {
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    let shapes: [(&str, fn(usize) -> Message); 2] =
        [("every call answered", answered), ("two of five messages are dangling calls", dangling)];
    for (what, message) in shapes {
        let mut group = criterion.benchmark_group(format!("force_fit, half goes, {what}"));
        for n in SIZES {
            let full = window(n, message);
            group.throughput(Throughput::Elements(n as u64));
            group.bench_function(BenchmarkId::from_parameter(n), |bencher| {
                // Copies are made and dropped outside of what is measured.
                bencher.iter_batched_ref(|| full.clone(), ContextWindow::force_fit, BatchSize::PerIteration);
            });
        }
        group.finish();
    }
    criterion.final_summary();
}

fn window(n: usize, message: fn(usize) -> Message) -> ContextWindow {
    let budget = u32::try_from(n).map_or(u32::MAX, |n| n / 2 * TOKENS);
    let mut window = ContextWindow::new(budget, 0);
    for at in 0..n {
        window.push(message(at), TOKENS);
    }
    window
}

/// A request, a call, its result and a reply, over and over.
fn answered(at: usize) -> Message {
    match at % 4 {
        0 => Message::user("look at the next one"),
        1 => call(at),
        2 => Message::tool_result(format!("call_{}", at - 1), "read", "a line of a file"),
        _ => Message::assistant("that is all of it"),
    }
}

/// Three calls of which one is answered, and a reply.
fn dangling(at: usize) -> Message {
    match at % 5 {
        0..=2 => call(at),
        3 => Message::tool_result(format!("call_{}", at - 2), "read", "a line of a file"),
        _ => Message::assistant("that is all of it"),
    }
}

fn call(at: usize) -> Message {
    Message::assistant_blocks(vec![Block::call(
        format!("call_{at}"),
        "read",
        json!({ "path": "src/lib.rs" }),
    )])
}
