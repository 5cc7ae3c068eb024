//! What it costs to bring a buffer with twice its budget back into it, per message.
//!
//! The cost of a message at 64 000 and 100 000 messages is to be within three times that at 1 000.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use serde_json::json;
use wb_budget::ContextWindow;
use wb_message::{Block, Message};

const SIZES: [usize; 4] = [1_000, 10_000, 64_000, 100_000];
const TOKENS: u32 = 10;

/// Makes the message at a place.
type Nth = fn(usize) -> Message;

const SHAPES: [(&str, Nth); 2] =
    [("every call answered", answered), ("two of five messages are dangling calls", dangling)];

fn main() {
    let mut criterion = Criterion::default().sample_size(20).configure_from_args();
    for (what, message) in SHAPES {
        let mut group = criterion.benchmark_group(format!("force_fit, half goes, {what}"));
        for n in SIZES {
            let mut window = window(n, message);
            group.throughput(Throughput::Elements(n as u64));
            group.bench_function(BenchmarkId::from_parameter(n), |bencher| {
                bencher.iter_custom(|n_times| (0..n_times).map(|_| timed(&mut window)).sum());
            });
        }
        group.finish();
    }
    criterion.final_summary();
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn now() -> Instant {
    Instant::now()
}

/// Measures one call and puts back what it removed: messages are moved, none is copied or freed.
fn timed(window: &mut ContextWindow) -> Duration {
    let n = window.len();
    let start = now();
    let removed = black_box(window.force_fit());
    let spent = start.elapsed();
    assert!(removed.len() >= n / 2 && removed.len() < n / 2 + 5, "about half goes");
    let kept = window.compact();
    for message in removed.into_iter().chain(kept) {
        window.push(message, TOKENS);
    }
    assert_eq!(window.len(), n, "nothing is in flight");
    spent
}

fn window(n: usize, message: Nth) -> ContextWindow {
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

/// Three calls of which the last is answered, and a reply.
fn dangling(at: usize) -> Message {
    match at % 5 {
        0..=2 => call(at),
        3 => Message::tool_result(format!("call_{}", at - 1), "read", "a line of a file"),
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
