//! Repair, truncation and previews over transcripts of growing length; time per element should be
//! constant.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput};
use serde_json::json;
use wb_budget::{TokenCounter, TokenHeuristic, WeighedTranscript};
use wb_message::{Block, Message};
use wb_passes::{Goal, OversizedResult, Pass, Repair, Truncate};
use wb_testkit::workload::{Script, transcript};

/// Numbers of messages, or of dangling calls; the first is the baseline.
const SIZES: [usize; 4] = [1_000, 40_000, 64_000, 100_000];

fn main() {
    let mut criterion = Criterion::default().sample_size(10).configure_from_args();
    for n in SIZES {
        repair(&mut criterion, n);
        let messages = transcript(n, Script::Latin);
        pass(&mut criterion, &Truncate::default(), &messages);
        pass(&mut criterion, &OversizedResult::default(), &messages);
    }
    criterion.final_summary();
}

/// Plans, applies and reverts a pass with half of the weight as target.
fn pass(criterion: &mut Criterion, pass: &dyn Pass, transcript: &[Message]) {
    let counter: Arc<dyn TokenCounter> = Arc::new(TokenHeuristic::DEFAULT);
    let view = WeighedTranscript::new(transcript, &counter);
    let n = view.messages.len();
    let goal = Goal::target(view.total_tokens() / 2);
    let mut messages = transcript.to_vec();
    let mut group = criterion.benchmark_group(pass.name());
    group.throughput(Throughput::Elements(n as u64));
    group.bench_function(BenchmarkId::new("plan", n), |b| b.iter(|| pass.plan(black_box(&view), goal)));
    group.bench_function(BenchmarkId::new("plan, apply and undo", n), |b| {
        b.iter(|| {
            let undo = pass
                .plan(&view, goal)
                .and_then(|patch| patch.apply_paired(&mut messages, &view.pairing).ok());
            if let Some(undo) = undo {
                undo.revert(&mut messages);
            }
        });
    });
    group.finish();
}

/// Repairs and reverts dangling calls: one per message, all in one message, and all with one id.
fn repair(criterion: &mut Criterion, n: usize) {
    let call = |at: usize| Block::call(format!("c{at}"), "read", json!({}));
    let apart: Vec<Message> = (0..n).map(|at| Message::assistant_blocks(vec![call(at)])).collect();
    let together = vec![Message::assistant_blocks((0..n).map(call).collect())];
    let same_id = vec![Message::assistant_blocks(vec![Block::call("c", "read", json!({})); n])];
    let mut group = criterion.benchmark_group("repair");
    group.throughput(Throughput::Elements(n as u64));
    for (what, mut messages) in [("apart", apart), ("together", together), ("of one id", same_id)] {
        let repair = Repair { in_flight: true, ..Repair::default() };
        group.bench_function(BenchmarkId::new(what, n), |b| {
            b.iter(|| {
                if let Some(undo) = repair.repair(&mut messages).undo {
                    undo.revert(&mut messages);
                }
            });
        });
    }
    group.finish();
}
